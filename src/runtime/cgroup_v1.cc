// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup_v1.h"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "runtime/cgroup_directory.h"
#include "runtime/family.h"
#include "sys/kernel_file.h"
#include "sys/process.h"

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

RuntimeAbilities CgroupV1::abilities() const {
  std::vector<std::string> missing;
  if (places_.cpu.empty()) {
    missing.emplace_back("there is no cpu cgroup: CPU shares and limits have no effect");
  }
  if (places_.memory.empty()) {
    missing.emplace_back("there is no memory cgroup: memory limits have no effect");
  }
  return {.confinement = "cgroup v1", .note = fmt::format("{}", fmt::join(missing, "; "))};
}

boost::json::object CgroupV1::describe() const {
  return {{"kind", "cgroup v1"},  {"cpuset", places_.cpuset},   {"cpu", places_.cpu},
          {"name", places_.name}, {"freezer", places_.freezer}, {"memory", places_.memory}};
}

std::string CgroupV1::cpuset_of(const ContainerRef& container) const {
  return fmt::format("{}/{}/{}/{}", places_.cpuset, places_.name, container.pod,
                     container.container);
}

std::string CgroupV1::cpu_of(const ContainerRef& container) const {
  return fmt::format("{}/{}/{}/{}", places_.cpu, places_.name, container.pod, container.container);
}

std::string CgroupV1::memory_of(const ContainerRef& container) const {
  return fmt::format("{}/{}/{}/{}", places_.memory, places_.name, container.pod,
                     container.container);
}

bool CgroupV1::has_memory(const ContainerRef& container) const {
  return !places_.memory.empty() && is_cgroup(memory_of(container));
}

std::string CgroupV1::freezer_of(const ContainerRef& container) const {
  return fmt::format("{}/{}/{}/{}", places_.freezer, places_.name, container.pod,
                     container.container);
}

void CgroupV1::make_freezer(const ContainerRef& container) const {
  if (places_.freezer.empty()) return;
  const std::string top = places_.freezer + "/" + places_.name;
  if (make_cgroup(top) && make_cgroup(top + "/" + container.pod)) {
    static_cast<void>(make_cgroup(freezer_of(container)));
  }
}

