// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/command_tree.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/usage.h"

namespace corehold {
namespace {

CommandOption option_of(const CLI::Option& option) {
  CommandOption read{.about = option.get_description(),
                     .is_required = option.get_required(),
                     .is_repeated = option.get_items_expected_max() > 1};
  read.choices = choices_of(option);
  const bool is_argument = option.get_positional();
  for (const std::string& name : option.get_snames()) read.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) read.names.push_back("--" + name);
  if (is_argument) read.names = {option.get_name(true)};
  if (!is_argument && option.get_type_name().empty()) return read;  // a flag
  read.value = option.get_type_name();
  read.value.resize(std::min(read.value.find(':'), read.value.size()));
  if (is_argument || read.value == "TEXT") {
    read.value = is_argument ? read.names.front() : "VALUE";
  }
  return read;
}

}  // namespace

const CommandTree* CommandTree::find(std::string_view word) const {
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const CommandTree& command) {
        return command.name == word || std::find(command.aliases.begin(), command.aliases.end(),
                                                 word) != command.aliases.end();
      });
  return found == commands.end() ? nullptr : &*found;
}

CommandTree command_tree(const CLI::App& app) {
  CommandTree tree{.name = app.get_name(),
                   .aliases = app.get_aliases(),
                   .about = app.get_description(),
                   .footer = app.get_footer(),
                   .needs_command = app.get_require_subcommand_min() > 0};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? tree.arguments : tree.options).push_back(option_of(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) tree.commands.push_back(command_tree(*command));
  }
  return tree;
}

}  // namespace corehold
