// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/node/node_object.h"
#include "api/pod/pod_summary.h"
#include "cli/describe/describe_render.h"
#include "cli/describe/describe_text.h"
#include "cli/draw/cpu_grid.h"
#include "cli/draw/topology_render.h"
#include "cli/get/node_render.h"
#include "cli/output.h"
#include "cli/plan/plan_text.h"
#include "cli/plan/set_rows.h"
#include "cli/text_table.h"
#include "config/duration.h"
#include "config/reserved_memory.h"
#include "pod/quantity.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

std::string joined_or(const std::vector<std::string>& words, std::string_view none) {
  if (words.empty()) return std::string(none);
  return on_one_line(fmt::format("{}", fmt::join(words, ", ")));
}

std::string topology_text(const CpuSettings& settings) {
  std::string text =
      on_one_line(fmt::format("{}, scope {}", settings.topology_policy, settings.topology_scope));
  for (const std::string& option : settings.topology_options) text += ", " + on_one_line(option);
  return text;
}

std::vector<std::string> gate_words(const std::map<std::string, bool>& gates) {
  std::vector<std::string> words;
  words.reserve(gates.size());
  for (const auto& [name, on] : gates) words.push_back(fmt::format("{}={}", name, on));
  return words;
}

std::string delay_text(milliseconds delay) {
  if (delay.count() == 0) return "none: CPUs that are taken go at once";
  return fmt::format("{}: so long a container is told before it loses CPUs", show_duration(delay));
}

std::string confinement_text(const NodeSummary& node) {
  std::string text = node.confinement.empty() ? "-" : on_one_line(node.confinement);
  if (!node.note.empty()) text += ": " + on_one_line(node.note);
  return text;
}

std::string memory_text(const std::string& amount) {
  const auto bytes = Quantity::parse(amount);
  if (!bytes) return amount.empty() ? "-" : on_one_line(amount);
  return show_bytes(bytes->value());
}

std::string head(const NodePage& page, const NodeSummary& node) {
  const CpuMap& map = page.map;
  const CpuSettings& settings = map.settings;
  const json::object* metadata = look_object(page.node, {"metadata"});
  std::vector<Row> rows{{"node", on_one_line(node.name)}, {"status", on_one_line(node.status)}};
  if (metadata != nullptr) {
    for (const auto& [name, member] :
         {std::pair("labels", "labels"), std::pair("annotations", "annotations")}) {
      std::string label = name;
      for (const std::string& line : pairs_of(look_object(*metadata, {member}))) {
        rows.push_back({std::exchange(label, ""), line});
      }
    }
  }
  rows.push_back(
      {"created", moment(look_text(page.node, {"metadata", "creationTimestamp"}), page.now)});
  rows.push_back({"version", on_one_line(node.version)});
  rows.push_back({"kernel", on_one_line(fmt::format("{}, {}", node.kernel, node.architecture))});
  rows.push_back({"machine", summarize(map.topology)});
  rows.push_back({"memory", memory_text(node.memory)});
  rows.push_back({"policy", on_one_line(map.policy)});
  rows.push_back({"options", joined_or(map.options, "none")});
  rows.push_back({"topology", topology_text(settings)});
  rows.push_back({"gates", joined_or(gate_words(settings.gates), "all as by default")});
  if (!settings.idle_gates.empty()) {
    rows.push_back({"", joined_or(gate_words(settings.idle_gates), "") + ": without effect"});
  }
  rows.push_back({"delay", delay_text(settings.scale_delay)});
  rows.push_back({"reconcile", "every " + show_duration(settings.reconcile_period)});
  rows.push_back({"confinement", confinement_text(node)});
  if (!settings.isolation.empty()) {
    std::string isolation = on_one_line(settings.isolation);
    if (!node.intruders.empty()) isolation += ": " + on_one_line(node.intruders);
    rows.push_back({"isolation", isolation});
  }
  return align(rows, 2);
}

std::string pools(const CpuMap& map) {
  std::vector<SetLine> lines = pool_lines(map);
  if (!map.topology.isolated().empty()) lines.push_back({"isolated", map.topology.isolated()});
  std::string text = "\npools\n" + indented(align(set_rows(lines), 2));
  if (map.has_option("strict-cpu-reservation")) {
    text += fmt::format("  at least {} always shared\n",
                        counted(static_cast<std::size_t>(map.settings.min_shared), "CPU"));
  }
  return text;
}

std::string holders(const NodePage& page, const CpuGrid& grid) {
  if (page.map.containers.empty()) return "";
  std::vector<const CpuHolder*> sorted;
  sorted.reserve(page.map.containers.size());
  for (const CpuHolder& holder : page.map.containers) sorted.push_back(&holder);
  std::sort(sorted.begin(), sorted.end(), [](const CpuHolder* a, const CpuHolder* b) {
    return std::tie(a->namespace_name, a->pod, a->container, a->uid) <
           std::tie(b->namespace_name, b->pod, b->container, b->uid);
  });
  std::vector<Row> rows{
      {"KEY", "POD", "CONTAINER", "ASSIGNED", "PROMISED", "PENDING", "NUMA", "ALIGNED"}};
  for (const CpuHolder* holder : sorted) {
    rows.push_back({std::string(1, grid.key_of(*holder)),
                    on_one_line(fmt::format("{}/{}", holder->namespace_name, holder->pod)),
                    on_one_line(holder->container), shown(holder->assigned),
                    shown(holder->promised), pending_text(*holder, page.now), shown(holder->numa),
                    alignment_text(page.map, holder->assigned)});
  }
  return "\nexclusive\n" + indented(align(rows, rows.front().size()));
}

// What the node declares, and why not the rest.
std::string features_text(const CpuSettings& settings) {
  std::vector<Row> rows;
  for (const std::string& name : settings.declared_features) {
    rows.push_back({on_one_line(name), "declared"});
  }
  for (const auto& [name, why] : settings.undeclared_features) {
    rows.push_back({on_one_line(name), "not declared: " + on_one_line(why)});
  }
  if (!rows.empty()) return "\nfeatures\n" + indented(align(rows, 2));
  return settings.gates.contains("NodeDeclaredFeatures")
             ? "\nfeatures  none is declared and none is asked for: gate NodeDeclaredFeatures is "
               "off\n"
             : "";
}

Result<std::string> pods_text(const NodePage& page) {
  if (page.pods.empty()) return std::string("\npods  none\n");
  std::vector<PodSummary> pods;
  pods.reserve(page.pods.size());
  for (const json::value& pod : page.pods) pods.push_back(TRY(pod_summary(pod)));
  return "\npods\n" +
         indented(render_pods_table(std::move(pods), page.map, page.now, Detail::kWide));
}

}  // namespace

Result<std::string> render_node_page(const NodePage& page) {
  const NodeSummary node = TRY(node_summary(page.node));
  const CpuGrid grid(page.map);
  std::string text = head(page, node) + pools(page.map);
  text += "\nmap\n" + indented(grid.render()) + holders(page, grid);
  text += TRY(pods_text(page));
  text += features_text(page.map.settings);
  text += conditions_text(page.node, page.now);
  return text + events_text(page.events, page.now);
}

}  // namespace corehold
