// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "base/code.h"
#include "cli/client/watcher.h"
#include "cli/draw/topology_svg.h"
#include "cli/get/get_show.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/yaml_text.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr const char* kCpusTarget = "/apis/corehold.dev/v1alpha1/cpus";
// What changes without a pod's doing, such as CPUs that go offline, shows after so long.
constexpr std::chrono::seconds kPause{5};
// Cursor home, and everything after it erased.
constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";

struct CpusAnswer {
  json::value body{};  // with the containers that were asked for
  CpuMap map;
  std::vector<CpuHolder> rows{};
};

bool selects(const ObjectQuery& query) {
  return !query.names.empty() || !query.namespace_name.empty() || !query.labels.empty() ||
         !query.fields.empty();
}

// The UIDs of the pods that the selectors choose.
Result<std::set<std::string>> chosen_uids(const AgentClient& client, const ObjectQuery& query) {
  std::set<std::string> uids;
  const auto pods =
      TRY(items_of(TRY(client.get(with_query("/api/v1/pods", list_words(query)))), "PodList"));
  for (const json::value& pod : pods) {
    uids.emplace(look_text(as_object_or_empty(pod), {"metadata", "uid"}));
  }
  return uids;
}

bool is_named(const std::vector<PodName>& pods, const CpuHolder& holder) {
  return std::any_of(pods.begin(), pods.end(), [&](const PodName& pod) {
    return pod.name == holder.pod && pod.namespace_name == holder.namespace_name;
  });
}

Result<std::vector<CpuHolder>> choose(const AgentClient& client, const CpuMap& map,
                                      const ObjectQuery& query) {
  std::vector<CpuHolder> rows = map.containers;
  if (!query.names.empty()) {
    std::vector<PodName> pods;
    pods.reserve(query.names.size());
    for (const std::string& name : query.names) {
      pods.push_back(TRY(pod_name(name, query.namespace_name)));
    }
    std::erase_if(rows, [&](const CpuHolder& holder) { return !is_named(pods, holder); });
    return rows;
  }
  if (!query.namespace_name.empty()) {
    std::erase_if(rows, [&](const CpuHolder& holder) {
      return holder.namespace_name != query.namespace_name;
    });
  }
  if (!query.labels.empty() || !query.fields.empty()) {
    const std::set<std::string> uids = TRY(chosen_uids(client, query));
    std::erase_if(rows, [&](const CpuHolder& holder) { return !uids.contains(holder.uid); });
  }
  return rows;
}

// The answer with only these containers.
json::value narrowed(const json::value& body, const std::vector<CpuHolder>& rows) {
  json::value copy = body;
  json::object* object = copy.if_object();
  json::value* list = object == nullptr ? nullptr : object->if_contains("containers");
  if (list == nullptr || !list->is_array()) return copy;
  json::array kept;
  for (const json::value& item : list->get_array()) {
    const json::object& holder = as_object_or_empty(item);
    const bool is_in = std::any_of(rows.begin(), rows.end(), [&](const CpuHolder& row) {
      return row.uid == look_text(holder, {"uid"}) &&
             row.container == look_text(holder, {"container"});
    });
    if (is_in) kept.push_back(item);
  }
  *list = std::move(kept);
  return copy;
}

Result<CpusAnswer> fetch(const AgentClient& client, const ObjectQuery& query) {
  json::value body = TRY(client.get(kCpusTarget));
  auto map = cpu_map_from_json(body);
  if (!map) return wrap("the agent's map of CPUs", map.error());
  std::vector<CpuHolder> rows = TRY(choose(client, *map, query));
  if (selects(query)) body = narrowed(body, rows);
  return CpusAnswer{.body = std::move(body), .map = *std::move(map), .rows = std::move(rows)};
}

std::string text_of(const CpusAnswer& cpus, GetFormat format) {
  switch (format) {
    case GetFormat::kJson:
      return json_text(cpus.body);
    case GetFormat::kYaml:
      return yaml_text(cpus.body);
    case GetFormat::kSvg: {
      CpuMap map = cpus.map;
      map.containers = cpus.rows;
      return render_topology_svg(map.topology, cpus_paint(map));
    }
    case GetFormat::kTable:
    case GetFormat::kWide:
      return render_cpus_table(cpus.map, cpus.rows, wall_now(), detail_of(format));
  }
  return "";
}

// The same, once more: lines and documents instead of texts with a blank line between.
std::string update_of(const CpusAnswer& cpus, GetFormat format, bool first) {
  if (format == GetFormat::kJson) return json::serialize(cpus.body) + "\n";
  if (format == GetFormat::kYaml) return "---\n" + yaml_text(cpus.body);
  if (::isatty(STDOUT_FILENO) == 1) return std::string(kClearScreen) + text_of(cpus, format);
  return (first ? "" : "\n") + text_of(cpus, format);
}

}  // namespace

Result<CpuMap> fetch_map(const AgentClient& client) {
  auto map = cpu_map_from_json(TRY(client.get(kCpusTarget)));
  if (!map) return wrap("the agent's map of CPUs", map.error());
  return map;
}

int show_cpus(const AgentClient& client, const GetRequest& request) {
  const auto cpus = fetch(client, request.query);
  if (!cpus) return fail(cpus.error());
  if (cpus->rows.empty() && !request.query.names.empty()) {
    return fail({Code::kNotFound, fmt::format("{} no CPUs of {} own",
                                              request.query.names.size() == 1
                                                  ? request.query.names.front() + " holds"
                                                  : "these pods hold",
                                              request.query.names.size() == 1 ? "its" : "their")});
  }
  return answer(text_of(*cpus, format_of(request)));
}

int watch_cpus(const AgentClient& client, const GetRequest& request) {
  Watcher watcher(client, {.path = "/api/v1/pods", .pause = kPause});
  if (const auto pods = watcher.list(); !pods) return fail(pods.error());
  json::value last;
  for (bool first = true;;) {
    const auto cpus = fetch(client, request.query);
    if (!cpus) return fail(cpus.error());
    if (first || cpus->body != last) {
      const int code = answer(update_of(*cpus, format_of(request), first));
      if (code != kExitDone) return code;
      first = false;
      last = cpus->body;
    }
    if (const auto event = watcher.next(); !event) return fail(event.error());
  }
}

}  // namespace corehold