void CgroupV1::freeze(const ContainerRef& container) const {
  // It takes the kernel a moment; whoever is missed is frozen the next time.
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

void CgroupV1::thaw(const ContainerRef& container) const {
  if (places_.freezer.empty()) return;
  static_cast<void>(write_kernel_file(file_in(freezer_of(container), "freezer.state"), "THAWED"));
}

Result<void> CgroupV1::confine(const Body& body, const Confines& confines) const {
  const auto confined = set_cpuset(body.container, confines);
  if (!confined) {
    return wrap(setting_cpus(body.container.pod, body.container.container, confines.cpus),
                confined.error());
  }
  if (!places_.cpu.empty()) {
    const auto weighed = set_cpu(body.container, confines);
    if (!weighed) {
      return wrap(fmt::format("set CPU shares of container {} (pod {})", body.container.container,
                              body.container.pod),
                  weighed.error());
    }
  }
  make_freezer(body.container);
  auto limited = make_memory(body.container, confines.memory_limit);
  TRY(bring_back(body));
  // Last: CPUs are kept apart whatever becomes of it.
  if (limited) limited = set_memory(body.container, confines.memory_limit);
  if (limited) return {};
  return wrap(setting_memory(body.container, confines.memory_limit), limited.error());
}

Result<void> CgroupV1::set_cpuset(const ContainerRef& container, const Confines& confines) const {
  const std::string top = places_.cpuset + "/" + places_.name;
  const std::string pod = top + "/" + container.pod;
  const std::string own = cpuset_of(container);
  TRY(make_level(places_.cpuset, top));
  TRY(make_level(top, pod));
  TRY(make_cgroup(own));
  const NodeSet mems = confines.mems ? *confines.mems : TRY(read_set<NodeSet>(pod, kMems));
  TRY(change_steadily(own, kMems, mems));
  if (confines.mems) TRY(write_number(own, "cpuset.memory_migrate", 1));
  // Not confined: left as it is, but without CPUs nobody can be in there.
  if (confines.cpus.empty()) {
    if (!TRY(read_set<CpuSet>(own, kCpus)).empty()) return {};
    return change_steadily(own, kCpus, TRY(read_set<CpuSet>(pod, kCpus)));
  }
  TRY(change_steadily(own, kCpus, confines.cpus));
  return check_taken(own, confines.cpus);
}

Result<void> CgroupV1::check_taken(const std::string& cgroup, const CpuSet& cpus) const {
  const CpuSet online = TRY(read_cpus(file_in(places_.cpuset, "cpuset.effective_cpus")));
  const CpuSet taken = TRY(read_cpus(file_in(cgroup, "cpuset.effective_cpus")));
  if (!taken.empty() && taken == (cpus & online)) return {};
  return Error{Code::kIo, fmt::format("the kernel lets {} run on {} instead", cgroup, taken.str())};
}

Result<void> CgroupV1::set_cpu(const ContainerRef& container, const Confines& confines) const {
  const std::string top = places_.cpu + "/" + places_.name;
  const std::string pod = top + "/" + container.pod;
  const std::string own = cpu_of(container);
  TRY(make_cgroup(top));
  TRY(make_cgroup(pod));
  TRY(make_cgroup(own));
  TRY(write_number(own, "cpu.shares", bounded(confines.cpu_shares)));
  std::int64_t quota = -1;
  if (confines.quota_millis > 0) {
    quota = std::max(confines.quota_millis * kPeriod / 1000, kLeastQuota);
    TRY(write_number(own, "cpu.cfs_period_us", kPeriod));
  }
  TRY(write_number(own, "cpu.cfs_quota_us", quota));
  // Against other pods a pod counts as much as its containers together, and all of them
  // together against the rest of the machine as much as all its CPUs.
  std::int64_t together = 0;
  for (const std::string& sibling : children_of(pod)) together += shares_of(sibling);
  TRY(write_number(pod, "cpu.shares", bounded(together)));
  const CpuSet machine = TRY(read_cpus(file_in(places_.cpuset, "cpuset.effective_cpus")));
  return write_number(top, "cpu.shares", bounded(std::int64_t{1024} * machine.size()));
}

Result<void> CgroupV1::make_memory(const ContainerRef& container, std::int64_t limit) const {
  if (places_.memory.empty() || limit <= 0) return {};
  const std::string top = places_.memory + "/" + places_.name;
  TRY(make_cgroup(top));
  TRY(make_cgroup(top + "/" + container.pod));
  return make_cgroup(memory_of(container));
}

Result<void> CgroupV1::set_memory(const ContainerRef& container, std::int64_t limit) const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!has_memory(container)) return {};
  const std::string own = memory_of(container);
  auto set = write_number(own, "memory.limit_in_bytes", whole_pages(limit > 0 ? limit : kMost));
  if (set || !set.error().message.ends_with("EBUSY")) return set;
  // The kernel has taken away what it could.
  const auto used = read_kernel_file(file_in(own, "memory.usage_in_bytes"));
  return below_use(container,
                   {.limit = limit, .used = used ? std::strtoll(used->c_str(), nullptr, 10) : 0});
}

Result<void> CgroupV1::place(const Body& body, pid_t pid) const {
  const std::string number = std::to_string(pid);
  TRY(write_kernel_file(file_in(cpuset_of(body.container), "cgroup.procs"), number));
  if (!places_.cpu.empty()) {
    TRY(write_kernel_file(file_in(cpu_of(body.container), "cgroup.procs"), number));
  }
  if (has_memory(body.container)) {
    TRY(write_kernel_file(file_in(memory_of(body.container), "cgroup.procs"), number));
  }
  if (!places_.freezer.empty()) {
    static_cast<void>(
        write_kernel_file(file_in(freezer_of(body.container), "cgroup.procs"), number));
  }
  forget_affinity(pid);
  return {};
}

std::vector<pid_t> CgroupV1::family(const Body& body) const {
  return family_of(body, [this](const Neighbour& neighbour) {
    return processes_in(cpuset_of(neighbour.container), kThreads);
  });
}

