// SPDX-License-Identifier: Apache-2.0
//
// corehold get cpus | pods | nodes | events
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/agent_client.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/node_render.h"
#include "cli/output.h"
#include "cli/topology_svg.h"
#include "pod/json_field.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr const char* kCpusTarget = "/apis/corehold.dev/v1alpha1/cpus";

struct Arguments {
  AgentAddress agent{};
  std::string format = "table";
  std::string namespace_name{};
  bool all_namespaces = false;
  std::string name{};
};

constexpr const char* kFooter =
    "Examples:\n"
    "  corehold get cpus                       who holds which CPUs\n"
    "  corehold get cpus -o svg > cpus.svg     the same as a picture\n"
    "  corehold get pods -A                    every pod of the node\n"
    "  corehold get pods web -o json           one, as the API gives it\n"
    "  corehold get nodes                      what the node has and how it keeps CPUs apart\n"
    "  corehold get events                     what has happened";

constexpr const char* kCpusFooter =
    "reserved   for the system: never given away\n"
    "shared     where every container without CPUs of its own runs\n"
    "exclusive  held by one container each: ASSIGNED is what it has, PROMISED what it started\n"
    "           with and never loses, PENDING what will be left after a resize under way\n"
    "\n"
    "Examples:\n"
    "  corehold get cpus\n"
    "  corehold get cpus -o json\n"
    "  corehold get cpus -o svg > cpus.svg";

constexpr const char* kPodsFooter =
    "CPUS are the pod's own; \"shared\": it runs where everybody does.\n"
    "\n"
    "Examples:\n"
    "  corehold get pods                       those of namespace default\n"
    "  corehold get pods -A\n"
    "  corehold get pods -n db pg-0 -o json";

Result<CpuMap> read_map(const AgentClient& client) {
  auto map = cpu_map_from_json(TRY(client.get(kCpusTarget)));
  if (!map) return wrap("the agent's map of CPUs", map.error());
  return map;
}

// The items of a list, each read by `read`.
template <typename Read>
auto read_items(const json::value& list, Read read)
    -> Result<std::vector<typename decltype(read(list))::Value>> {
  std::vector<typename decltype(read(list))::Value> items;
  const json::object* object = list.if_object();
  const json::array* array =
      object == nullptr ? nullptr : TRY(array_field(*object, Path(), "items"));
  if (array == nullptr) return Error{Code::kCorrupt, "the agent's answer is no list"};
  items.reserve(array->size());
  for (const json::value& item : *array) items.push_back(TRY(read(item)));
  return items;
}

Result<std::string> show_cpus(const AgentClient& client, const Arguments& arguments) {
  if (arguments.format == "json") return json_text(TRY(client.get(kCpusTarget)));
  const CpuMap map = TRY(read_map(client));
  if (arguments.format == "svg") return render_topology_svg(map.topology, cpus_paint(map));
  return render_cpus_table(map, wall_now());
}

// One pod, or those of a namespace, or all.
Result<json::value> fetch_pods(const AgentClient& client, const Arguments& arguments) {
  if (!arguments.name.empty()) {
    const PodName pod = TRY(pod_name(arguments.name, arguments.namespace_name));
    return client.get(pods_target(pod.namespace_name, pod.name));
  }
  if (arguments.all_namespaces) return client.get("/api/v1/pods");
  return client.get(
      pods_target(arguments.namespace_name.empty() ? "default" : arguments.namespace_name));
}

Result<std::string> show_pods(const AgentClient& client, const Arguments& arguments) {
  const json::value answer = TRY(fetch_pods(client, arguments));
  if (arguments.format == "json") return json_text(answer);
  std::vector<PodSummary> pods;
  if (arguments.name.empty()) {
    pods = TRY(pod_summaries(answer));
  } else {
    pods.push_back(TRY(pod_summary(answer)));
  }
  if (pods.empty()) {
    complain(
        arguments.all_namespaces
            ? "there are no pods"
            : fmt::format("there are no pods in namespace {}; -A shows those of all",
                          arguments.namespace_name.empty() ? "default" : arguments.namespace_name));
    return std::string();
  }
  const CpuMap map = TRY(read_map(client));
  std::string text = render_pods_table(pods, map, wall_now());
  for (const PodSummary& pod : pods) {
    const bool waits = pod.phase == "Pending" || pod.phase == "Failed";
    if (!waits || pod.message.empty() || pod.deleting) continue;
    text += fmt::format("\n{}/{}: {}\n", on_one_line(pod.namespace_name), on_one_line(pod.name),
                        on_one_line(pod.message));
  }
  return text;
}

