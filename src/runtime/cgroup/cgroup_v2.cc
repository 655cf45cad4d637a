// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/cgroup_v2.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "runtime/cgroup/cgroup_directory.h"
#include "runtime/cgroup/partition.h"
#include "runtime/cgroup/process_tree.h"
#include "runtime/cgroup/unknown_cgroups.h"
#include "sys/file/kernel_file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

constexpr std::string_view kThreads = "cgroup.threads";
constexpr std::int64_t kPeriod = 100'000;  // microseconds, the kernel's default
constexpr std::int64_t kLeastQuota = 1'000;
constexpr std::int64_t kMostWeight = 10'000;
constexpr int kTries = 5;

std::string file_in(const std::string& cgroup, std::string_view file) {
  return fmt::format("{}/{}", cgroup, file);
}

bool has_word(std::string_view text, std::string_view word) {
  const std::string padded = fmt::format(" {} ", text);
  return padded.find(fmt::format(" {} ", word)) != std::string::npos;
}

// Writes only what is not so already: every write makes the kernel walk all tasks.
Result<void> write_changed(const std::string& path, std::string_view text) {
  const auto now = read_kernel_file(path);
  if (now && *now == text) return {};
  // The kernel takes an empty line for "nothing", and nothing for nothing at all.
  return write_kernel_file(path, text.empty() ? "\n" : text);
}

// Whether anything runs in a cgroup or below it; a cgroup that does not exist is empty.
Result<bool> is_populated(const std::string& cgroup) {
  const auto events = read_kernel_file(file_in(cgroup, "cgroup.events"));
  if (events) return events->find("populated 1") != std::string::npos;
  if (events.error().code == Code::kNotFound) return false;
  return events.error();
}

std::int64_t weight_of(const std::string& cgroup) {
  const auto text = read_kernel_file(file_in(cgroup, "cpu.weight"));
  return text ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

// What the kernel cannot take from a cgroup without killing: all but the files it has cached.
std::int64_t kept_memory(const std::string& cgroup) {
  const auto current = read_kernel_file(file_in(cgroup, "memory.current"));
  if (!current) return 0;
  const std::string stat = file_in(cgroup, "memory.stat");
  return std::strtoll(current->c_str(), nullptr, 10) - number_in(stat, "active_file") -
         number_in(stat, "inactive_file");
}

}  // namespace

CgroupV2::CgroupV2(Places places)
    : places_(std::move(places)), has_partitions_(corehold::has_partitions(places_.mount)) {}

Capabilities CgroupV2::capabilities() const {
  std::vector<std::string> missing;
  if (!places_.has_cpu) {
    missing.emplace_back("no cpu controller: CPU weights and limits have no effect");
  }
  if (!places_.has_memory) {
    missing.emplace_back("no memory controller: memory limits have no effect");
  }
  Capabilities capabilities{.confined_by = ConfinedBy::kCgroupV2,
                            .has_partitions = has_partitions_};
  if (!missing.empty()) {
    capabilities.note = fmt::format("{} has {}", places_.base, fmt::join(missing, "; and "));
  }
  return capabilities;
}

boost::json::object CgroupV2::describe() const {
  return {{"kind", "cgroup v2"},       {"mount", places_.mount},
          {"base", places_.base},      {"delegated", places_.delegated},
          {"hasCpu", places_.has_cpu}, {"hasMemory", places_.has_memory}};
}

std::string CgroupV2::path_of(const std::string& cgroup) const {
  return fmt::format("{}/{}", places_.base, cgroup);
}

Result<void> CgroupV2::hand_down(const std::string& cgroup) const {
  const std::string path = file_in(cgroup, "cgroup.subtree_control");
  const std::string now = TRY(read_kernel_file(path));
  for (const std::string_view controller : {"cpuset", "cpu", "memory"}) {
    if (controller == "cpu" && !places_.has_cpu) continue;
    if (controller == "memory" && !places_.has_memory) continue;
    if (has_word(now, controller)) continue;
    TRY(write_kernel_file(path, fmt::format("+{}", controller)));
  }
  return {};
}

Result<void> CgroupV2::make_levels(const std::string& cgroup) const {
  const std::scoped_lock held(levels_);
  if (!places_.delegated) {
    TRY(hand_down(places_.mount));
    TRY(make_cgroup(places_.base));
  }
  auto handed = hand_down(places_.base);
  if (!handed && places_.delegated && !places_.given) {
    const std::string leaf = places_.base + "/agent";
    TRY(make_cgroup(leaf));
    TRY(write_kernel_file(file_in(leaf, "cgroup.procs"), std::to_string(::getpid())));
    handed = hand_down(places_.base);
  }
  if (!handed) return handed.error();
  for (const std::string& level : levels_above(cgroup)) {
    TRY(make_cgroup(path_of(level)));
    TRY(hand_down(path_of(level)));
  }
  return make_cgroup(path_of(cgroup));
}

