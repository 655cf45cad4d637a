// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <algorithm>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/output.h"

namespace corehold {
namespace {

// The first argument that is no option is the command.
const char* command_in(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-' && argv[i][0] != '\0') return argv[i];
  }
  return nullptr;
}

// Why `error` was raised, in our words where CLI11's are vague.
std::string explain(const CLI::App& root, const CLI::ParseError& error, int argc, char** argv) {
  const char* command = command_in(argc, argv);
  if (command == nullptr && argc <= 1) return "no command given";
  const auto all = root.get_subcommands([](const CLI::App*) { return true; });
  const bool known = command != nullptr && std::any_of(all.begin(), all.end(), [&](const CLI::App* app) {
    return app->get_name() == command;
  });
  if (command != nullptr && !known) {
    return fmt::format("unknown command \"{}\"", command);
  }
  std::string what = error.what();
  const auto end = what.find_last_not_of(" \n.");
  what.resize(end == std::string::npos ? 0 : end + 1);
  return what;
}

int bad_usage(const CLI::App& root, std::string_view message) {
  const auto chosen = root.get_subcommands();
  complain(message);
  complain(fmt::format("see corehold {}--help", chosen.empty() ? "" : chosen.front()->get_name() + " "));
  return kExitUsage;
}

int run_parsed(CLI::App& root, const CliOptions& options, int& exit_code, int argc, char** argv) {
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = root.get_subcommands();
    return answer(chosen.empty() ? root.help() : chosen.front()->help());
  } catch (const CLI::CallForAllHelp&) {
    return answer(root.help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion&) {
    return answer(fmt::format("corehold {}\n", options.version));
  } catch (const CLI::ParseError& error) {
    return bad_usage(root, explain(root, error, argc, argv));
  }
  return exit_code;
}

}  // namespace

int run_cli(const CliOptions& options, int argc, char** argv) {
  ignore_broken_pipes();
  int exit_code = kExitFailed;
  // CLI11 throws; this is the one place that catches.
  try {
    CLI::App root("Corehold gives containers exclusive CPUs and keeps its word about them.", "corehold");
    root.set_help_flag("-h,--help", "Show this help and exit");
    root.set_version_flag("--version", std::string(options.version), "Show the version and exit");
    root.get_formatter()->column_width(34);
    root.require_subcommand(1);
    root.footer(
        "Examples:\n"
        "  corehold topology                     what this machine looks like\n"
        "  corehold topology -o svg > host.svg   the same as a picture\n"
        "  corehold topology --help              more about one command\n"
        "\n"
        "Answers go to standard output, errors to standard error.\n"
        "Exit codes: 0 done, 1 the thing asked for failed, 2 bad usage.");
    for (const AddCommand add : options.commands) add(root, exit_code);
    return run_parsed(root, options, exit_code, argc, argv);
  } catch (const std::exception& error) {
    complain(error.what());
    return kExitFailed;
  }
}

}  // namespace corehold
