// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/process_tree.h"

#include <algorithm>
#include <map>

namespace corehold {
namespace {

// By number: a client may have as many as it likes.
using ByNumber = std::multimap<pid_t, ProcessId>;

ByNumber by_number(const std::vector<ProcessId>& processes) {
  ByNumber numbered;
  for (const ProcessId& process : processes) numbered.emplace(process.pid, process);
  return numbered;
}

bool is_among(const ByNumber& processes, pid_t pid) {
  const auto [first, last] = processes.equal_range(pid);
  if (first == last) return false;
  const auto process = identify(pid);
  return process &&
         std::any_of(first, last, [&](const auto& one) { return one.second == *process; });
}

}  // namespace

std::vector<pid_t> process_tree_of(const ContainerProcesses& container,
                                   const MembersOf& members_of) {
  if (container.supervisor <= 0) return {};
  const ByNumber unrelated = by_number(container.unrelated);
  std::map<pid_t, ByNumber> supervisors;
  static const std::vector<Neighbour> kNone;
  const std::vector<Neighbour>& neighbours = container.neighbours ? *container.neighbours : kNone;
  for (const Neighbour& neighbour : neighbours) {
    if (neighbour.cgroup == container.cgroup || !is_running(neighbour.supervisor)) continue;
    supervisors.emplace(neighbour.supervisor.pid, by_number(neighbour.unrelated));
  }
  auto tree = descendants_of(container.supervisor, [&](pid_t parent, pid_t child) {
    if (parent == container.supervisor) return !is_among(unrelated, child);
    const auto supervisor = supervisors.find(parent);
    return supervisor == supervisors.end() || is_among(supervisor->second, child);
  });
  for (const Neighbour& neighbour : neighbours) {
    if (tree.empty()) break;
    if (neighbour.cgroup == container.cgroup || is_running(neighbour.supervisor)) continue;
    const auto members = members_of(neighbour);
    if (!members) continue;
    std::erase_if(tree, [&](pid_t pid) { return members->contains(pid); });
  }
  return tree;
}

std::vector<ProcessId> unrelated_processes_of(pid_t client, pid_t attached) {
  std::vector<ProcessId> others;
  const auto is_other = [attached](pid_t, pid_t child) { return child != attached; };
  for (const pid_t pid : descendants_of(client, is_other)) {
    if (const auto process = identify(pid)) others.push_back(*process);
  }
  return others;
}

}  // namespace corehold
