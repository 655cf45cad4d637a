// SPDX-License-Identifier: Apache-2.0
#include "agent/node/node_facts.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>

#include "pod/pod.h"
#include "sys/clock.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMostFact = 4096;

// As Kubernetes names them.
std::string architecture_of(const std::string& machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return machine;
}

// Node names are in lower case.
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The first line of a small file; "" when there is none.
std::string first_line(const std::string& path) {
  const auto text = read_file(path, kMostFact);
  return text ? text->substr(0, text->find('\n')) : "";
}

std::string os_image() {
  constexpr std::string_view kKey = "PRETTY_NAME=\"";
  const auto text = read_file("/etc/os-release", kMostFact);
  const std::size_t at = text ? text->find(kKey) : std::string::npos;
  if (at == std::string::npos) return "linux";
  const std::size_t begin = at + kKey.size();
  return text->substr(begin, text->find('"', begin) - begin);
}

std::int64_t machine_memory() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return static_cast<std::int64_t>(info.totalram) * static_cast<std::int64_t>(info.mem_unit);
}

}  // namespace

std::int64_t memory_of(const Topology& topology) {
  std::int64_t bytes = 0;
  for (const auto& [node, amounts] : topology.memory()) {
    const auto found = amounts.find(std::string(kMemory));
    if (found != amounts.end()) bytes += found->second;
  }
  return bytes;
}

NodeFacts facts_of(const NodeSetup& setup, std::string version) {
  utsname names{};
  ::uname(&names);
  NodeFacts facts{.setup = setup,
                  .name = lower(names.nodename),
                  .version = std::move(version),
                  .kernel = names.release,
                  .architecture = architecture_of(names.machine),
                  .os_image = os_image(),
                  .machine_id = first_line("/etc/machine-id"),
                  .boot_id = first_line("/proc/sys/kernel/random/boot_id"),
                  .memory = machine_memory(),
                  .started_at = wall_now()};
  if (facts.name.empty()) facts.name = "localhost";
  return facts;
}

}  // namespace corehold
