// SPDX-License-Identifier: Apache-2.0
//
// What may come next on a command line, from the definition of the command line, and the
// scripts that let shells ask for it. Pure: names of pods are asked for elsewhere.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/command_tree.h"

namespace corehold {

struct Candidate {
  std::string text{};
  std::string about{};  // may be empty
};

// What beside candidates may come next.
enum class NextWord { kNothing, kFile, kDirectory, kPod, kNode, kNamespace, kContainer };

struct Completion {
  std::string prefix{};                 // what there is of the word already
  std::vector<Candidate> candidates{};  // begin with the prefix
  NextWord next = NextWord::kNothing;
  // The options of the line so far, which the look-up of names needs.
  std::string root{};
  std::string server{};
  std::string kubeconfig{};
  std::string namespace_name{};
  std::vector<std::string> arguments{};
};

// `words` are those after the program's name, up to the one to complete, which is the last
// and may be empty. As bash splits them: "--output=js" may come as "--output", "=", "js".
Completion complete(const CommandTree& root, std::span<const std::string> words);

// "bash", "zsh", "fish"; no value for another shell.
std::optional<std::string_view> completion_script(std::string_view shell);

}  // namespace corehold
