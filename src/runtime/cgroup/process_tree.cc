// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/process_tree.h"

#include <algorithm>
#include <map>

namespace corehold {
namespace {

bool is_among(const std::vector<ProcessId>& processes, pid_t pid) {
  const auto same_number = [pid](const ProcessId& one) { return one.pid == pid; };
  if (std::none_of(processes.begin(), processes.end(), same_number)) return false;
  const auto process = identify(pid);
  return process && std::find(processes.begin(), processes.end(), *process) != processes.end();
}

}  // namespace

std::vector<pid_t> process_tree_of(const ContainerProcesses& container,
                                   const MembersOf& members_of) {
  if (container.supervisor <= 0) return {};
  std::map<pid_t, const Neighbour*> supervisors;
  for (const Neighbour& neighbour : container.neighbours) {
    if (is_running(neighbour.supervisor)) supervisors.emplace(neighbour.supervisor.pid, &neighbour);
  }
  auto tree = descendants_of(container.supervisor, [&](pid_t parent, pid_t child) {
    if (parent == container.supervisor) return !is_among(container.unrelated, child);
    const auto supervisor = supervisors.find(parent);
    return supervisor == supervisors.end() || is_among(supervisor->second->unrelated, child);
  });
  for (const Neighbour& neighbour : container.neighbours) {
    if (tree.empty()) break;
    if (is_running(neighbour.supervisor)) continue;
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