Result<void> CgroupV2::set_own_cpus(const std::string& cgroup, const CpuSet& cpus) const {
  TRY(write_changed(file_in(cgroup, "cpuset.cpus"), cpus.str()));
  return check_cpus(cgroup, cpus);
}

Result<CpuSet> CgroupV2::online() const {
  CpuSet cpus = TRY(read_cpus(file_in(places_.mount, "cpuset.cpus.effective")));
  // CPUs of partitions are not the root's any more.
  if (const auto apart = read_cpus(file_in(places_.mount, "cpuset.cpus.isolated"))) cpus |= *apart;
  return cpus;
}

Result<void> CgroupV2::check_cpus(const std::string& cgroup, const CpuSet& cpus) const {
  const CpuSet online = TRY(this->online());
  const CpuSet taken = TRY(read_cpus(file_in(cgroup, "cpuset.cpus.effective")));
  if (!taken.empty() && taken == (cpus & online)) return {};
  return Error{Code::kIo, fmt::format("the kernel lets {} run on {} instead", cgroup, taken.str())};
}

// Takes away CPUs that a cgroup was given by others, so that it has those of its parent.
Result<void> CgroupV2::inherit_cpus(const std::string& cgroup, const std::string& parent) const {
  auto inherits = write_changed(file_in(cgroup, "cpuset.cpus"), "");
  // The kernel takes no CPUs away from a cgroup with processes in it; all CPUs say the same.
  if (!inherits && inherits.error().number == ENOSPC) {
    const CpuSet online = TRY(this->online());
    inherits = write_changed(file_in(cgroup, "cpuset.cpus"), online.str());
  }
  if (!inherits) return inherits;
  const CpuSet wanted = TRY(read_cpus(file_in(parent, "cpuset.cpus.effective")));
  const CpuSet taken = TRY(read_cpus(file_in(cgroup, "cpuset.cpus.effective")));
  if (taken == wanted) return {};
  return Error{Code::kIo, fmt::format("the kernel lets {} run on {} instead", cgroup, taken.str())};
}

Result<void> CgroupV2::set_cpuset(const ContainerProcesses& container, const CpuSet& cpus) const {
  if (cpus.empty()) return {};
  const std::string own = path_of(container.cgroup);
  if (container.shared_parent.empty()) return set_own_cpus(own, cpus);
  const std::string parent = path_of(container.shared_parent);
  const auto join = [&](const CpuSet& shared) -> Result<void> {
    TRY(set_own_cpus(parent, shared));
    return inherit_cpus(own, parent);
  };
  return container.shared_cpus ? container.shared_cpus->use(cpus, join) : join(cpus);
}

Result<void> CgroupV2::set_cpu(const std::string& cgroup, const Limits& limits) const {
  const std::string own = path_of(cgroup);
  TRY(write_changed(file_in(own, "cpu.weight"), std::to_string(cpu_weight(limits.cpu_shares))));
  const std::string quota =
      limits.quota > 0 ? std::to_string(std::max(limits.quota * kPeriod / 1000, kLeastQuota))
                       : "max";
  TRY(write_changed(file_in(own, "cpu.max"), fmt::format("{} {}", quota, kPeriod)));
  // The cgroup around it counts as much as all that is directly in there, and those further out
  // count against the rest of the machine as much as all its CPUs.
  auto levels = levels_above(cgroup);
  if (!levels.empty()) {
    const std::string around = path_of(levels.back());
    std::int64_t together = 0;
    for (const std::string& sibling : children_of(around)) together += weight_of(sibling);
    TRY(write_changed(file_in(around, "cpu.weight"),
                      std::to_string(std::clamp<std::int64_t>(together, 1, kMostWeight))));
    levels.pop_back();
  }
  const CpuSet machine = TRY(online());
  const std::string all = std::to_string(cpu_weight(std::int64_t{1024} * machine.size()));
  if (!places_.delegated) TRY(write_changed(file_in(places_.base, "cpu.weight"), all));
  for (const std::string& level : levels) {
    TRY(write_changed(file_in(path_of(level), "cpu.weight"), all));
  }
  return {};
}

