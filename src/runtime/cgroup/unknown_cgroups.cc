// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/unknown_cgroups.h"

#include <sys/stat.h>

#include <sstream>

#include <fmt/format.h>

#include "runtime/cgroup/cgroup_directory.h"
#include "sys/file/kernel_file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

Result<LiveContainer> look_at(const CgroupTree& tree, const std::string& path) {
  LiveContainer found{.cgroup = path};
  for (const pid_t pid : TRY(processes_in(path, tree.threads))) {
    if (!has_ended(pid)) found.pids.push_back(pid);
  }
  if (const auto cpus = read_cpus(fmt::format("{}/{}", path, tree.cpus))) found.cpus = *cpus;
  return found;
}

// Whether a pod has no cgroups but known ones, by the number that the kernel keeps: most have, and
// this is looked at again and again.
bool has_only_known(const std::string& path, const std::string& pod,
                    const std::set<std::string>& known) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  const std::string begin = pod + "/";
  std::size_t count = 0;
  for (auto each = known.lower_bound(begin); each != known.end() && each->starts_with(begin);
       ++each) {
    if (is_cgroup(path + each->substr(pod.size()))) ++count;
  }
  return count > 0 && status.st_nlink == count + 2;
}

// Processes directly in the cgroup of a pod are of no container.
void look_at_pod(const CgroupTree& tree, const std::string& path,
                 std::vector<LiveContainer>& unknown) {
  const auto members = read_kernel_file(path + "/cgroup.procs");
  if (!members) return;
  LiveContainer found{.cgroup = path};
  std::istringstream numbers(*members);
  for (pid_t pid = 0; numbers >> pid;) {
    if (pid > 0 && !has_ended(pid)) found.pids.push_back(pid);
  }
  if (found.pids.empty()) {
    if (tree.remove) remove_if_empty(path);
    return;
  }
  if (const auto cpus = read_cpus(fmt::format("{}/{}", path, tree.cpus))) found.cpus = *cpus;
  unknown.push_back(std::move(found));
}

}  // namespace

Result<std::vector<LiveContainer>> unknown_cgroups(const CgroupTree& tree,
                                                   const std::set<std::string>& known) {
  std::vector<LiveContainer> unknown;
  for (const std::string& top : tree.tops) {
    const std::string around = top.empty() ? tree.base : fmt::format("{}/{}", tree.base, top);
    for (const std::string& pod : children_of(around)) {
      if (has_only_known(pod, pod.substr(tree.base.size() + 1), known)) continue;
      for (const std::string& path : children_of(pod)) {
        const std::string cgroup = path.substr(tree.base.size() + 1);
        if (known.contains(cgroup)) continue;
        LiveContainer found = TRY(look_at(tree, path));
        // The kernel does not remove a cgroup with processes, also with some that cannot be seen.
        if (found.pids.empty() && (!tree.remove || TRY(tree.remove(cgroup)))) continue;
        unknown.push_back(std::move(found));
      }
      look_at_pod(tree, pod, unknown);
    }
  }
  return unknown;
}

}  // namespace corehold
