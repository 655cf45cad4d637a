// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/cgroup_directory.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

void add_numbers(std::string_view text, std::set<pid_t>& numbers) {
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    pid_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    // 0: a process of another PID namespace, which has no number here.
    if (error == std::errc{} && number > 0) numbers.insert(number);
    at = std::find(next, end, '\n');
    if (at < end) ++at;
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as cgroups are nested
Result<void> add_members(const std::string& cgroup, std::string_view file,
                         std::set<pid_t>& members) {
  const auto text = read_kernel_file(fmt::format("{}/{}", cgroup, file));
  if (text) {
    add_numbers(*text, members);
  } else if (text.error().code != Code::kNotFound &&
             // A threaded cgroup of v2 has no processes of its own; its parent lists them.
             text.error().number != EOPNOTSUPP) {
    return text.error();
  }
  for (const std::string& child : children_of(cgroup)) TRY(add_members(child, file, members));
  return {};
}

template <typename Set>
Result<Set> read_list(const std::string& path) {
  const std::string text = TRY(read_kernel_file(path));
  auto set = Set::parse(text);
  if (!set) return wrap(path, set.error());
  return set;
}

}  // namespace

Result<std::set<pid_t>> members_of(const std::string& cgroup, std::string_view file) {
  std::set<pid_t> members;
  TRY(add_members(cgroup, file, members));
  return members;
}

std::vector<std::string> children_of(const std::string& cgroup) {
  std::vector<std::string> children;
  const auto names = entries_of(cgroup);
  if (!names) return children;
  for (const std::string& name : *names) {
    std::string path = fmt::format("{}/{}", cgroup, name);
    if (is_cgroup(path)) children.push_back(std::move(path));
  }
  return children;
}

bool is_cgroup(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<void> make_cgroup(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return errno_error(fmt::format("make cgroup {}", path), errno);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as cgroups are nested
Result<bool> remove_cgroup(const std::string& path) {
  for (const std::string& child : children_of(path)) {
    if (!TRY(remove_cgroup(child))) return false;
  }
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return true;
  if (errno == EBUSY || errno == ENOTEMPTY) return false;
  return errno_error(fmt::format("remove cgroup {}", path), errno);
}

void remove_if_empty(const std::string& path) { static_cast<void>(::rmdir(path.c_str())); }

Result<std::set<pid_t>> processes_in(const std::string& cgroup, std::string_view threads) {
  auto processes = TRY(members_of(cgroup, "cgroup.procs"));
  for (const pid_t thread : TRY(members_of(cgroup, threads))) {
    if (processes.contains(thread)) continue;
    if (const auto process = process_of(thread)) processes.insert(*process);
  }
  return processes;
}

Result<std::set<pid_t>> many_processes_in(const std::string& cgroup) {
  constexpr std::size_t kMany = 256;
  auto processes = TRY(members_of(cgroup, "cgroup.procs"));
  if (processes.size() < kMany) processes.clear();
  return processes;
}

std::vector<pid_t> outside(const std::vector<pid_t>& processes, const std::set<pid_t>& members) {
  std::vector<pid_t> found;
  for (const pid_t process : processes) {
    for (const pid_t thread : threads_of(process)) {
      if (!members.contains(thread) && !has_thread_ended(thread)) found.push_back(thread);
    }
  }
  return found;
}

Result<CpuSet> read_cpus(const std::string& path) { return read_list<CpuSet>(path); }

Result<NodeSet> read_nodes(const std::string& path) { return read_list<NodeSet>(path); }

std::int64_t number_in(const std::string& path, std::string_view key) {
  const auto text = read_kernel_file(path);
  if (!text) return 0;
  const std::string lines = fmt::format("\n{}", *text);
  const std::string begin = fmt::format("\n{} ", key);
  const std::size_t at = lines.find(begin);
  if (at == std::string::npos) return 0;
  return std::strtoll(lines.c_str() + at + begin.size(), nullptr, 10);
}

std::int64_t whole_pages(std::int64_t bytes) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return bytes / page * page;
}

void forget_affinity(pid_t pid) {
  std::array<unsigned char, 1024> everywhere{};
  everywhere.fill(0xff);
  for (const pid_t thread : threads_of(pid)) {
    static_cast<void>(::sched_setaffinity(thread, everywhere.size(),
                                          reinterpret_cast<const cpu_set_t*>(everywhere.data())));
  }
}

std::string setting_cpus(const ContainerRef& container, const CpuSet& cpus) {
  if (container.container.empty()) {
    return fmt::format("set CPUs of the containers that share to {}", cpus.str());
  }
  return fmt::format("set CPUs of container {} (pod {}) to {}", container.container, container.pod,
                     cpus.str());
}

std::vector<std::string> levels_above(const std::string& cgroup) {
  std::vector<std::string> levels;
  for (std::size_t at = cgroup.find('/'); at != std::string::npos; at = cgroup.find('/', at + 1)) {
    levels.push_back(cgroup.substr(0, at));
  }
  return levels;
}

std::string setting_memory(const ContainerRef& container, std::int64_t limit) {
  return fmt::format("set memory limit of container {} (pod {}) to {}", container.container,
                     container.pod, limit > 0 ? fmt::format("{} bytes", limit) : "none");
}

Error below_use(const ContainerRef& container, const MemoryUse& memory) {
  return {Code::kConflict,
          fmt::format("attempting to set container \"{}\" memory limit ({}) below current usage "
                      "({})",
                      container.container, memory.limit, memory.used)};
}

}  // namespace corehold