Result<std::string> show_nodes(const AgentClient& client, const Arguments& arguments) {
  if (arguments.name.empty()) {
    const json::value answer = TRY(client.get("/api/v1/nodes"));
    if (arguments.format == "json") return json_text(answer);
    return render_nodes_table(TRY(read_items(answer, node_summary)), wall_now());
  }
  const json::value answer = TRY(client.get("/api/v1/nodes/" + url_escape(arguments.name)));
  if (arguments.format == "json") return json_text(answer);
  std::vector<NodeSummary> nodes;
  nodes.push_back(TRY(node_summary(answer)));
  return render_nodes_table(nodes, wall_now());
}

Result<std::string> show_events(const AgentClient& client, const Arguments& arguments) {
  const json::value answer = TRY(client.get("/api/v1/events"));
  if (arguments.format == "json") return json_text(answer);
  std::vector<EventView> events = TRY(read_items(answer, event_from_json));
  if (!arguments.namespace_name.empty()) {
    std::erase_if(events, [&](const EventView& event) {
      return event.namespace_name != arguments.namespace_name;
    });
  }
  if (events.empty()) {
    complain("there are no events");
    return std::string();
  }
  return render_events_table(std::move(events), wall_now());
}

using Show = Result<std::string> (*)(const AgentClient&, const Arguments&);

int run(Show show, const Arguments& arguments) {
  const auto client = AgentClient::at(arguments.agent);
  if (!client) {
    complain(client.error().message);
    return kExitUsage;
  }
  const auto text = show(*client, arguments);
  return text ? answer(*text) : fail(text.error());
}

CLI::App& add_kind(CLI::App& get, int& exit_code, const std::string& name, const char* about,
                   Show show, const std::shared_ptr<Arguments>& arguments) {
  CLI::App* command = get.add_subcommand(name, about);
  command->alias(name.substr(0, name.size() - 1));
  add_agent_options(*command, arguments->agent);
  command->callback([arguments, show, &exit_code] { exit_code = run(show, *arguments); });
  return *command;
}

void add_format(CLI::App& command, Arguments& arguments, std::vector<std::string> formats) {
  command.add_option("-o,--output", arguments.format, "How to show it (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(std::move(formats)));
}

}  // namespace

void add_get(CLI::App& root, int& exit_code) {
  CLI::App* get = root.add_subcommand("get", "Show CPUs, pods, events or the node itself");
  get->require_subcommand(1);
  get->footer(kFooter);
  const auto shared = [] { return std::make_shared<Arguments>(); };  // outlive this call

  auto arguments = shared();
  CLI::App& cpus =
      add_kind(*get, exit_code, "cpus", "Show who holds which CPUs", show_cpus, arguments);
  add_format(cpus, *arguments, {"table", "json", "svg"});
  cpus.footer(kCpusFooter);

  arguments = shared();
  CLI::App& pods = add_kind(*get, exit_code, "pods", "Show pods", show_pods, arguments);
  pods.add_option("NAME", arguments->name, "Only this pod");
  CLI::Option* one = pods.add_option("-n,--namespace", arguments->namespace_name,
                                     "Of this namespace (default: default)");
  one->type_name("NAMESPACE");
  pods.add_flag("-A,--all-namespaces", arguments->all_namespaces, "Of all namespaces")
      ->excludes(one);
  add_format(pods, *arguments, {"table", "json"});
  pods.footer(kPodsFooter);

  arguments = shared();
  CLI::App& nodes = add_kind(*get, exit_code, "nodes", "Show the node", show_nodes, arguments);
  nodes.add_option("NAME", arguments->name, "Only this one");
  add_format(nodes, *arguments, {"table", "json"});
  nodes.footer("Examples:\n  corehold get nodes\n  corehold get nodes -o json");

  arguments = shared();
  CLI::App& events =
      add_kind(*get, exit_code, "events", "Show what has happened", show_events, arguments);
  CLI::Option* of = events.add_option("-n,--namespace", arguments->namespace_name,
                                      "Only of pods of this namespace");
  of->type_name("NAMESPACE");
  events.add_flag("-A,--all-namespaces", arguments->all_namespaces, "Of all namespaces (default)")
      ->excludes(of);
  add_format(events, *arguments, {"table", "json"});
  events.footer("Examples:\n  corehold get events\n  corehold get events -n db -o json");
}

}  // namespace corehold
