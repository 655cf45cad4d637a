// SPDX-License-Identifier: Apache-2.0
#include "held_cpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace corehold::proof {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// "" when it cannot be read: its cgroup has gone.
std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool has_processes(const fs::path& cgroup) {
  return text_of(cgroup / "cgroup.events").find("populated 1") != std::string::npos;
}

Result<CpuSet> cpus_of(const fs::path& cgroup) {
  std::string text = text_of(cgroup / "cpuset.cpus.effective");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return CpuSet::parse(text);
}

std::vector<fs::path> folders_in(const fs::path& path) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(path, ignored);
       !ignored && entry != fs::directory_iterator(); entry.increment(ignored)) {
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<HeldCpus> read_once(const fs::path& folder) {
  HeldCpus held;
  for (const fs::path& pod : folders_in(folder / "pods")) {
    for (const fs::path& container : folders_in(pod)) {
      if (!has_processes(container)) continue;
      held.exclusive.push_back(
          {.container = pod.filename().string() + "/" + container.filename().string(),
           .cpus = TRY(cpus_of(container))});
    }
  }
  if (has_processes(folder / "shared")) held.shared = TRY(cpus_of(folder / "shared"));
  return held;
}

Result<CpuSet> cpus_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) {
    return Error{Code::kInvalid, fmt::format("{} is no list of CPUs", key)};
  }
  return CpuSet::parse(std::string_view(value->get_string()));
}

std::string string_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

}  // namespace

Result<HeldCpus> held_in_cgroups(const std::string& folder) {
  constexpr int kAttempts = 1000;
  HeldCpus last = TRY(read_once(folder));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    HeldCpus next = TRY(read_once(folder));
    if (next == last) return next;
    last = std::move(next);
  }
  return Error{Code::kConflict, fmt::format("{} never stays the same", folder)};
}

Result<HeldCpus> held_in_map(const json::value& map) {
  const json::object* object = map.if_object();
  const json::value* list = object == nullptr ? nullptr : object->if_contains("containers");
  if (list == nullptr || !list->is_array()) {
    return Error{Code::kInvalid, "the map of CPUs has no containers"};
  }
  HeldCpus held{.shared = TRY(cpus_at(*object, "shared"))};
  for (const json::value& item : list->get_array()) {
    if (!item.is_object()) return Error{Code::kInvalid, "a container is no object"};
    const json::object& holder = item.get_object();
    held.exclusive.push_back(
        {.container = string_at(holder, "uid") + "/" + string_at(holder, "container"),
         .cpus = TRY(cpus_at(holder, "assigned"))});
  }
  return held;
}

std::vector<std::string> doubles(const HeldCpus& held) {
  std::vector<std::string> found;
  for (auto one = held.exclusive.begin(); one != held.exclusive.end(); ++one) {
    for (auto other = one + 1; other != held.exclusive.end(); ++other) {
      if (!one->cpus.intersects(other->cpus)) continue;
      found.push_back(fmt::format("{} and {} have {}", one->container, other->container,
                                  (one->cpus & other->cpus).str()));
    }
    if (one->cpus.intersects(held.shared)) {
      found.push_back(fmt::format("{} and the shared containers have {}", one->container,
                                  (one->cpus & held.shared).str()));
    }
  }
  return found;
}

std::vector<std::string> differences(const HeldCpus& machine, const HeldCpus& agent) {
  std::map<std::string, CpuSet> known;
  for (const Held& held : agent.exclusive) known[held.container] = held.cpus;
  std::vector<std::string> found;
  for (const Held& held : machine.exclusive) {
    const auto entry = known.find(held.container);
    if (entry == known.end()) {
      found.push_back(fmt::format("{} has {}, and the agent does not know it", held.container,
                                  held.cpus.str()));
    } else if (!(entry->second == held.cpus)) {
      found.push_back(fmt::format("{} has {}, and the agent says {}", held.container,
                                  held.cpus.str(), entry->second.str()));
    }
  }
  if (!machine.shared.empty() && !(machine.shared == agent.shared)) {
    found.push_back(fmt::format("the shared containers have {}, and the agent says {}",
                                machine.shared.str(), agent.shared.str()));
  }
  return found;
}

}  // namespace corehold::proof
