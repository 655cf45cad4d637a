// SPDX-License-Identifier: Apache-2.0
#include "runtime/affinity.h"

#include <sched.h>

#include <array>
#include <cerrno>
#include <set>

#include <fmt/format.h>

#include "runtime/cgroup_directory.h"
#include "runtime/family.h"
#include "sys/container_mark.h"
#include "sys/file.h"
#include "sys/kernel_file.h"
#include "sys/process.h"

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
  return Error{Code::kIo, fmt::format("set affinity of thread {} to {}: {}", thread, cpus.str(),
                                      errno_name(errno))};
}

std::string record_of(const Body& body) { return body.directory + "/affinity"; }

// What was asked for last; empty: nothing, or not to be confined.
CpuSet asked_for(const Body& body) {
  const auto text = read_kernel_file(record_of(body));
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

std::set<pid_t> marked(std::string_view with) {
  const std::string mark = fmt::format("{}={}", kContainerVariable, with);
  std::set<pid_t> found;
  if (with.empty()) return found;
  for (const pid_t pid : all_processes()) {
    const auto environment = read_kernel_file(fmt::format("/proc/{}/environ", pid));
    if (!environment) continue;
    const std::size_t at = environment->find(mark);
    if (at == std::string::npos || (at > 0 && (*environment)[at - 1] != '\0')) continue;
    const std::size_t end = at + mark.size();
    if (end == environment->size() || (*environment)[end] == '\0') found.insert(pid);
  }
  return found;
}

std::vector<pid_t> family(const Body& body) {
  return family_of(body, [](const Neighbour& neighbour) -> Result<std::set<pid_t>> {
    return marked(neighbour.mark);
  });
}

}  // namespace

RuntimeAbilities Affinity::abilities() const {
  return {.confinement = "affinity",
          .note = fmt::format("{}: containers are kept on their CPUs by the affinity of their "
                              "threads, which they can change for up to a reconcile period; CPU "
                              "shares, limits and memory nodes have no effect",
                              reason_)};
}

boost::json::object Affinity::describe() const {
  return {{"kind", "affinity"}, {"reason", reason_}};
}

Result<void> Affinity::confine(const Body& body, const Confines& confines) const {
  const auto kept = replace_file(record_of(body), confines.cpus.str());
  if (!kept) {
    return wrap(setting_cpus(body.container.pod, body.container.container, confines.cpus),
                kept.error());
  }
  if (confines.cpus.empty() || body.keeper <= 0) return {};
  for (int tries = 0; tries < kTries; ++tries) {
    const auto wrong = correct(family(body), confines.cpus);
    if (!wrong) {
      return wrap(setting_cpus(body.container.pod, body.container.container, confines.cpus),
                  wrong.error());
    }
    if (*wrong == 0) return {};
  }
  return wrap(setting_cpus(body.container.pod, body.container.container, confines.cpus),
              {Code::kIo, "its threads change their affinity faster than it can be set"});
}

Result<void> Affinity::place(const Body& body, pid_t pid) const {
  const CpuSet cpus = asked_for(body);
  if (cpus.empty()) return {};
  for (int tries = 0; tries < kTries; ++tries) {
    if (TRY(correct({pid}, cpus)) == 0) break;
  }
  return {};
}

Result<Sight> Affinity::look(const Body& body) const {
  const CpuSet cpus = asked_for(body);
  Sight sight{.cpus = cpus};
  if (body.keeper <= 0) return sight;
  for (const pid_t process : family(body)) {
    for (const pid_t thread : threads_of(process)) {
      if (has_thread_ended(thread)) continue;
      const CpuSet now = affinity_of(thread);
      if (cpus.empty()) {
        sight.cpus |= now;
      } else if (!now.is_subset_of(cpus)) {
        sight.strayed = true;
      }
    }
  }
  return sight;
}

Result<std::size_t> Affinity::kill(const Body& body) const {
  return kill_members([&]() -> Result<std::set<pid_t>> {
    auto members = marked(body.mark);
    members.erase(body.keeper);
    for (const pid_t pid : family(body)) members.insert(pid);
    return members;
  });
}

Result<bool> Affinity::remove(const Body& /*body*/) const { return true; }

}  // namespace corehold
