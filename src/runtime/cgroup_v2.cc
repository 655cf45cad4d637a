// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup_v2.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "runtime/cgroup_directory.h"
#include "runtime/family.h"
#include "sys/kernel_file.h"
#include "sys/process.h"

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

// Whether anything runs in a cgroup or below it; one that is not there holds nobody.
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

RuntimeAbilities CgroupV2::abilities() const {
  std::vector<std::string> missing;
  if (!places_.has_cpu) {
    missing.emplace_back("no cpu controller: CPU weights and limits have no effect");
  }
  if (!places_.has_memory) {
    missing.emplace_back("no memory controller: memory limits have no effect");
  }
  RuntimeAbilities abilities{.confinement = "cgroup v2"};
  if (!missing.empty()) {
    abilities.note = fmt::format("{} has {}", places_.base, fmt::join(missing, "; and "));
  }
  return abilities;
}

boost::json::object CgroupV2::describe() const {
  return {{"kind", "cgroup v2"},       {"mount", places_.mount},
          {"base", places_.base},      {"delegated", places_.delegated},
          {"hasCpu", places_.has_cpu}, {"hasMemory", places_.has_memory}};
}

std::string CgroupV2::cgroup_of(const ContainerRef& container) const {
  return fmt::format("{}/pods/{}/{}", places_.base, container.pod, container.container);
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

Result<void> CgroupV2::make_levels(const ContainerRef& container) const {
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
  const std::string pods = places_.base + "/pods";
  const std::string pod = pods + "/" + container.pod;
  TRY(make_cgroup(pods));
  TRY(hand_down(pods));
  TRY(make_cgroup(pod));
  TRY(hand_down(pod));
  return make_cgroup(cgroup_of(container));
}

Result<void> CgroupV2::set_cpuset(const std::string& cgroup, const Confines& confines) const {
  TRY(write_changed(file_in(cgroup, "cpuset.mems"), confines.mems ? confines.mems->str() : ""));
  if (confines.cpus.empty()) return {};
  TRY(write_changed(file_in(cgroup, "cpuset.cpus"), confines.cpus.str()));
  const CpuSet online = TRY(read_cpus(file_in(places_.mount, "cpuset.cpus.effective")));
  const CpuSet taken = TRY(read_cpus(file_in(cgroup, "cpuset.cpus.effective")));
  if (!taken.empty() && taken == (confines.cpus & online)) return {};
  return Error{Code::kIo, fmt::format("the kernel lets {} run on {} instead", cgroup, taken.str())};
}

Result<void> CgroupV2::set_cpu(const ContainerRef& container, const Confines& confines) const {
  const std::string own = cgroup_of(container);
  TRY(write_changed(file_in(own, "cpu.weight"), std::to_string(cpu_weight(confines.cpu_shares))));
  const std::string quota =
      confines.quota_millis > 0
          ? std::to_string(std::max(confines.quota_millis * kPeriod / 1000, kLeastQuota))
          : "max";
  TRY(write_changed(file_in(own, "cpu.max"), fmt::format("{} {}", quota, kPeriod)));
  // Against other pods a pod counts as much as its containers together, and all of them
  // together against the rest of the machine as much as all its CPUs.
  const std::string pods = places_.base + "/pods";
  const std::string pod = pods + "/" + container.pod;
  std::int64_t together = 0;
  for (const std::string& sibling : children_of(pod)) together += weight_of(sibling);
  TRY(write_changed(file_in(pod, "cpu.weight"),
                    std::to_string(std::clamp<std::int64_t>(together, 1, kMostWeight))));
  const CpuSet machine = TRY(read_cpus(file_in(places_.mount, "cpuset.cpus.effective")));
  const std::string all = std::to_string(cpu_weight(std::int64_t{1024} * machine.size()));
  if (!places_.delegated) TRY(write_changed(file_in(places_.base, "cpu.weight"), all));
  return write_changed(file_in(pods, "cpu.weight"), all);
}

Result<void> CgroupV2::set_memory(const Body& body, std::int64_t limit) const {
  const std::string own = cgroup_of(body.container);
  // As a kubelet has it: a container that is out of memory ends as a whole.
  TRY(write_changed(file_in(own, "memory.oom.group"), limit > 0 ? "1" : "0"));
  const std::string path = file_in(own, "memory.max");
  const std::string wanted = limit > 0 ? std::to_string(whole_pages(limit)) : "max";
  if (TRY(read_kernel_file(path)) == wanted) return {};
  // Of one that runs the kernel would kill what it cannot take away. What an earlier attempt has
  // left it may take.
  if (limit > 0 && body.keeper > 0) {
    const std::int64_t used = kept_memory(own);
    if (used >= limit) return below_use(body.container, {.limit = limit, .used = used});
  }
  return write_kernel_file(path, wanted);
}

Result<void> CgroupV2::confine(const Body& body, const Confines& confines) const {
  auto confined = make_levels(body.container);
  if (confined) confined = set_cpuset(cgroup_of(body.container), confines);
  if (!confined) {
    return wrap(setting_cpus(body.container.pod, body.container.container, confines.cpus),
                confined.error());
  }
  if (places_.has_cpu) {
    const auto weighed = set_cpu(body.container, confines);
    if (!weighed) {
      return wrap(fmt::format("set CPU weight of container {} (pod {})", body.container.container,
                              body.container.pod),
                  weighed.error());
    }
  }
  TRY(bring_back(body));
  // Last: CPUs are kept apart whatever becomes of it.
  if (!places_.has_memory) return {};
  const auto limited = set_memory(body, confines.memory_limit);
  if (limited) return {};
  return wrap(setting_memory(body.container, confines.memory_limit), limited.error());
}

Result<void> CgroupV2::join(const std::string& cgroup, pid_t pid) const {
  const std::string number = std::to_string(pid);
  auto joined = write_kernel_file(file_in(cgroup, "cgroup.procs"), number);
  if (joined || !joined.error().message.ends_with("EBUSY")) return joined;
  // The container has handed controllers down itself; only a leaf takes processes then.
  const std::string leaf = cgroup + "/corehold-returned";
  TRY(make_cgroup(leaf));
  return write_kernel_file(file_in(leaf, "cgroup.procs"), number);
}

Result<void> CgroupV2::place(const Body& body, pid_t pid) const {
  TRY(join(cgroup_of(body.container), pid));
  forget_affinity(pid);
  return {};
}

std::vector<pid_t> CgroupV2::family(const Body& body) const {
  return family_of(body, [this](const Neighbour& neighbour) {
    return processes_in(cgroup_of(neighbour.container), kThreads);
  });
}

Result<std::vector<pid_t>> CgroupV2::strays(const Body& body) const {
  auto found = family(body);
  if (found.empty()) return found;
  const auto members = TRY(processes_in(cgroup_of(body.container), kThreads));
  std::erase_if(found, [&](pid_t pid) { return members.contains(pid); });
  return found;
}

Result<void> CgroupV2::bring_back(const Body& body) const {
  for (int tries = 0; tries < kTries; ++tries) {
    const auto found = TRY(strays(body));
    if (found.empty()) return {};
    for (const pid_t pid : found) {
      const auto moved = join(cgroup_of(body.container), pid);
      if (!moved && status_of(pid)) {
        return wrap(fmt::format("bring process {} back into container {} (pod {})", pid,
                                body.container.container, body.container.pod),
                    moved.error());
      }
    }
  }
  return {};
}

Result<Sight> CgroupV2::look(const Body& body) const {
  Sight sight{.cpus = TRY(read_cpus(file_in(cgroup_of(body.container), "cpuset.cpus.effective")))};
  // Who has just been born or moved by its parent is looked at twice.
  sight.strayed = !TRY(strays(body)).empty() && !TRY(strays(body)).empty();
  if (places_.has_memory) {
    sight.oom_kills = number_in(file_in(cgroup_of(body.container), "memory.events"), "oom_kill");
  }
  return sight;
}

Result<std::size_t> CgroupV2::kill(const Body& body) const {
  const std::string own = cgroup_of(body.container);
  // Leaves no way out for who forks faster than we kill; kernels before 5.14 have it not.
  if (is_cgroup(own)) static_cast<void>(write_kernel_file(file_in(own, "cgroup.kill"), "1"));
  const std::size_t found = TRY(kill_members([&]() -> Result<std::set<pid_t>> {
    auto members = TRY(processes_in(own, kThreads));
    for (const pid_t pid : family(body)) members.insert(pid);
    return members;
  }));
  // Somebody may be in there whom this process cannot name: another PID namespace.
  return std::max<std::size_t>(found, TRY(is_populated(own)) ? 1 : 0);
}

Result<bool> CgroupV2::remove(const Body& body) const {
  if (!TRY(remove_cgroup(cgroup_of(body.container)))) return false;
  const std::string pods = places_.base + "/pods";
  remove_if_empty(pods + "/" + body.container.pod);
  remove_if_empty(pods);
  if (!places_.delegated) remove_if_empty(places_.base);
  return true;
}

}  // namespace corehold
