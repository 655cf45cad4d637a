// SPDX-License-Identifier: Apache-2.0
#include "cli/testing.h"

#include <sys/wait.h>

#include <cstdio>

namespace corehold {

Outcome run(const std::string& arguments, const std::string& input) {
  const std::string command =
      "cd '" COREHOLD_SOURCE_DIR "' && " + input + " '" COREHOLD_BINARY "' " + arguments;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char chunk[4096];
  for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof(chunk), pipe)) > 0;) {
    text.append(chunk, got);
  }
  const int status = ::pclose(pipe);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .text = text};
}

}  // namespace corehold
