// SPDX-License-Identifier: Apache-2.0
//
// corehold topology
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/draw/topology_render.h"
#include "cli/draw/topology_svg.h"
#include "cli/output.h"
#include "discover/source.h"

namespace corehold {
namespace {

struct TopologyArguments {
  std::string source = "host";
  std::string format = "table";
};

constexpr const char* kTopologyFooter =
    "A source is one of\n"
    "  host                 this machine: every online CPU, also those this process may not use\n"
    "  xml:FILE             a machine captured with `lstopo --of xml FILE` (hwloc)\n"
    "  synthetic:TEXT       a machine that need not exist, levels from the outside in:\n"
    "                       package (socket), numa, l3, core, pu (CPU), each name:count\n"
    "\n"
    "Examples:\n"
    "  corehold topology\n"
    "  corehold topology -o json\n"
    "  corehold topology --source xml:server.xml -o svg > server.svg\n"
    "  corehold topology --source \"synthetic:package:2 numa:1 l3:2 core:4 pu:2\"";

int run_topology(const TopologyArguments& arguments) {
  const auto source = TopologySource::parse(arguments.source);
  if (!source) {
    complain(source.error().message);
    complain("see corehold topology --help");
    return kExitUsage;
  }
  const auto topology = discover(*source);
  if (!topology) return fail(topology.error());
  if (arguments.format == "json") return answer(render_topology_json(*topology));
  if (arguments.format == "svg") {
    return answer(render_topology_svg(*topology, plain_paint(*topology)));
  }
  return answer(render_topology_table(*topology));
}

}  // namespace

void add_topology(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand(
      "topology", "Show sockets, NUMA nodes, L3 caches, cores and CPUs of a machine");
  const auto arguments =
      std::make_shared<TopologyArguments>();  // outlives this call, with the callback
  command->add_option("--source", arguments->source, "Where the machine comes from (default: host)")
      ->type_name("SOURCE");
  command->add_option("-o,--output", arguments->format, "How to show it (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "svg"}));
  command->footer(kTopologyFooter);
  command->callback([arguments, &exit_code] { exit_code = run_topology(*arguments); });
}

}  // namespace corehold
