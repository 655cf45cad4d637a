// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/affinity.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/cgroup/cgroup_directory.h"
#include "runtime/cgroup/process_tree.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"
#include "sys/process/mark_reader.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

constexpr int kTries = 20;

// As sched_setaffinity(2) takes it, with room for the largest machine the kernel knows.
using Mask = std::array<unsigned char, 1024>;

Mask mask_of(const CpuSet& cpus) {
  Mask mask{};
  for (const CpuId cpu : cpus) {
    mask[static_cast<std::size_t>(cpu.value / 8)] |=
        static_cast<unsigned char>(1U << static_cast<unsigned>(cpu.value % 8));
  }
  return mask;
}

// Empty when the thread has gone.
CpuSet affinity_of(pid_t thread) {
  Mask mask{};
  CpuSet cpus;
  if (::sched_getaffinity(thread, mask.size(), reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
    return cpus;
  }
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    const unsigned byte = mask[static_cast<std::size_t>(cpu / 8)];
    if ((byte >> static_cast<unsigned>(cpu % 8) & 1U) != 0) cpus.insert(CpuId(cpu));
  }
  return cpus;
}

Result<void> set_affinity(pid_t thread, const CpuSet& cpus) {
  const Mask mask = mask_of(cpus);
  const auto* set = reinterpret_cast<const cpu_set_t*>(mask.data());
  if (::sched_setaffinity(thread, mask.size(), set) == 0 || errno == ESRCH) return {};
  return errno_error(fmt::format("set affinity of thread {} to {}", thread, cpus.str()), errno);
}

std::string record_of(const ContainerProcesses& container) {
  return container.directory + "/affinity";
}

// What was asked for last; empty: nothing, or not to be confined.
CpuSet asked_for(const ContainerProcesses& container) {
  const auto text = read_kernel_file(record_of(container));
  if (!text) return {};
  const auto cpus = CpuSet::parse(*text);
  return cpus ? *cpus : CpuSet{};
}

// Sets the wrong ones right; says how many there were.
Result<std::size_t> correct(const std::vector<pid_t>& processes, const CpuSet& cpus) {
  std::size_t wrong = 0;
  for (const pid_t process : processes) {
    for (const pid_t thread : threads_of(process)) {
      const CpuSet now = affinity_of(thread);
      if (now.empty() || now == cpus || has_thread_ended(thread)) continue;
      ++wrong;
      TRY(set_affinity(thread, cpus));
    }
  }
  return wrong;
}

struct Members {
  std::set<pid_t> pids{};
  std::vector<pid_t> unread{};  // they may be as well: MarkReader
};

Members marked(const MarkReader& reader, std::string_view with) {
  Members members;
  if (with.empty()) return members;
  MarkReader::Marks marks = reader.read(all_processes());
  for (const auto& [pid, mark] : marks.found) {
    if (mark == with) members.pids.insert(pid);
  }
  members.unread = std::move(marks.unread);
  return members;
}

std::vector<pid_t> process_tree(const MarkReader& reader, const ContainerProcesses& container) {
  return process_tree_of(container, [&](const Neighbour& neighbour) -> Result<std::set<pid_t>> {
    return marked(reader, neighbour.mark).pids;
  });
}

Members members_of(const MarkReader& reader, const ContainerProcesses& container) {
  Members members = marked(reader, container.mark);
  members.pids.erase(container.supervisor);
  for (const pid_t pid : process_tree(reader, container)) members.pids.insert(pid);
  std::erase_if(members.unread, [&](pid_t pid) {
    return pid == container.supervisor || members.pids.contains(pid) || has_ended(pid);
  });
  return members;
}

// Nobody is given the CPUs of a container of which something may be left.
Error cannot_tell(const std::vector<pid_t>& unread) {
  return {Code::kIo, fmt::format("whether it has ended cannot be told, because the kernel does not "
                                 "read the memory of {} {}; end them: kill -KILL {}",
                                 unread.size() == 1 ? "process" : "processes",
                                 fmt::join(unread, ", "), fmt::join(unread, " "))};
}

