// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/output.h"

namespace corehold {
namespace {

// The innermost command given, with the words that lead to it: "corehold checkpoint show".
struct Chosen {
  const CLI::App* app;
  std::string path;   // of all but the innermost
  std::string words;  // of all
};

Chosen chosen_of(const CLI::App& root) {
  Chosen chosen{.app = &root, .path = "", .words = root.get_name()};
  while (!chosen.app->get_subcommands().empty()) {
    chosen.app = chosen.app->get_subcommands().front();
    chosen.path = chosen.words;
    chosen.words += " " + chosen.app->get_name();
  }
  return chosen;
}

// CLI11's sentence in our form: lower case, no full stop.
std::string plain(std::string text) {
  const auto end = text.find_last_not_of(" \n.");
  text.resize(end == std::string::npos ? 0 : end + 1);
  const bool sentence = text.size() > 1 && text[1] >= 'a' && text[1] <= 'z';
  if (sentence && text[0] >= 'A' && text[0] <= 'Z')
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

// Why `error` was raised, in our words where CLI11's are vague.
std::string explain(const CLI::App& root, const CLI::ParseError& error, int argc, char** argv) {
  if (!root.get_subcommands().empty()) return plain(error.what());
  if (argc <= 1) return "no command given";
  return fmt::format("unknown {} \"{}\"", argv[1][0] == '-' ? "option" : "command", argv[1]);
}

int bad_usage(const CLI::App& root, std::string_view message) {
  complain(message);
  complain(fmt::format("see {} --help", chosen_of(root).words));
  return kExitUsage;
}

int run_parsed(CLI::App& root, const CliOptions& options, int& exit_code, int argc, char** argv) {
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const Chosen chosen = chosen_of(root);
    return answer(chosen.app->help(chosen.path));
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
    CLI::App root("Corehold gives containers exclusive CPUs and keeps its word about them.",
                  "corehold");
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
