// SPDX-License-Identifier: Apache-2.0
//
// The program itself, run by tests.
#pragma once

#include <string>

namespace corehold {

struct Outcome {
  int code;  // -1: it did not end by itself
  std::string text;
};

// Runs `[INPUT |] corehold ARGUMENTS` in a shell in the root of the repository; the text is
// what the shell's standard output gets. `input`: with the bar, "" for none.
Outcome run(const std::string& arguments, const std::string& input = "");

}  // namespace corehold
