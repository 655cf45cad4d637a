// SPDX-License-Identifier: Apache-2.0
//
// What users are told about the command line itself: the form of --help, and what is
// wrong with arguments that cannot be parsed. In our words where CLI11's are vague.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace corehold {

// The innermost command given, with the words that lead to it.
struct ChosenCommand {
  const CLI::App* app;
  std::string path;   // of all but the innermost: "corehold checkpoint"
  std::string words;  // of all: "corehold checkpoint show"
};

// REQUIRES: `root` has parsed or tried to.
ChosenCommand chosen_command(const CLI::App& root);

// Why parsing ended with `error`. An unknown option or command is named before anything
// else, since it is often why something required seems to be missing.
std::string explain_usage(const CLI::App& root, const CLI::ParseError& error);

// The words that an option accepts; empty where any may do.
std::vector<std::string> choices_of(const CLI::Option& option);

// For options that take a whole number from 0; CLI11's own shows up in the help.
CLI::Validator whole_number();

// Help that shows an option's values ("--to v2|v3|v4") or what they are ("--reserved
// LIST"), and none of CLI11's type names.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace corehold
