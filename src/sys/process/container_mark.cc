// SPDX-License-Identifier: Apache-2.0
#include "sys/process/container_mark.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "sys/file/kernel_file.h"

namespace corehold {

std::string run_mark(const ProcessId& client) {
  return fmt::format("run/{}/{}", client.pid, client.start_time);
}

std::optional<std::string> mark_of(pid_t pid) {
  const auto environment = read_kernel_file(fmt::format("/proc/{}/environ", pid));
  if (!environment) return std::nullopt;
  const std::string name = fmt::format("{}=", kContainerVariable);
  std::size_t at = 0;
  while (environment->compare(at, name.size(), name) != 0) {
    at = environment->find('\0', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  const std::size_t begin = at + name.size();
  const std::size_t end = std::min(environment->find('\0', begin), environment->size());
  return environment->substr(begin, end - begin);
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
