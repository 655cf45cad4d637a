// SPDX-License-Identifier: Apache-2.0
//
// The commands with their options and arguments as plain data, read from the definition of
// the command line itself: for what is made of it, the manual page and shell completion.
// Hidden commands and options are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace corehold {

struct CommandOption {
  std::vector<std::string> names{};    // "-o", "--output"; of an argument its name, "POD"
  std::string value{};                 // what it takes: "FORMAT"; "": nothing, it is a flag
  std::vector<std::string> choices{};  // what it takes, where that is one of a few words
  std::string about{};
  bool is_required = false;
  bool is_repeated = false;  // may be given several times
};

struct CommandTree {
  std::string name{};
  std::vector<std::string> aliases{};
  std::string about{};
  std::string footer{};
  std::vector<CommandOption> options{};    // in the order of the help
  std::vector<CommandOption> arguments{};  // in their order
  std::vector<CommandTree> commands{};
  bool needs_command = false;

  // By name or alias; null: there is none.
  const CommandTree* find(std::string_view word) const;
};

CommandTree command_tree(const CLI::App& app);

}  // namespace corehold
