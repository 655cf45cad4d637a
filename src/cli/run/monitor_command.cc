// SPDX-License-Identifier: Apache-2.0
//
// corehold monitor DIR: what the agent starts beside every container. Not for people.
#include <unistd.h>

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/cli.h"
#include "cli/run/open_files.h"
#include "runtime/monitor/monitor.h"

namespace corehold {

void add_monitor(CLI::App& root, int& /*exit_code*/) {
  CLI::App* command = root.add_subcommand("monitor", "Run one container; started by the agent");
  command->group("");
  const auto directory = std::make_shared<std::string>();  // outlives this call, with the callback
  command->add_option("DIR", *directory, "The container's directory")->required();
  command->callback([directory] {
    restore_open_files();
    // At once: the container's end is written down, and the agent may kill whatever is left in the
    // container's cgroup. A sanitizer's leak checker, a process of its own, would be killed there.
    ::_exit(run_monitor(*directory));
  });
}

}  // namespace corehold