Result<void> CgroupV2::set_memory(const ContainerProcesses& container, std::int64_t limit) const {
  const std::string own = path_of(container.cgroup);
  // As a kubelet has it: a container that is out of memory ends as a whole.
  TRY(write_changed(file_in(own, "memory.oom.group"), limit > 0 ? "1" : "0"));
  const std::string path = file_in(own, "memory.max");
  const std::string wanted = limit > 0 ? std::to_string(whole_pages(limit)) : "max";
  if (TRY(read_kernel_file(path)) == wanted) return {};
  // Of one that runs the kernel would kill what it cannot take away. What an earlier attempt has
  // left it may take.
  if (limit > 0 && container.supervisor > 0) {
    const std::int64_t used = kept_memory(own);
    if (used >= limit) return below_use(container.ref, {.limit = limit, .used = used});
  }
  return write_kernel_file(path, wanted);
}

Result<void> CgroupV2::confine(const ContainerProcesses& container,
                               const Placement& placement) const {
  auto confined = make_levels(container.cgroup);
  if (confined) {
    confined = write_changed(file_in(path_of(container.cgroup), "cpuset.mems"),
                             placement.mems ? placement.mems->str() : "");
  }
  if (confined) confined = leave_partition(container, placement);
  if (confined) {
    confined = write_newest(container, placement.cpus,
                            [&](const CpuSet& newest) { return set_cpuset(container, newest); });
  }
  if (!confined) return wrap(setting_cpus(container.ref, placement.cpus), confined.error());
  if (places_.has_cpu) {
    const auto weighed = set_cpu(container.cgroup, placement.limits);
    if (!weighed) {
      return wrap(fmt::format("set CPU weight of container {} (pod {})", container.ref.container,
                              container.ref.pod),
                  weighed.error());
    }
  }
  TRY(bring_back(container));
  // Last: CPUs are kept apart whatever becomes of these.
  const auto parted = join_partition(container, placement);
  const bool is_plain = !parted && parted.error().code == Code::kUnsupported;
  if (!parted && !is_plain) {
    return wrap(setting_cpus(container.ref, placement.cpus), parted.error());
  }
  if (places_.has_memory) {
    const auto limited = set_memory(container, placement.limits.memory_limit);
    if (!limited) {
      return wrap(setting_memory(container.ref, placement.limits.memory_limit), limited.error());
    }
  }
  if (is_plain) return wrap(setting_cpus(container.ref, placement.cpus), parted.error());
  return {};
}

Result<void> CgroupV2::leave_partition(const ContainerProcesses& container,
                                       const Placement& placement) const {
  const std::string own = path_of(container.cgroup);
  if (read_partition(own).kind == PartitionView::Kind::kMember) return {};
  const std::scoped_lock held(levels_);
  const bool stays = placement.limits.partition == CpuPartition::kIsolated;
  if (!stays) return end_partition(places_.mount, own);
  // The CPUs of a partition that is valid change together with what is exclusive.
  auto set = set_partition(places_.mount, own, placement.cpus);
  // Invalid: it is tried again at the end, and the CPUs are set as those of any other cgroup.
  if (!set && set.error().code == Code::kUnsupported) return {};
  return set;
}

Result<void> CgroupV2::join_partition(const ContainerProcesses& container,
                                      const Placement& placement) const {
  if (placement.limits.partition != CpuPartition::kIsolated || placement.cpus.empty()) return {};
  const std::scoped_lock held(levels_);
  auto set = set_partition(places_.mount, path_of(container.cgroup), placement.cpus);
  if (!set && set.error().code != Code::kUnsupported) return set;
  TRY(check_cpus(path_of(container.cgroup), placement.cpus));
  return set;
}

Result<void> CgroupV2::set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const {
  const auto set = write_newest(container, cpus, [&](const CpuSet& newest) -> Result<void> {
    TRY(make_levels(container.cgroup));
    return set_cpuset(container, newest);
  });
  if (!set) return wrap(setting_cpus(container.ref, cpus), set.error());
  return bring_back(container);
}

Result<void> CgroupV2::join(const std::string& cgroup, pid_t pid) const {
  const std::string number = std::to_string(pid);
  auto joined = write_kernel_file(file_in(cgroup, "cgroup.procs"), number);
  if (joined || joined.error().number != EBUSY) return joined;
  // The container has handed controllers down itself; only a leaf takes processes then.
  const std::string leaf = cgroup + "/corehold-returned";
  TRY(make_cgroup(leaf));
  return write_kernel_file(file_in(leaf, "cgroup.procs"), number);
}

