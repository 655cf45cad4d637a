// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/code.h"

namespace corehold {

int answer(std::string_view text) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return kExitDone;
  complain("cannot write to standard output");
  return kExitFailed;
}

void complain(std::string_view message) {
  const std::string line = fmt::format("corehold: {}\n", message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int fail(const Error& error) {
  complain(error.message);
  return kExitFailed;
}

}  // namespace corehold
