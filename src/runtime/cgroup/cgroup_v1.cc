// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/cgroup_v1.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "runtime/cgroup/cgroup_directory.h"
#include "runtime/cgroup/process_tree.h"
#include "runtime/cgroup/unknown_cgroups.h"
#include "sys/file/kernel_file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

constexpr std::string_view kCpus = "cpuset.cpus";
constexpr std::string_view kThreads = "tasks";
constexpr std::string_view kMems = "cpuset.mems";
constexpr std::int64_t kPeriod = 100'000;  // microseconds, the kernel's default
constexpr std::int64_t kLeastQuota = 1'000;
constexpr std::int64_t kMostShares = 262'144;
constexpr int kTries = 5;

std::string file_in(const std::string& cgroup, std::string_view file) {
  return fmt::format("{}/{}", cgroup, file);
}

template <typename Set>
Result<Set> read_set(const std::string& cgroup, std::string_view file) {
  if constexpr (std::is_same_v<Set, CpuSet>) {
    return read_cpus(file_in(cgroup, file));
  } else {
    return read_nodes(file_in(cgroup, file));
  }
}

// Changes a set in one cgroup and in those below it: one that had all of its parent's gets
// all of it again, another keeps what it may of its own choice.
// NOLINTNEXTLINE(misc-no-recursion): as deep as cgroups are nested
template <typename Set>
Result<void> change(const std::string& cgroup, std::string_view file, const Set& wanted) {
  const Set now = TRY(read_set<Set>(cgroup, file));
  const auto children = children_of(cgroup);
  Set held = now;
  if (!children.empty() && !wanted.is_subset_of(now)) {
    held = now | wanted;
    TRY(write_kernel_file(file_in(cgroup, file), held.str()));
  }
  for (const std::string& child : children) {
    const auto own = read_set<Set>(child, file);
    if (!own && own.error().code == Code::kNotFound) continue;
    if (!own) return own.error();
    if (own->empty()) continue;
    const Set kept = *own & wanted;
    TRY(change(child, file, *own == now || kept.empty() ? wanted : kept));
  }
  if (held == wanted) return {};
  return write_kernel_file(file_in(cgroup, file), wanted.str());
}

// A container may make cpusets while ours is being changed; the kernel then refuses.
template <typename Set>
Result<void> change_steadily(const std::string& cgroup, std::string_view file, const Set& wanted) {
  Result<void> changed;
  for (int tries = 0; tries < kTries; ++tries) {
    changed = change(cgroup, file, wanted);
    if (changed) break;
  }
  return changed;
}

// Gives a cgroup between the top and the container all that its parent has. Only grows:
// the kernel itself takes away what has gone offline.
template <typename Set>
Result<void> follow_parent(const std::string& parent, const std::string& cgroup,
                           std::string_view file) {
  const Set all = TRY(read_set<Set>(parent, file));
  const Set now = TRY(read_set<Set>(cgroup, file));
  if (all == now) return {};
  return write_kernel_file(file_in(cgroup, file), (all | now).str());
}

Result<void> make_level(const std::string& parent, const std::string& cgroup) {
  TRY(make_cgroup(cgroup));
  TRY(follow_parent<NodeSet>(parent, cgroup, kMems));
  return follow_parent<CpuSet>(parent, cgroup, kCpus);
}

std::int64_t shares_of(const std::string& cgroup) {
  const auto text = read_kernel_file(file_in(cgroup, "cpu.shares"));
  return text ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

Result<void> write_number(const std::string& cgroup, std::string_view file, std::int64_t number) {
  const std::string path = file_in(cgroup, file);
  const std::string text = std::to_string(number);
  const auto now = read_kernel_file(path);
  if (now && *now == text) return {};
  return write_kernel_file(path, text);
}

std::int64_t bounded(std::int64_t shares) {
  return std::clamp<std::int64_t>(shares, 2, kMostShares);
}

}  // namespace

Capabilities CgroupV1::capabilities() const {
  std::vector<std::string> missing;
  if (places_.cpu.empty()) {
    missing.emplace_back("there is no cpu cgroup: CPU shares and limits have no effect");
  }
  if (places_.memory.empty()) {
    missing.emplace_back("there is no memory cgroup: memory limits have no effect");
  }
  return {.confined_by = ConfinedBy::kCgroupV1,
          .note = fmt::format("{}", fmt::join(missing, "; "))};
}

boost::json::object CgroupV1::describe() const {
  return {{"kind", "cgroup v1"},  {"cpuset", places_.cpuset},   {"cpu", places_.cpu},
          {"name", places_.name}, {"freezer", places_.freezer}, {"memory", places_.memory}};
}

std::string CgroupV1::path_in(const std::string& hierarchy, const std::string& cgroup) const {
  return fmt::format("{}/{}/{}", hierarchy, places_.name, cgroup);
}

