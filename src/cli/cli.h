// SPDX-License-Identifier: Apache-2.0
//
// The command line: one add_* function per command, each in a file of its own. An
// add_* function adds its subcommand to `root`; when the user gives that subcommand
// its callback runs it and stores the exit code (0 done, 1 failed, 2 bad usage).
// Answers go to standard output, trouble to standard error (output.h).
#pragma once

#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace corehold {

void add_apply(CLI::App& root, int& exit_code);
void add_checkpoint(CLI::App& root, int& exit_code);
void add_config(CLI::App& root, int& exit_code);
void add_complete(CLI::App& root, int& exit_code);
void add_completion(CLI::App& root, int& exit_code);
void add_describe(CLI::App& root, int& exit_code);
void add_features(CLI::App& root, int& exit_code);
void add_hold(CLI::App& root, int& exit_code);
void add_isolation(CLI::App& root, int& exit_code);
void add_launcher(CLI::App& root, int& exit_code);
void add_manual(CLI::App& root, int& exit_code);
void add_monitor(CLI::App& root, int& exit_code);
void add_delete(CLI::App& root, int& exit_code);
void add_get(CLI::App& root, int& exit_code);
void add_logs(CLI::App& root, int& exit_code);
void add_jitter(CLI::App& root, int& exit_code);
void add_plan(CLI::App& root, int& exit_code);
void add_quiet(CLI::App& root, int& exit_code);
void add_resize(CLI::App& root, int& exit_code);
void add_run(CLI::App& root, int& exit_code);
void add_topology(CLI::App& root, int& exit_code);

using AddCommand = void (*)(CLI::App& root, int& exit_code);

struct CliOptions {
  std::string_view version;
  std::span<const AddCommand> commands;
};

// Parses, runs the one command given and returns the process's exit code. What cannot
// be parsed is explained on standard error and gives 2; --help and --version give 0.
int run_cli(const CliOptions& options, int argc, char** argv);

}  // namespace corehold
