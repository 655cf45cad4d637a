// SPDX-License-Identifier: Apache-2.0
//
// corehold config check | reference
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/config/config_render.h"
#include "cli/output.h"
#include "config/reference.h"
#include "discover/source.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr const char* kCheckFooter =
    "FILE holds a KubeletConfiguration, a CoreholdConfiguration or both, as YAML; - is standard\n"
    "input. A file without mistakes is answered with the settings it gives, and with what has\n"
    "no effect; otherwise every mistake is told, with its line, and the exit code is 1.\n"
    "\n"
    "Examples:\n"
    "  corehold config check /var/lib/kubelet/config.yaml\n"
    "  corehold config check --topology host node.yaml\n"
    "  corehold config check -o json - < node.yaml";

constexpr const char* kReferenceFooter =
    "The page names every field of KubeletConfiguration that Corehold honours, every field of\n"
    "CoreholdConfiguration, the options of the policies and the feature gates. It is "
    "docs/config.md.\n"
    "\n"
    "Examples:\n"
    "  corehold config reference | less\n"
    "  corehold config reference > config.md";

struct ConfigArguments {
  std::string file{};
  std::string format = "table";
  std::string topology{};
};

// As much of standard input as a configuration may have, and a byte more.
Result<std::string> read_standard_input() {
  std::string text;
  std::array<char, 65536> chunk{};
  while (text.size() <= kMaxConfigBytes) {
    const ssize_t got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return errno_error("read standard input", errno);
    }
    if (got == 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// What is wrong on that machine, at the lines of the fields that say so.
void add_machine_mistakes(CheckedConfig& checked, const Topology& topology) {
  for (ConfigRemark mistake : mistakes_on(checked.config, topology)) {
    const auto line = checked.lines.find(mistake.field);
    if (line != checked.lines.end()) mistake.line = line->second;
    checked.mistakes.push_back(std::move(mistake));
  }
  std::stable_sort(
      checked.mistakes.begin(), checked.mistakes.end(),
      [](const ConfigRemark& left, const ConfigRemark& right) { return left.line < right.line; });
}

int check(const ConfigArguments& arguments) {
  std::optional<TopologySource> source;
  if (!arguments.topology.empty()) {
    const auto parsed = TopologySource::parse(arguments.topology);
    if (!parsed) {
      complain(fmt::format("--topology: {}", parsed.error().message));
      complain("see corehold config check --help");
      return kExitUsage;
    }
    source = *parsed;
  }
  const bool is_standard_input = arguments.file == "-";
  const auto text =
      is_standard_input ? read_standard_input() : read_file(arguments.file, kMaxConfigBytes);
  if (!text) return fail(text.error());
  const std::string name = is_standard_input ? "standard input" : arguments.file;
  CheckedConfig checked = read_config(*text);
  // With mistakes in the file the settings are not those that were meant.
  if (source && checked.mistakes.empty()) {
    const auto topology = discover(*source);
    if (!topology) return fail(topology.error());
    add_machine_mistakes(checked, *topology);
  }
  const bool is_json = arguments.format == "json";
  if (checked.mistakes.empty()) {
    return answer(is_json ? render_config_json(name, checked) : render_config_table(name, checked));
  }
  if (is_json) {
    if (const int code = answer(render_config_json(name, checked)); code != kExitDone) return code;
  } else {
    for (const ConfigRemark& mistake : checked.mistakes) report(render_remark(name, mistake));
  }
  const std::size_t count = checked.mistakes.size();
  complain(fmt::format("{}: {} {}", name, count, count == 1 ? "mistake" : "mistakes"));
  return kExitFailed;
}

void add_check(CLI::App& config, int& exit_code) {
  CLI::App* command =
      config.add_subcommand("check", "Say what a configuration sets, or everything wrong with it");
  const auto arguments =
      std::make_shared<ConfigArguments>();  // outlives this call, with the callback
  command->add_option("FILE", arguments->file, "The configuration; - is standard input")
      ->required();
  command->add_option("-o,--output", arguments->format, "How to answer (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  command
      ->add_option("--topology", arguments->topology,
                   "Also check it against a machine: host, xml:FILE or synthetic:TEXT")
      ->type_name("SOURCE");
  command->footer(kCheckFooter);
  command->callback([arguments, &exit_code] { exit_code = check(*arguments); });
}

void add_reference(CLI::App& config, int& exit_code) {
  CLI::App* command = config.add_subcommand(
      "reference", "Print the page of every field with its default, in Markdown");
  command->footer(kReferenceFooter);
  command->callback([&exit_code] { exit_code = answer(reference_page()); });
}

}  // namespace

void add_config(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("config", "Check a configuration file");
  command->require_subcommand(1);
  command->footer("corehold config check --help and corehold config reference --help say more.");
  add_check(*command, exit_code);
  add_reference(*command, exit_code);
}

}  // namespace corehold