Result<void> CgroupV1::make_levels(const std::string& hierarchy, const std::string& cgroup) const {
  const std::scoped_lock held(levels_);
  TRY(make_cgroup(hierarchy + "/" + places_.name));
  for (const std::string& level : levels_above(cgroup)) {
    TRY(make_cgroup(path_in(hierarchy, level)));
  }
  return make_cgroup(path_in(hierarchy, cgroup));
}

bool CgroupV1::has_memory(const ContainerProcesses& container) const {
  return !places_.memory.empty() && is_cgroup(memory_of(container));
}

void CgroupV1::make_freezer(const ContainerProcesses& container) const {
  if (!places_.freezer.empty()) static_cast<void>(make_levels(places_.freezer, container.cgroup));
}

void CgroupV1::freeze(const ContainerProcesses& container) const {
  // It takes the kernel a moment; a process that is missed is frozen the next time.
  constexpr int kLooks = 10;
  if (places_.freezer.empty()) return;
  const std::string path = file_in(freezer_of(container), "freezer.state");
  if (!write_kernel_file(path, "FROZEN")) return;
  for (int looks = 0; looks < kLooks; ++looks) {
    const auto now = read_kernel_file(path);
    if (!now || *now == "FROZEN") return;
    ::sched_yield();
  }
}

void CgroupV1::thaw(const ContainerProcesses& container) const {
  if (places_.freezer.empty()) return;
  static_cast<void>(write_kernel_file(file_in(freezer_of(container), "freezer.state"), "THAWED"));
}

Result<void> CgroupV1::confine(const ContainerProcesses& container,
                               const Placement& placement) const {
  const auto confined =
      write_newest(container, placement.cpus, [&](const CpuSet& newest) -> Result<void> {
        TRY(make_cpuset(container));
        TRY(set_mems(container, placement.mems));
        return set_cpuset(container, newest);
      });
  if (!confined) return wrap(setting_cpus(container.ref, placement.cpus), confined.error());
  if (!places_.cpu.empty()) {
    const auto weighed = set_cpu(container, placement.limits);
    if (!weighed) {
      return wrap(fmt::format("set CPU shares of container {} (pod {})", container.ref.container,
                              container.ref.pod),
                  weighed.error());
    }
    give_realtime(container, placement);
  }
  make_freezer(container);
  auto limited = make_memory(container, placement.limits.memory_limit);
  TRY(bring_back(container));
  // Last: CPUs are kept apart whatever becomes of it.
  if (limited) limited = set_memory(container, placement.limits.memory_limit);
  if (limited) return {};
  return wrap(setting_memory(container.ref, placement.limits.memory_limit), limited.error());
}

Result<void> CgroupV1::set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const {
  const auto set = write_newest(container, cpus, [&](const CpuSet& newest) -> Result<void> {
    TRY(make_cpuset(container));
    if (TRY(read_set<NodeSet>(cpuset_of(container), kMems)).empty()) {
      TRY(set_mems(container, std::nullopt));
    }
    return set_cpuset(container, newest);
  });
  if (!set) return wrap(setting_cpus(container.ref, cpus), set.error());
  return bring_back(container);
}

Result<void> CgroupV1::make_cpuset(const ContainerProcesses& container) const {
  const std::scoped_lock held(levels_);
  std::string around = places_.cpuset + "/" + places_.name;
  TRY(make_level(places_.cpuset, around));
  for (const std::string& level : levels_above(container.cgroup)) {
    const std::string path = path_in(places_.cpuset, level);
    TRY(make_level(around, path));
    around = path;
  }
  return make_cgroup(cpuset_of(container));
}

Result<void> CgroupV1::set_mems(const ContainerProcesses& container,
                                const std::optional<NodeSet>& mems) const {
  const std::string own = cpuset_of(container);
  const std::string around = own.substr(0, own.rfind('/'));
  TRY(change_steadily(own, kMems, mems ? *mems : TRY(read_set<NodeSet>(around, kMems))));
  if (!mems) return {};
  return write_number(own, "cpuset.memory_migrate", 1);
}

Result<void> CgroupV1::set_cpuset(const ContainerProcesses& container, const CpuSet& cpus) const {
  const std::string own = cpuset_of(container);
  // Not confined: left as it is, but a cpuset without CPUs takes no process.
  if (cpus.empty()) {
    if (!TRY(read_set<CpuSet>(own, kCpus)).empty()) return {};
    return change_steadily(own, kCpus, TRY(read_set<CpuSet>(own.substr(0, own.rfind('/')), kCpus)));
  }
  TRY(change_steadily(own, kCpus, cpus));
  return check_taken(own, cpus);
}

