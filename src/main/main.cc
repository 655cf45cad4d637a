// SPDX-License-Identifier: Apache-2.0
//
// corehold: the table of commands.
#include <array>

#include "cli/cli.h"
#include "main/agent_command.h"

int main(int argc, char** argv) {
  using namespace corehold;
  constexpr std::array kCommands{
      add_agent,    add_run,        add_apply,      add_get,       add_describe, add_logs,
      add_delete,   add_resize,     add_quiet,      add_jitter,    add_plan,     add_features,
      add_topology, add_checkpoint, add_config,     add_isolation, add_hold,     add_launcher,
      add_monitor,  add_manual,     add_completion, add_complete};
  return run_cli({.version = COREHOLD_VERSION, .commands = kCommands}, argc, argv);
}
