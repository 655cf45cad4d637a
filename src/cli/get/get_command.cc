// SPDX-License-Identifier: Apache-2.0
//
// corehold get cpus | pods | nodes | events
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/get/get_show.h"
#include "cli/output.h"

namespace corehold {
namespace {

constexpr const char* kGetFooter =
    "Examples:\n"
    "  corehold get cpus                       who holds which CPUs\n"
    "  corehold get cpus -o svg > cpus.svg     the same as a picture\n"
    "  corehold get pods -A                    every pod of the node\n"
    "  corehold get pods -w                    and what becomes of them\n"
    "  corehold get pods web -o yaml           one, as the API gives it\n"
    "  corehold get nodes                      what the node has and how it keeps CPUs apart\n"
    "  corehold get events                     what has happened";

constexpr const char* kCpusFooter =
    "reserved   for the system: never given away\n"
    "shared     where every container without CPUs of its own runs\n"
    "exclusive  held by one container each: ASSIGNED is what it has, PROMISED what it started\n"
    "           with and never loses, PENDING what it will keep after a shrink under way\n"
    "\n"
    "-o wide adds a map of the machine in letters and how well each container's CPUs lie: whole\n"
    "cores, and one L3 cache, NUMA node and socket where as few would do. -w shows it all again\n"
    "whenever something has changed. POD is NAME or NAMESPACE/NAME.\n"
    "\n"
    "Examples:\n"
    "  corehold get cpus\n"
    "  corehold get cpus -o wide -w\n"
    "  corehold get cpus db/pg-0 -o json\n"
    "  corehold get cpus -o svg > cpus.svg";

constexpr const char* kPodsFooter =
    "CPUS are the pod's own; \"shared\": it runs where everybody does. -w goes on with a row for\n"
    "every change, with -o json a line {\"type\", \"object\"}, until ^C. POD is NAME or "
    "NAMESPACE/NAME.\n"
    "\n"
    "Examples:\n"
    "  corehold get pods                       those of namespace default\n"
    "  corehold get pods -A -o wide\n"
    "  corehold get pods -n db pg-0 pg-1 -o json\n"
    "  corehold get pods -l 'app in (web, api)' -w\n"
    "  corehold get pods -A --field-selector status.phase=Pending";

constexpr const char* kNodesFooter =
    "Examples:\n"
    "  corehold get nodes\n"
    "  corehold get nodes -o wide\n"
    "  corehold get nodes -o json";

constexpr const char* kEventsFooter =
    "Without -n those of all namespaces and of the node itself.\n"
    "\n"
    "Examples:\n"
    "  corehold get events\n"
    "  corehold get events -n db -w\n"
    "  corehold get events --field-selector involvedObject.name=pg-0,type=Warning";

using Show = int (*)(const AgentClient&, const GetRequest&);

template <Resource resource>
int show_kind(const AgentClient& client, const GetRequest& request) {
  return request.watch ? watch_objects(client, resource, request)
                       : show_objects(client, resource, request);
}

int show_map(const AgentClient& client, const GetRequest& request) {
  return request.watch ? watch_cpus(client, request) : show_cpus(client, request);
}

int run_get(const std::string& name, Show show, const GetRequest& request) {
  const auto bad_usage = [&](const std::string& message) {
    complain(message);
    complain("see corehold get " + name + " --help");
    return kExitUsage;
  };
  const auto client = AgentClient::at(request.agent);
  if (!client) return fail_usage(client.error(), "get " + name);
  if (const auto good = check_query(request.query); !good) return bad_usage(good.error().message);
  if (request.watch && request.format == "svg") {
    return bad_usage("-w and -o svg cannot be given together: a picture does not go on");
  }
  if (request.watch && name != "cpus" && request.query.names.size() > 1) {
    return bad_usage("-w goes with one name or with none; -l chooses several");
  }
  return show(*client, request);
}

struct KindOptions {
  std::string name{};
  std::string short_name{};
  const char* about = "";
  const char* argument = "NAME";
  const char* namespaces = nullptr;  // null: it has none
  std::vector<std::string> formats{"table", "wide", "json", "yaml"};
  const char* footer = "";
  Show show = nullptr;
};

void add_kind(CLI::App& get, int& exit_code, const KindOptions& kind) {
  CLI::App* command = get.add_subcommand(kind.name, kind.about);
  command->alias(kind.name.substr(0, kind.name.size() - 1));
  if (!kind.short_name.empty()) command->alias(kind.short_name);
  const auto request = std::make_shared<GetRequest>();  // outlives this call, with the callback
  command->add_option(kind.argument, request->query.names, "Only these")->type_name("...");
  if (kind.namespaces != nullptr) {
    add_namespace_options(*command, request->query, kind.namespaces);
  }
  add_selector_options(*command, request->query);
  command->add_option("-o,--output", request->format, "How to show it (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(kind.formats));
  command->add_flag("-w,--watch", request->watch, "Go on with what changes");
  add_agent_options(*command, request->agent);
  command->footer(kind.footer);
  command->callback([request, name = kind.name, show = kind.show, &exit_code] {
    exit_code = run_get(name, show, *request);
  });
}

}  // namespace

void add_get(CLI::App& root, int& exit_code) {
  CLI::App* get = root.add_subcommand("get", "Show CPUs, pods, events or the node itself");
  get->require_subcommand(1);
  get->footer(kGetFooter);
  add_kind(*get, exit_code,
           {.name = "cpus",
            .about = "Show who holds which CPUs",
            .argument = "POD",
            .namespaces = "Of pods of this namespace (default: of all)",
            .formats = {"table", "wide", "json", "yaml", "svg"},
            .footer = kCpusFooter,
            .show = show_map});
  add_kind(*get, exit_code,
           {.name = "pods",
            .short_name = "po",
            .about = "Show pods",
            .argument = "POD",
            .namespaces = "Of this namespace (default: default)",
            .footer = kPodsFooter,
            .show = show_kind<Resource::kPods>});
  add_kind(*get, exit_code,
           {.name = "nodes",
            .short_name = "no",
            .about = "Show the node",
            .footer = kNodesFooter,
            .show = show_kind<Resource::kNodes>});
  add_kind(*get, exit_code,
           {.name = "events",
            .short_name = "ev",
            .about = "Show what has happened",
            .namespaces = "Of this namespace (default: of all)",
            .footer = kEventsFooter,
            .show = show_kind<Resource::kEvents>});
}

}  // namespace corehold