Result<void> CgroupV1::check_taken(const std::string& cgroup, const CpuSet& cpus) const {
  const CpuSet online = TRY(read_cpus(file_in(places_.cpuset, "cpuset.effective_cpus")));
  const CpuSet taken = TRY(read_cpus(file_in(cgroup, "cpuset.effective_cpus")));
  if (!taken.empty() && taken == (cpus & online)) return {};
  return Error{Code::kIo, fmt::format("the kernel lets {} run on {} instead", cgroup, taken.str())};
}

Result<void> CgroupV1::set_cpu(const ContainerProcesses& container, const Limits& limits) const {
  const std::string own = cpu_of(container);
  TRY(make_levels(places_.cpu, container.cgroup));
  TRY(write_number(own, "cpu.shares", bounded(limits.cpu_shares)));
  std::int64_t quota = -1;
  if (limits.quota > 0) {
    quota = std::max(limits.quota * kPeriod / 1000, kLeastQuota);
    TRY(write_number(own, "cpu.cfs_period_us", kPeriod));
  }
  TRY(write_number(own, "cpu.cfs_quota_us", quota));
  // The cgroup around it counts as much as all that is directly in there, and those further out
  // count against the rest of the machine as much as all its CPUs.
  auto levels = levels_above(container.cgroup);
  if (!levels.empty()) {
    const std::string around = path_in(places_.cpu, levels.back());
    std::int64_t together = 0;
    for (const std::string& sibling : children_of(around)) together += shares_of(sibling);
    TRY(write_number(around, "cpu.shares", bounded(together)));
    levels.pop_back();
  }
  const CpuSet machine = TRY(read_cpus(file_in(places_.cpuset, "cpuset.effective_cpus")));
  const std::int64_t all = bounded(std::int64_t{1024} * machine.size());
  for (const std::string& level : levels) {
    TRY(write_number(path_in(places_.cpu, level), "cpu.shares", all));
  }
  return write_number(places_.cpu + "/" + places_.name, "cpu.shares", all);
}

void CgroupV1::give_realtime(const ContainerProcesses& container,
                             const Placement& placement) const {
  const bool own = placement.owner == CpuOwner::kContainer && !placement.cpus.empty();
  const std::scoped_lock held(levels_);
  realtime_.give(container.cgroup, own ? RealtimeShare::kOwnCpus : RealtimeShare::kSharedCpus);
}

void CgroupV1::take_realtime(const ContainerProcesses& container) const {
  const std::scoped_lock held(levels_);
  realtime_.take_back(container.cgroup);
}

Result<void> CgroupV1::make_memory(const ContainerProcesses& container, std::int64_t limit) const {
  if (places_.memory.empty() || limit <= 0) return {};
  return make_levels(places_.memory, container.cgroup);
}

Result<void> CgroupV1::set_memory(const ContainerProcesses& container, std::int64_t limit) const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!has_memory(container)) return {};
  const std::string own = memory_of(container);
  auto set = write_number(own, "memory.limit_in_bytes", whole_pages(limit > 0 ? limit : kMost));
  if (set || set.error().number != EBUSY) return set;
  // The kernel has taken away what it could.
  const auto used = read_kernel_file(file_in(own, "memory.usage_in_bytes"));
  return below_use(container.ref,
                   {.limit = limit, .used = used ? std::strtoll(used->c_str(), nullptr, 10) : 0});
}

Result<void> CgroupV1::place(const ContainerProcesses& container, pid_t pid) const {
  const std::string number = std::to_string(pid);
  TRY(write_kernel_file(file_in(cpuset_of(container), "cgroup.procs"), number));
  if (!places_.cpu.empty()) {
    TRY(write_kernel_file(file_in(cpu_of(container), "cgroup.procs"), number));
  }
  if (has_memory(container)) {
    TRY(write_kernel_file(file_in(memory_of(container), "cgroup.procs"), number));
  }
  if (!places_.freezer.empty()) {
    static_cast<void>(write_kernel_file(file_in(freezer_of(container), "cgroup.procs"), number));
  }
  forget_affinity(pid);
  return {};
}

std::vector<pid_t> CgroupV1::process_tree(const ContainerProcesses& container) const {
  return process_tree_of(container, [this](const Neighbour& neighbour) {
    return processes_in(path_in(places_.cpuset, neighbour.cgroup), kThreads);
  });
}

Result<std::vector<pid_t>> CgroupV1::strays(const ContainerProcesses& container) const {
  const auto own = process_tree(container);
  if (own.empty()) return own;
  std::vector<pid_t> found = outside(own, TRY(members_of(cpuset_of(container), kThreads)));
  if (!places_.cpu.empty()) {
    const auto weighed = outside(own, TRY(members_of(cpu_of(container), kThreads)));
    found.insert(found.end(), weighed.begin(), weighed.end());
  }
  if (has_memory(container)) {
    const auto unlimited = outside(own, TRY(members_of(memory_of(container), kThreads)));
    found.insert(found.end(), unlimited.begin(), unlimited.end());
  }
  return found;
}

