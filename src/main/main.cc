// SPDX-License-Identifier: Apache-2.0
//
// corehold: the table of commands.
#include <array>

#include "cli/cli.h"

int main(int argc, char** argv) {
  using namespace corehold;
  constexpr std::array kCommands{add_topology, add_plan, add_checkpoint, add_config, add_monitor};
  return run_cli({.version = COREHOLD_VERSION, .commands = kCommands}, argc, argv);
}