Result<std::vector<pid_t>> CgroupV1::strays(const Body& body) const {
  const auto own = family(body);
  if (own.empty()) return own;
  std::vector<pid_t> found = outside(own, TRY(members_of(cpuset_of(body.container), kThreads)));
  if (!places_.cpu.empty()) {
    const auto weighed = outside(own, TRY(members_of(cpu_of(body.container), kThreads)));
    found.insert(found.end(), weighed.begin(), weighed.end());
  }
  if (has_memory(body.container)) {
    const auto unlimited = outside(own, TRY(members_of(memory_of(body.container), kThreads)));
    found.insert(found.end(), unlimited.begin(), unlimited.end());
  }
  return found;
}

Result<void> CgroupV1::bring_back(const Body& body) const {
  for (int tries = 0; tries < kTries; ++tries) {
    const auto found = TRY(strays(body));
    if (found.empty()) return {};
    for (const pid_t thread : found) {
      const std::string number = std::to_string(thread);
      auto moved = write_kernel_file(file_in(cpuset_of(body.container), kThreads), number);
      if (moved && !places_.cpu.empty()) {
        moved = write_kernel_file(file_in(cpu_of(body.container), kThreads), number);
      }
      if (moved && has_memory(body.container)) {
        moved = write_kernel_file(file_in(memory_of(body.container), kThreads), number);
      }
      if (moved && !places_.freezer.empty()) {
        static_cast<void>(write_kernel_file(file_in(freezer_of(body.container), kThreads), number));
      }
      if (!moved && status_of(thread)) {
        return wrap(fmt::format("bring thread {} back into container {} (pod {})", thread,
                                body.container.container, body.container.pod),
                    moved.error());
      }
    }
  }
  return {};
}

Result<Sight> CgroupV1::look(const Body& body) const {
  const std::string own = cpuset_of(body.container);
  Sight sight{.cpus = TRY(read_cpus(file_in(own, "cpuset.effective_cpus")))};
  // Who has just been born or moved by its parent is looked at twice.
  sight.strayed = !TRY(strays(body)).empty() && !TRY(strays(body)).empty();
  if (has_memory(body.container)) {
    sight.oom_kills =
        number_in(file_in(memory_of(body.container), "memory.oom_control"), "oom_kill");
  }
  return sight;
}

Result<std::set<pid_t>> CgroupV1::members(const Body& body) const {
  auto found = TRY(processes_in(cpuset_of(body.container), kThreads));
  if (!places_.cpu.empty()) found.merge(TRY(processes_in(cpu_of(body.container), kThreads)));
  if (has_memory(body.container)) {
    found.merge(TRY(processes_in(memory_of(body.container), kThreads)));
  }
  for (const pid_t pid : family(body)) found.insert(pid);
  return found;
}

Result<std::size_t> CgroupV1::kill(const Body& body) const {
  const auto there = TRY(members(body));
  if (std::all_of(there.begin(), there.end(), [](pid_t pid) { return has_ended(pid); })) {
    // One that forks and ends may have been missed in the moment between.
    const auto again = TRY(members(body));
    if (std::all_of(again.begin(), again.end(), [](pid_t pid) { return has_ended(pid); })) return 0;
  }
  // Who forks faster than we kill is stopped first; SIGKILL works when they may go on.
  freeze(body.container);
  const auto killed = kill_members([&] { return members(body); });
  thaw(body.container);
  if (!killed) return killed.error();
  return std::max<std::size_t>(*killed, 1);
}

Result<bool> CgroupV1::remove(const Body& body) const {
  if (!TRY(remove_cgroup(cpuset_of(body.container)))) return false;
  if (!places_.cpu.empty() && !TRY(remove_cgroup(cpu_of(body.container)))) return false;
  if (!places_.memory.empty() && !TRY(remove_cgroup(memory_of(body.container)))) return false;
  if (!places_.freezer.empty()) static_cast<void>(remove_cgroup(freezer_of(body.container)));
  for (const std::string& hierarchy :
       {places_.cpuset, places_.cpu, places_.freezer, places_.memory}) {
    if (hierarchy.empty()) continue;
    const std::string top = hierarchy + "/" + places_.name;
    remove_if_empty(top + "/" + body.container.pod);
    remove_if_empty(top);
  }
  return true;
}

}  // namespace corehold