Result<void> CgroupV1::bring_back(const ContainerProcesses& container) const {
  for (int tries = 0; tries < kTries; ++tries) {
    const auto found = TRY(strays(container));
    if (found.empty()) return {};
    for (const pid_t thread : found) {
      const std::string number = std::to_string(thread);
      auto moved = write_kernel_file(file_in(cpuset_of(container), kThreads), number);
      if (moved && !places_.cpu.empty()) {
        moved = write_kernel_file(file_in(cpu_of(container), kThreads), number);
      }
      if (moved && has_memory(container)) {
        moved = write_kernel_file(file_in(memory_of(container), kThreads), number);
      }
      if (moved && !places_.freezer.empty()) {
        static_cast<void>(write_kernel_file(file_in(freezer_of(container), kThreads), number));
      }
      if (!moved && status_of(thread)) {
        return wrap(fmt::format("bring thread {} back into container {} (pod {})", thread,
                                container.ref.container, container.ref.pod),
                    moved.error());
      }
    }
  }
  return {};
}

Result<KernelView> CgroupV1::look(const ContainerProcesses& container) const {
  const std::string own = cpuset_of(container);
  KernelView view{.cpus = TRY(read_cpus(file_in(own, "cpuset.effective_cpus")))};
  // Twice: a process may have been created a moment ago, and its parent is about to move it.
  view.strayed = !TRY(strays(container)).empty() && !TRY(strays(container)).empty();
  if (has_memory(container)) {
    view.oom_kills = number_in(file_in(memory_of(container), "memory.oom_control"), "oom_kill");
  }
  return view;
}

Result<std::set<pid_t>> CgroupV1::processes(const ContainerProcesses& container) const {
  auto found = TRY(processes_in(cpuset_of(container), kThreads));
  if (!places_.cpu.empty()) found.merge(TRY(processes_in(cpu_of(container), kThreads)));
  if (has_memory(container)) {
    found.merge(TRY(processes_in(memory_of(container), kThreads)));
  }
  for (const pid_t pid : process_tree(container)) found.insert(pid);
  return found;
}

Result<std::vector<LiveContainer>> CgroupV1::unknown(const std::set<std::string>& known,
                                                     EmptyCgroups empty) const {
  std::function<Result<bool>(const std::string&)> remove_empty;
  if (empty == EmptyCgroups::kRemoved) {
    remove_empty = [this](const std::string& cgroup) { return remove({.cgroup = cgroup}); };
  }
  return unknown_cgroups({.base = places_.cpuset + "/" + places_.name,
                          .tops = {""},
                          .threads = std::string(kThreads),
                          .cpus = "cpuset.effective_cpus",
                          .remove = std::move(remove_empty)},
                         known);
}

Result<std::size_t> CgroupV1::kill(const ContainerProcesses& container) const {
  // Those that are elsewhere follow when these have become few.
  const auto many = [&] { return many_processes_in(cpuset_of(container)); };
  if (!TRY(many()).empty()) {
    freeze(container);
    auto killed = kill_members(many);
    thaw(container);
    if (!killed || *killed > 0) return killed;
  }
  const auto there = TRY(processes(container));
  if (std::all_of(there.begin(), there.end(), [](pid_t pid) { return has_ended(pid); })) {
    // One that forks and ends may have been missed in the moment between.
    const auto again = TRY(processes(container));
    if (std::all_of(again.begin(), again.end(), [](pid_t pid) { return has_ended(pid); })) return 0;
  }
  // Processes that fork faster than they are killed are frozen first; SIGKILL works once they thaw.
  freeze(container);
  const auto killed = kill_members([&] { return processes(container); });
  thaw(container);
  if (!killed) return killed.error();
  return std::max<std::size_t>(*killed, 1);
}

Result<bool> CgroupV1::remove(const ContainerProcesses& container) const {
  if (!TRY(remove_cgroup(cpuset_of(container)))) return false;
  if (!places_.cpu.empty()) {
    take_realtime(container);
    if (!TRY(remove_cgroup(cpu_of(container)))) return false;
  }
  if (!places_.memory.empty() && !TRY(remove_cgroup(memory_of(container)))) return false;
  if (!places_.freezer.empty()) static_cast<void>(remove_cgroup(freezer_of(container)));
  const auto levels = levels_above(container.cgroup);
  const std::scoped_lock held(levels_);
  for (const std::string& hierarchy :
       {places_.cpuset, places_.cpu, places_.freezer, places_.memory}) {
    if (hierarchy.empty()) continue;
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
      remove_if_empty(path_in(hierarchy, *level));
    }
    remove_if_empty(hierarchy + "/" + places_.name);
  }
  realtime_.divide_again();
  return true;
}

}  // namespace corehold