// On record first, for processes that start meanwhile.
Result<void> set_affinities(const MarkReader& reader, const ContainerProcesses& container,
                            const CpuSet& cpus) {
  TRY(replace_file(record_of(container), cpus.str()));
  if (cpus.empty() || container.supervisor <= 0) return {};
  for (int tries = 0; tries < kTries; ++tries) {
    if (TRY(correct(process_tree(reader, container), cpus)) == 0) return {};
  }
  return Error{Code::kIo, "its threads change their affinity faster than it can be set"};
}

}  // namespace

CpuSet cpus_of_process(pid_t pid) {
  CpuSet cpus;
  for (const pid_t thread : threads_of(pid)) cpus |= affinity_of(thread);
  return cpus;
}

Capabilities Affinity::capabilities() const {
  return {.confined_by = ConfinedBy::kAffinity,
          .note = fmt::format("{}: containers are kept on their CPUs by the affinity of their "
                              "threads, which they can change for up to a reconcile period; CPU "
                              "shares, limits and memory nodes have no effect",
                              reason_)};
}

boost::json::object Affinity::describe() const {
  return {{"kind", "affinity"}, {"reason", reason_}};
}

Result<void> Affinity::confine(const ContainerProcesses& container,
                               const Placement& placement) const {
  return set_cpus(container, placement.cpus);
}

Result<void> Affinity::set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const {
  const auto set = write_newest(container, cpus, [&](const CpuSet& newest) {
    return set_affinities(marks_, container, newest);
  });
  return set ? set : wrap(setting_cpus(container.ref, cpus), set.error());
}

Result<void> Affinity::place(const ContainerProcesses& container, pid_t pid) const {
  for (int tries = 0; tries < kTries; ++tries) {
    std::size_t wrong = 0;
    // Asked for each time: a monitor is told by the record alone that the CPUs have changed.
    auto corrected =
        write_newest(container, asked_for(container), [&](const CpuSet& cpus) -> Result<void> {
          if (!cpus.empty()) wrong = TRY(correct({pid}, cpus));
          return {};
        });
    if (!corrected || wrong == 0) return corrected;
  }
  return {};
}

Result<KernelView> Affinity::look(const ContainerProcesses& container) const {
  const CpuSet cpus = asked_for(container);
  KernelView view{.cpus = cpus};
  if (container.supervisor <= 0) return view;
  for (const pid_t process : process_tree(marks_, container)) {
    for (const pid_t thread : threads_of(process)) {
      if (has_thread_ended(thread)) continue;
      const CpuSet now = affinity_of(thread);
      if (cpus.empty()) {
        view.cpus |= now;
      } else if (!now.is_subset_of(cpus)) {
        view.strayed = true;
      }
    }
  }
  return view;
}

Result<std::set<pid_t>> Affinity::processes(const ContainerProcesses& container) const {
  Members members = members_of(marks_, container);
  if (members.pids.empty() && !members.unread.empty()) return cannot_tell(members.unread);
  return std::move(members.pids);
}

// Of pods: commands of `corehold run` are found by marked_containers(). A process that cannot be
// read is passed over: its monitor finds it, and whoever can make it hang could keep the agent from
// starting.
Result<std::vector<LiveContainer>> Affinity::unknown(const std::set<std::string>& known,
                                                     EmptyCgroups /*empty*/) const {
  std::map<std::string, LiveContainer> found;
  std::vector<pid_t> own = all_processes();
  std::erase_if(own, [](pid_t pid) { return !is_of_own_user(pid); });
  for (const auto& [pid, mark] : marks_.read(own).found) {
    if (mark.starts_with("run/") || known.contains(mark)) continue;
    if (pid == ::getpid() || has_ended(pid)) continue;
    LiveContainer& container = found[mark];
    container.pids.push_back(pid);
    container.cpus |= cpus_of_process(pid);
  }
  std::vector<LiveContainer> containers;
  containers.reserve(found.size());
  for (auto& [mark, container] : found) containers.push_back(std::move(container));
  return containers;
}

Result<std::size_t> Affinity::kill(const ContainerProcesses& container) const {
  std::vector<pid_t> unread;
  const std::size_t left = TRY(kill_members([&]() -> Result<std::set<pid_t>> {
    Members members = members_of(marks_, container);
    unread = std::move(members.unread);
    return std::move(members.pids);
  }));
  if (left == 0 && !unread.empty()) return cannot_tell(unread);
  return left;
}

Result<bool> Affinity::remove(const ContainerProcesses& /*container*/) const { return true; }

}  // namespace corehold
