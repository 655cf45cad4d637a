// SPDX-License-Identifier: Apache-2.0
//
// corehold describe pod | node
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "base/code.h"
#include "cli/cli.h"
#include "cli/describe/describe_render.h"
#include "cli/get/get_show.h"
#include "cli/output.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

struct DescribeArguments {
  AgentAddress agent{};
  ObjectQuery query{};
};

constexpr const char* kDescribeFooter =
    "Examples:\n"
    "  corehold describe pod web               what it has, and why\n"
    "  corehold describe node                  how the node is set up, and who has what";

constexpr const char* kDescribePodFooter =
    "POD is NAME or NAMESPACE/NAME; without any, all of the namespace. Of every container:\n"
    "\n"
    "assigned  the CPUs that it has now\n"
    "promised  those that it started with and never loses\n"
    "pending   those that it will keep after a shrink under way\n"
    "aligned   how well they lie: whole cores, and one L3 cache, NUMA node and socket where as\n"
    "          few would do\n"
    "why       what makes it have CPUs of its own, share, or wait\n"
    "\n"
    "Examples:\n"
    "  corehold describe pod web\n"
    "  corehold describe pod db/pg-0 db/pg-1\n"
    "  corehold describe pods -A -l app=web";

constexpr const char* kNodeFooter =
    "The map has a letter for each CPU, core by core: the KEY of the container that holds it.\n"
    "\n"
    "Examples:\n"
    "  corehold describe node\n"
    "  corehold describe node --root /tmp/node";

// Events about the object with that name; those of others that had it before are left out,
// as far as the API tells.
Result<std::vector<EventView>> events_about(const AgentClient& client, std::string_view kind,
                                            const json::object& object) {
  const std::string name(look_text(object, {"metadata", "name"}));
  const std::string_view uid = look_text(object, {"metadata", "uid"});
  const json::value list = TRY(
      client.get(with_query("/api/v1/events", {{"fieldSelector", "involvedObject.name=" + name}})));
  std::vector<EventView> events;
  for (const json::value& item : TRY(items_of(list, "EventList"))) {
    EventView event = TRY(event_from_json(item));
    if (event.kind != kind || event.name != name) continue;
    if (kind == "Pod" && event.uid != uid) continue;
    events.push_back(std::move(event));
  }
  return events;
}

Result<std::string> pod_page(const AgentClient& client, const json::object& pod,
                             const CpuMap& map) {
  return render_pod_page(
      {.pod = pod, .map = map, .events = TRY(events_about(client, "Pod", pod)), .now = wall_now()});
}

Result<std::string> node_page(const AgentClient& client, const json::object& node,
                              const CpuMap& map) {
  const json::array pods = TRY(items_of(TRY(client.get("/api/v1/pods")), "PodList"));
  return render_node_page({.node = node,
                           .map = map,
                           .pods = pods,
                           .events = TRY(events_about(client, "Node", node)),
                           .now = wall_now()});
}

int describe(const AgentClient& client, Resource resource, const ObjectQuery& query) {
  const auto found = find_objects(client, resource, query);
  if (!found) return fail(found.error());
  const auto map = fetch_map(client);
  if (!map) return fail(map.error());
  int code = kExitDone;
  std::string separator;
  for (const json::value& value : found->objects) {
    const json::object& object = as_object_or_empty(value);
    const auto text = resource == Resource::kPods ? pod_page(client, object, *map)
                                                  : node_page(client, object, *map);
    if (!text) return fail(text.error());
    code = std::max(code, answer(std::exchange(separator, "\n\n") + *text));
  }
  if (found->objects.empty() && found->missing.empty()) {
    complain(fmt::format("there are no {} to describe", info_of(resource).name));
  }
  for (const Error& error : found->missing) code = fail(error);
  return code;
}

int run_describe(Resource resource, const DescribeArguments& arguments) {
  const auto client = AgentClient::at(arguments.agent);
  const auto good = check_query(arguments.query);
  for (const auto* problem : {client ? nullptr : &client.error(), good ? nullptr : &good.error()}) {
    if (problem == nullptr) continue;
    return fail_usage(*problem, fmt::format("describe {}", info_of(resource).singular));
  }
  return describe(*client, resource, arguments.query);
}

CLI::App& add_kind(CLI::App& describe, int& exit_code, Resource resource, const char* about,
                   const std::shared_ptr<DescribeArguments>& arguments) {
  const ResourceInfo& info = info_of(resource);
  CLI::App* command = describe.add_subcommand(std::string(info.singular), about);
  command->alias(std::string(info.name));
  command->alias(std::string(info.short_name));
  command
      ->add_option(resource == Resource::kPods ? "POD" : "NAME", arguments->query.names,
                   "Only these")
      ->type_name("...");
  command->callback(
      [arguments, resource, &exit_code] { exit_code = run_describe(resource, *arguments); });
  return *command;
}

}  // namespace

void add_describe(CLI::App& root, int& exit_code) {
  CLI::App* describe =
      root.add_subcommand("describe", "Tell all about a pod or the node, and why it is so");
  describe->require_subcommand(1);
  describe->footer(kDescribeFooter);
  auto arguments = std::make_shared<DescribeArguments>();  // outlives this call, with the callback
  CLI::App& pod = add_kind(*describe, exit_code, Resource::kPods,
                           "Tell what a pod has, and why it is so", arguments);
  add_namespace_options(pod, arguments->query, "Of this namespace (default: default)");
  add_selector_options(pod, arguments->query);
  add_agent_options(pod, arguments->agent);
  pod.footer(kDescribePodFooter);

  arguments = std::make_shared<DescribeArguments>();
  CLI::App& node = add_kind(*describe, exit_code, Resource::kNodes,
                            "Tell how the node is set up, and who has what", arguments);
  add_agent_options(node, arguments->agent);
  node.footer(kNodeFooter);
}

}  // namespace corehold
