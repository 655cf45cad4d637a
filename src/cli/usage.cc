// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/words.h"

namespace corehold {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional() || option->get_type_size() == 0) return "";
    const std::string choices = joined(choices_of(*option), "|");
    const std::string type = option->get_type_name();
    if (!choices.empty()) return " " + choices;
    return type.empty() || type == "TEXT" ? "" : " " + type;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    const bool say = option->get_required() && !option->get_positional();
    return option->get_description() + (say ? "; required" : "");
  }
};

// CLI11's sentence in our form: lower case, no full stop.
std::string plain(std::string text) {
  const auto end = text.find_last_not_of(" \n.");
  text.resize(end == std::string::npos ? 0 : end + 1);
  const bool sentence = text.size() > 1 && text[1] >= 'a' && text[1] <= 'z';
  if (sentence && text[0] >= 'A' && text[0] <= 'Z')
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::string commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    // One without a group is not for people.
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return fmt::format("there {} {}", names.size() == 1 ? "is" : "are", fmt::join(names, ", "));
}

// The words that lead to `app`, without the program's: "checkpoint ", or nothing.
std::string prefix_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? "" : prefix_of(*parent) + app.get_name() + " ";
}

// An option without its value, or with one too many; CLI11 names it first.
std::string explain_mismatch(const CLI::App& app, const std::string& message) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (!message.starts_with(name + ": ")) continue;
    if (message.find(": At Most ") != std::string::npos) return name + " may be given only once";
    const std::string choices = joined(choices_of(*option), ", ");
    return name + " needs a value" + (choices.empty() ? "" : ": one of " + choices);
  }
  return plain(message);
}

// What may have been meant, for the end of a message.
std::string meant(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  return did_you_mean(word, words);
}

std::string meant_option(const CLI::App& app, const std::string& given) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return given.starts_with("--") ? meant(given, names) : "";
}

}  // namespace

// CLI11 has them only as the end of the type's name: "VERSION:{v2,v3,v4}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  if (open == std::string::npos || type.back() != '}') return {};
  std::vector<std::string> choices{""};
  for (const char c : std::string_view(type).substr(open + 1, type.size() - open - 2)) {
    if (c == ',') {
      choices.emplace_back();
    } else {
      choices.back() += c;
    }
  }
  return choices;
}

ChosenCommand chosen_command(const CLI::App& root) {
  ChosenCommand chosen{.app = &root, .path = "", .words = root.get_name()};
  while (!chosen.app->get_subcommands().empty()) {
    chosen.app = chosen.app->get_subcommands().front();
    chosen.path = chosen.words;
    chosen.words += " " + chosen.app->get_name();
  }
  return chosen;
}

std::string explain_usage(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = *chosen_command(root).app;
  std::vector<std::string> left = root.remaining(true);
  if (app.get_prefix_command()) {
    // What follows belongs to the command that is to be run.
    left.erase(std::find(left.begin(), left.end(), "--"), left.end());
  }
  std::erase(left, "--");
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& word) {
    return word.size() > 1 && word.front() == '-';
  });
  const bool wants_command = !app.get_subcommands({}).empty();
  // Options after a word that is no command are those of the command that was meant.
  const bool is_wrong_command = wants_command && !left.empty() && option != left.begin();
  if (is_wrong_command) {
    return fmt::format("unknown command {:?}; {}", prefix_of(app) + left.front(), commands_of(app));
  }
  if (option != left.end()) {
    const std::string name = option->substr(0, option->find('='));
    const bool is_address = name == "--root" || name == "--server";
    if (app.get_option_no_throw(name) != nullptr || (is_address && wants_command)) {
      return fmt::format("option {:?} comes after the whole command{}", name,
                         is_address ? fmt::format(", as in corehold get cpus {} ...", name) : "");
    }
    return fmt::format("unknown option {:?}{}", name, meant_option(app, name));
  }
  if (wants_command) {
    return fmt::format("no {}command given; {}", prefix_of(app), commands_of(app));
  }
  if (!left.empty() && !app.get_prefix_command())
    return fmt::format("unexpected argument {:?}", left.front());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return explain_mismatch(app, error.what());
  }
  return plain(error.what());
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) {
        const bool digits = !text.empty() && text.size() < 10 &&
                            text.find_first_not_of("0123456789") == std::string::npos;
        return digits ? std::string() : fmt::format("{} is no whole number from 0", text);
      },
      "");
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(34);
  return formatter;
}

}  // namespace corehold
