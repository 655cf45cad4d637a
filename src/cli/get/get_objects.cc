// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "base/code.h"
#include "cli/client/watcher.h"
#include "cli/get/get_show.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/yaml_text.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Every object read by `read`.
template <typename Read>
auto read_all(const json::array& objects, Read read)
    -> Result<std::vector<typename decltype(read(objects.front()))::Value>> {
  std::vector<typename decltype(read(objects.front()))::Value> items;
  items.reserve(objects.size());
  for (const json::value& object : objects) items.push_back(TRY(read(object)));
  return items;
}

// "there are no pods in namespace db; -A shows those of all".
std::string nothing(Resource resource, const ObjectQuery& query) {
  const ResourceInfo& info = info_of(resource);
  std::string text = fmt::format("there are no {}", info.name);
  if (!query.labels.empty() || !query.fields.empty()) text += " with that selector";
  const bool usual = query.namespace_name.empty();
  if (!info.namespaced || query.all_namespaces || (usual && resource != Resource::kPods)) {
    return text;
  }
  return fmt::format("{} in namespace {}; -A shows those of all", text,
                     usual ? "default" : query.namespace_name);
}

// Why pods wait or have failed, below their table.
std::string reasons(const std::vector<PodSummary>& pods) {
  std::string text;
  for (const PodSummary& pod : pods) {
    const bool waits = pod.phase == "Pending" || pod.phase == "Failed";
    if (!waits || pod.message.empty() || pod.deleting) continue;
    text += fmt::format("\n{}/{}: {}\n", on_one_line(pod.namespace_name), on_one_line(pod.name),
                        on_one_line(pod.message));
  }
  return text;
}

Result<std::string> table_of(const AgentClient& client, Resource resource,
                             const json::array& objects, Detail detail) {
  if (resource == Resource::kNodes) {
    return render_nodes_table(TRY(read_all(objects, node_summary)), wall_now(), detail);
  }
  if (resource == Resource::kEvents) {
    return render_events_table(TRY(read_all(objects, event_from_json)), wall_now(), detail);
  }
  const std::vector<PodSummary> pods = TRY(read_all(objects, pod_summary));
  return render_pods_table(pods, TRY(fetch_map(client)), wall_now(), detail) + reasons(pods);
}

Result<std::string> text_of(const AgentClient& client, Resource resource, const FoundObjects& found,
                            const GetRequest& request) {
  const GetFormat format = format_of(request);
  if (format == GetFormat::kJson) return json_text(found.answer);
  if (format == GetFormat::kYaml) return yaml_text(found.answer);
  if (found.objects.empty()) {
    if (found.missing.empty()) complain(nothing(resource, request.query));
    return std::string();
  }
  return table_of(client, resource, found.objects, detail_of(format));
}

Row head_of(Resource resource, Detail detail) {
  if (resource == Resource::kNodes) return nodes_head(detail);
  if (resource == Resource::kEvents) return events_head(detail);
  return pods_head(detail);
}

// `map` is only looked at for pods.
Result<Row> row_of(Resource resource, const WatchEvent& event, const std::optional<CpuMap>& map,
                   Detail detail) {
  const bool gone = event.type == WatchEvent::Type::kDeleted;
  if (resource == Resource::kEvents) {
    return event_row(TRY(event_from_json(event.object)), wall_now(), detail);
  }
  if (resource == Resource::kNodes) {
    NodeSummary node = TRY(node_summary(event.object));
    if (gone) node.status = "Deleted";
    return node_row(node, wall_now(), detail);
  }
  PodSummary pod = TRY(pod_summary(event.object));
  if (gone) pod.status = "Deleted";
  return pod_row(pod, *map, wall_now(), detail);
}

// Events as they come, in the form that was asked for.
class Telling {
 public:
  Telling(const AgentClient& client, Resource resource, GetFormat format)
      : client_(client), resource_(resource), format_(format) {}

  Result<std::string> text(const std::vector<WatchEvent>& events) {
    if (events.empty()) return std::string();
    if (format_ == GetFormat::kTable || format_ == GetFormat::kWide) return rows_of(events);
    std::string text;
    for (const WatchEvent& event : events) {
      const json::object whole{{"type", name_of(event.type)}, {"object", event.object}};
      text +=
          format_ == GetFormat::kJson ? json::serialize(whole) + "\n" : "---\n" + yaml_text(whole);
    }
    return text;
  }

 private:
  Result<std::string> rows_of(const std::vector<WatchEvent>& events) {
    const Detail detail = detail_of(format_);
    std::vector<Row> rows;
    if (!std::exchange(headed_, true)) rows.push_back(head_of(resource_, detail));
    std::optional<CpuMap> map;
    if (resource_ == Resource::kPods) map.emplace(TRY(fetch_map(client_)));
    for (const WatchEvent& event : events) {
      rows.push_back(TRY(row_of(resource_, event, map, detail)));
    }
    return table_.add(rows);
  }

  const AgentClient& client_;
  Resource resource_;
  GetFormat format_;
  GrowingTable table_{};
  bool headed_ = false;
};

// The latest event last, as the table has it.
void sort_events(std::vector<json::object>& objects) {
  std::stable_sort(objects.begin(), objects.end(),
                   [](const json::object& a, const json::object& b) {
                     return look_text(a, {"lastTimestamp"}) < look_text(b, {"lastTimestamp"});
                   });
}

}  // namespace

GetFormat format_of(const GetRequest& request) {
  if (request.format == "wide") return GetFormat::kWide;
  if (request.format == "json") return GetFormat::kJson;
  if (request.format == "yaml") return GetFormat::kYaml;
  return request.format == "svg" ? GetFormat::kSvg : GetFormat::kTable;
}

Detail detail_of(GetFormat format) {
  return format == GetFormat::kWide ? Detail::kWide : Detail::kUsual;
}

int show_objects(const AgentClient& client, Resource resource, const GetRequest& request) {
  const auto found = find_objects(client, resource, request.query);
  if (!found) return fail(found.error());
  const auto text = text_of(client, resource, *found, request);
  if (!text) return fail(text.error());
  const int code = answer(*text);
  for (const Error& error : found->missing) fail(error);
  return found->missing.empty() ? code : kExitFailed;
}

int watch_objects(const AgentClient& client, Resource resource, const GetRequest& request) {
  ObjectQuery query = request.query;
  if (resource == Resource::kPods && query.names.size() == 1) {
    const auto pod = pod_name(query.names.front(), query.namespace_name);
    if (!pod) return fail(pod.error());
    query.namespace_name = pod->namespace_name;
  }
  Watcher watcher(client, {.path = list_path(resource, query), .words = list_words(query)});
  auto first = watcher.list();
  if (!first) return fail(first.error());
  if (resource == Resource::kEvents) sort_events(*first);
  Telling telling(client, resource, format_of(request));
  const auto tell = [&](const std::vector<WatchEvent>& events) {
    const auto text = telling.text(events);
    return text ? answer(*text) : fail(text.error());
  };
  std::vector<WatchEvent> there;
  there.reserve(first->size());
  for (json::object& object : *first) {
    there.push_back({.type = WatchEvent::Type::kAdded, .object = std::move(object)});
  }
  if (const int code = tell(there); code != kExitDone) return code;
  for (;;) {
    const auto event = watcher.next();
    if (!event) return fail(event.error());
    if (!*event) continue;
    const int code = tell({**event});
    if (code != kExitDone) return code;
  }
}

}  // namespace corehold