Result<void> CgroupV2::place(const ContainerProcesses& container, pid_t pid) const {
  TRY(join(path_of(container.cgroup), pid));
  forget_affinity(pid);
  return {};
}

std::vector<pid_t> CgroupV2::process_tree(const ContainerProcesses& container) const {
  return process_tree_of(container, [this](const Neighbour& neighbour) {
    return processes_in(path_of(neighbour.cgroup), kThreads);
  });
}

Result<std::vector<pid_t>> CgroupV2::strays(const ContainerProcesses& container) const {
  auto found = process_tree(container);
  if (found.empty()) return found;
  const auto members = TRY(processes_in(path_of(container.cgroup), kThreads));
  std::erase_if(found, [&](pid_t pid) { return members.contains(pid); });
  return found;
}

Result<void> CgroupV2::bring_back(const ContainerProcesses& container) const {
  for (int tries = 0; tries < kTries; ++tries) {
    const auto found = TRY(strays(container));
    if (found.empty()) return {};
    for (const pid_t pid : found) {
      const auto moved = join(path_of(container.cgroup), pid);
      if (!moved && status_of(pid)) {
        return wrap(fmt::format("bring process {} back into container {} (pod {})", pid,
                                container.ref.container, container.ref.pod),
                    moved.error());
      }
    }
  }
  return {};
}

Result<KernelView> CgroupV2::look(const ContainerProcesses& container) const {
  KernelView view{.cpus =
                      TRY(read_cpus(file_in(path_of(container.cgroup), "cpuset.cpus.effective")))};
  if (has_partitions_) view.partition = read_partition(path_of(container.cgroup)).text;
  // Twice: a process may have been created a moment ago, and its parent is about to move it.
  view.strayed = !TRY(strays(container)).empty() && !TRY(strays(container)).empty();
  if (places_.has_memory) {
    view.oom_kills = number_in(file_in(path_of(container.cgroup), "memory.events"), "oom_kill");
  }
  return view;
}

std::string CgroupV2::watched(const ContainerProcesses& container) const {
  const std::string own = path_of(container.cgroup);
  if (read_partition(own).kind == PartitionView::Kind::kMember) return {};
  return partition_file(own);
}

Result<std::set<pid_t>> CgroupV2::processes(const ContainerProcesses& container) const {
  auto members = TRY(processes_in(path_of(container.cgroup), kThreads));
  for (const pid_t pid : process_tree(container)) members.insert(pid);
  return members;
}

// Beside the cgroups of containers there are those of the agent and of `corehold hold`.
Result<std::vector<LiveContainer>> CgroupV2::unknown(const std::set<std::string>& known,
                                                     EmptyCgroups empty) const {
  std::function<Result<bool>(const std::string&)> remove_empty;
  if (empty == EmptyCgroups::kRemoved) {
    remove_empty = [this](const std::string& cgroup) { return remove({.cgroup = cgroup}); };
  }
  return unknown_cgroups({.base = places_.base,
                          .tops = {"pods", "shared"},
                          .threads = std::string(kThreads),
                          .cpus = "cpuset.cpus.effective",
                          .remove = std::move(remove_empty)},
                         known);
}

Result<std::size_t> CgroupV2::kill(const ContainerProcesses& container) const {
  const std::string own = path_of(container.cgroup);
  // Kills also processes that fork faster than they are found; since Linux 5.14.
  if (is_cgroup(own)) static_cast<void>(write_kernel_file(file_in(own, "cgroup.kill"), "1"));
  // Those that are elsewhere follow when these have become few.
  const auto many = [&] { return many_processes_in(own); };
  if (const std::size_t killed = TRY(kill_members(many)); killed > 0) return killed;
  const std::size_t found = TRY(kill_members([&] { return processes(container); }));
  // A process of another PID namespace has no number here.
  return std::max<std::size_t>(found, TRY(is_populated(own)) ? 1 : 0);
}

Result<bool> CgroupV2::remove(const ContainerProcesses& container) const {
  if (!TRY(remove_cgroup(path_of(container.cgroup)))) return false;
  const auto levels = levels_above(container.cgroup);
  const std::scoped_lock held(levels_);
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    remove_if_empty(path_of(*level));
  }
  if (has_partitions_) forget_partition(places_.mount, path_of(container.cgroup));
  if (!places_.delegated) remove_if_empty(places_.base);
  return true;
}

}  // namespace corehold
