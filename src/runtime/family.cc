// SPDX-License-Identifier: Apache-2.0
#include "runtime/family.h"

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

std::vector<pid_t> family_of(const Body& body, const MembersOf& members_of) {
  if (body.keeper <= 0) return {};
  std::map<pid_t, const Neighbour*> keepers;
  for (const Neighbour& neighbour : body.neighbours) {
    if (is_running(neighbour.keeper)) keepers.emplace(neighbour.keeper.pid, &neighbour);
  }
  auto family = descendants_of(body.keeper, [&](pid_t parent, pid_t child) {
    if (parent == body.keeper) return !is_among(body.spared, child);
    const auto keeper = keepers.find(parent);
    return keeper == keepers.end() || is_among(keeper->second->spared, child);
  });
  for (const Neighbour& neighbour : body.neighbours) {
    if (family.empty()) break;
    if (is_running(neighbour.keeper)) continue;
    const auto members = members_of(neighbour);
    if (!members) continue;
    std::erase_if(family, [&](pid_t pid) { return members->contains(pid); });
  }
  return family;
}

std::vector<ProcessId> others_of(pid_t client, pid_t attached) {
  std::vector<ProcessId> others;
  const auto is_other = [attached](pid_t, pid_t child) { return child != attached; };
  for (const pid_t pid : descendants_of(client, is_other)) {
    if (const auto process = identify(pid)) others.push_back(*process);
  }
  return others;
}

}  // namespace corehold
