// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/output.h"
#include "cli/usage.h"

namespace corehold {
namespace {

int bad_usage(const CLI::App& root, std::string_view message) {
  complain(message);
  complain(fmt::format("see {} --help", chosen_command(root).words));
  return kExitUsage;
}

int run_parsed(CLI::App& root, const CliOptions& options, int& exit_code, int argc, char** argv) {
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const ChosenCommand chosen = chosen_command(root);
    return answer(chosen.app->help(chosen.path));
  } catch (const CLI::CallForAllHelp&) {
    return answer(root.help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion&) {
    return answer(fmt::format("corehold {}\n", options.version));
  } catch (const CLI::ParseError& error) {
    return bad_usage(root, explain_usage(root, error));
  }
  return exit_code;
}

}  // namespace

int run_cli(const CliOptions& options, int argc, char** argv) {
  ignore_broken_pipes();
  int exit_code = kExitFailed;
  // CLI11 throws; this is the one place that catches.
  try {
    CLI::App root("Corehold gives containers exclusive CPUs and keeps its word about them.",
                  "corehold");
    root.set_help_flag("-h,--help", "Show this help and exit");
    root.set_version_flag("--version", std::string(options.version), "Show the version and exit");
    root.formatter(help_formatter());
    root.require_subcommand(1);
    root.footer(
        "Examples:\n"
        "  corehold agent                          make this machine a node\n"
        "  corehold run --cpus 4 -- ./app          a command on CPUs of its own\n"
        "  corehold apply -f pods.yaml             pods for the node\n"
        "  corehold get cpus                       who holds which CPUs\n"
        "  corehold describe pod web               what a pod has, and why\n"
        "  corehold resize pod web --cpu 4 --wait  more or fewer CPUs while it runs\n"
        "  corehold quiet                          who else runs on CPUs that are held\n"
        "  corehold jitter --cpu 3                 the pauses of a loop on a CPU\n"
        "  corehold plan -f pods.yaml              who would hold which, without a node\n"
        "  corehold features match --help          which nodes can run which pods\n"
        "  corehold topology -o svg > host.svg     this machine as a picture\n"
        "  corehold checkpoint show FILE           who holds which CPUs, from the file\n"
        "  corehold isolation show                 what is kept off held CPUs, and how\n"
        "  corehold config check FILE              what is wrong with a configuration\n"
        "  corehold run --help                     more about one command\n"
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
