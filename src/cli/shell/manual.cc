// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/manual.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace corehold {
namespace {

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Where the second of two columns begins; npos: there is one only.
std::size_t second_column(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  const std::size_t gap = first == std::string_view::npos ? first : line.find("  ", first);
  return gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Text at the beginning of a line must not look like a request.
std::string line_text(std::string_view text) {
  std::string line = troff_text(text);
  if (line.starts_with('.') || line.starts_with('\'')) line.insert(0, "\\&");
  return line + "\n";
}

// Options and commands: with a real minus sign, to be copied.
std::string literal(std::string_view text) {
  std::string out;
  for (const char c : troff_text(text)) {
    if (c == '-') out += '\\';
    out += c;
  }
  return out;
}

// "  corehold get cpus      who holds which CPUs", what it does above it as a comment.
std::string examples(const std::vector<std::string_view>& lines) {
  std::string text = ".PP\n.RS 4\n.EX\n";
  for (const std::string_view line : lines) {
    const std::size_t comment = second_column(line);
    if (comment != std::string_view::npos) {
      text += fmt::format("# {}\n", troff_text(line.substr(comment)));
    }
    const std::string command = literal(trimmed(line.substr(0, comment)));
    text += fmt::format("\\fB{}\\fR\n", command);
  }
  return text + ".EE\n.RE\n";
}

// "reserved   for the system", continued below the second column.
std::string definitions(const std::vector<std::string_view>& lines) {
  std::string text;
  for (const std::string_view line : lines) {
    const std::size_t column = second_column(line);
    if (line.starts_with(' ') || column == std::string_view::npos) {
      text += line_text(trimmed(line));
    } else {
      text += fmt::format(".TP\n\\fB{}\\fR\n", literal(trimmed(line.substr(0, column))));
      text += line_text(line.substr(column));
    }
  }
  return text;
}

// One of the blocks that blank lines separate.
std::string block_text(std::vector<std::string_view> lines) {
  std::string text;
  if (lines.front().ends_with(':') && lines.size() > 1 && lines[1].starts_with(' ')) {
    text += ".PP\n" + line_text(lines.front());
    lines.erase(lines.begin());
  }
  if (lines.front().starts_with(' ')) return text + examples(lines);
  if (second_column(lines.front()) != std::string_view::npos) return text + definitions(lines);
  text += ".PP\n";
  for (const std::string_view line : lines) text += line_text(line);
  return text;
}

std::string footer_text(std::string_view footer) {
  std::string text;
  std::vector<std::string_view> block;
  for (const std::string_view line : split_lines(footer)) {
    if (!line.empty()) {
      block.push_back(line);
      continue;
    }
    if (!block.empty()) text += block_text(std::exchange(block, {}));
  }
  return block.empty() ? text : text + block_text(std::move(block));
}

std::string value_text(const CommandOption& option) {
  if (!option.choices.empty()) {
    return fmt::format("\\fB{}\\fR", literal(fmt::format("{}", fmt::join(option.choices, "|"))));
  }
  return fmt::format("\\fI{}\\fR", literal(option.value));
}

std::string option_text(const CommandOption& option) {
  std::vector<std::string> names;
  names.reserve(option.names.size());
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("\\fB{}\\fR", literal(name)));
  }
  std::string text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.value.empty()) text += " " + value_text(option);
  return text + "\n" + line_text(option.about + (option.is_required ? "; required" : ""));
}

std::string argument_word(const CommandOption& argument) {
  const bool dots = argument.is_repeated && !argument.names.front().ends_with("...");
  std::string word =
      fmt::format("\\fI{}\\fR{}", literal(argument.names.front()), dots ? "..." : "");
  return argument.is_required ? word : fmt::format("[{}]", word);
}

std::string synopsis(const CommandTree& command, const std::string& words) {
  std::string text = fmt::format("\\fB{}\\fR [\\fIOPTIONS\\fR]", literal(words));
  if (command.needs_command) text += " \\fICOMMAND\\fR";
  for (const CommandOption& argument : command.arguments) text += " " + argument_word(argument);
  return text;
}

std::string command_text(const CommandTree& command, const std::string& words) {
  std::string text = fmt::format(".SS {}\n", synopsis(command, words));
  text += line_text(command.about + ".");
  if (!command.aliases.empty()) {
    text += line_text(fmt::format("Also: {}.", fmt::join(command.aliases, ", ")));
  }
  for (const CommandOption& argument : command.arguments) {
    text += fmt::format(".TP\n\\fI{}\\fR\n", literal(argument.names.front()));
    text += line_text(argument.about);
  }
  for (const CommandOption& option : command.options) text += option_text(option);
  return text + footer_text(command.footer);
}

// The commands below, those that only lead to others left out of nothing: they have help too.
std::string commands_text(const CommandTree& tree, const std::string& words) {
  std::string text;
  for (const CommandTree& command : tree.commands) {
    const std::string full = words + " " + command.name;
    text += command_text(command, full) + commands_text(command, full);
  }
  return text;
}

std::string synopses(const CommandTree& tree, const std::string& words) {
  std::string text;
  for (const CommandTree& command : tree.commands) {
    const std::string full = words + " " + command.name;
    if (!command.needs_command) text += synopsis(command, full) + "\n.br\n";
    text += synopses(command, full);
  }
  return text;
}

constexpr std::string_view kFiles =
    ".SH FILES\n"
    ".TP\n\\fI/var/lib/corehold\\fR\n"
    "The root of the node unless \\fB\\-\\-root\\fR says another: its state, and in \\fIrun\\fR "
    "the\n"
    "socket of the agent.\n"
    ".TP\n\\fI/run/corehold/agent.lock\\fR\n"
    "Held by the agent of this machine.\n";

constexpr std::string_view kCompletion =
    ".SH SHELL COMPLETION\n"
    "\\fBcorehold completion bash\\fR, \\fBzsh\\fR or \\fBfish\\fR writes what the shell needs to\n"
    "complete commands, options, files and, asking the agent, the names of pods:\n"
    ".PP\n.RS 4\n.EX\n"
    "\\fBsource <(corehold completion bash)\\fR\n"
    ".EE\n.RE\n";

constexpr std::string_view kExit =
    ".SH EXIT STATUS\n"
    ".TP\n\\fB0\\fR\nDone.\n"
    ".TP\n\\fB1\\fR\nThe thing asked for failed; standard error says why.\n"
    ".TP\n\\fB2\\fR\nBad usage.\n"
    ".PP\n"
    "\\fBcorehold run\\fR ends with the exit code of its command.\n";

}  // namespace

std::string troff_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string manual_page(const CommandTree& root, std::string_view version) {
  std::string text = ".\\\" Made by `corehold manual` from the definition of the command line.\n";
  text += fmt::format(".TH COREHOLD 1 \"\" \"Corehold {}\" \"User Commands\"\n", version);
  text += ".nh\n.ad l\n";
  text += ".SH NAME\ncorehold \\- exclusive CPUs for containers and commands\n";
  text += ".SH SYNOPSIS\n" + synopses(root, "corehold");
  text += ".SH DESCRIPTION\n" + line_text(root.about);
  text += ".SH OPTIONS\n";
  for (const CommandOption& option : root.options) text += option_text(option);
  text += ".SH COMMANDS\n" + commands_text(root, "corehold");
  text += std::string(kExit) + std::string(kFiles) + std::string(kCompletion);
  text += ".SH EXAMPLES\n" + footer_text(root.footer);
  return text;
}

}  // namespace corehold
