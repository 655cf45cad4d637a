// SPDX-License-Identifier: Apache-2.0
#include "sys/process/container_mark.h"

#include <unistd.h>

#include <fmt/format.h>

namespace corehold {

std::string run_mark(const ProcessId& client) {
  return fmt::format("run/{}/{}", client.pid, client.start_time);
}

std::vector<std::string> marked_environment(std::string_view mark) {
  const std::string name = fmt::format("{}=", kContainerVariable);
  std::vector<std::string> variables;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(name)) variables.emplace_back(*variable);
  }
  variables.push_back(name + std::string(mark));
  return variables;
}

}  // namespace corehold
