// SPDX-License-Identifier: Apache-2.0
//
// The command line: one add_* function per command, each in a file of its own. An
// add_* function adds its subcommand to `root`; when the user gives that subcommand
// its callback runs it and stores the exit code (0 done, 1 failed, 2 bad usage).
#pragma once

namespace CLI {
class App;
}

namespace corehold {

void add_checkpoint(CLI::App& root, int& exit_code);

}  // namespace corehold
