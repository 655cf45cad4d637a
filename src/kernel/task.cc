// SPDX-License-Identifier: Apache-2.0
#include "kernel/task.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "kernel/words.h"
#include "sys/file/directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

constexpr std::uint64_t kNanosecondsPerTick = 10'000'000;

// Fields of /proc/PID/stat behind the name, which may hold blanks and parentheses itself. The
// first of them, the state, is field 3 in proc(5).
constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kFlags = 6;
constexpr std::size_t kUserTime = 11;
constexpr std::size_t kSystemTime = 12;
constexpr std::size_t kStart = 19;
constexpr std::size_t kProcessor = 36;
constexpr std::size_t kFields = 37;

// The numbers among the names of a directory: processes, or threads.
std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (open == nullptr) return numbers;
  while (const dirent* entry = ::readdir(open.get())) {
    const auto number = number_in<pid_t>(entry->d_name);
    if (number && *number > 0) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The task whose directory this is; no value when a file of it is gone, or when it did not run last
// on one of `only`.
std::optional<Task> read_task_in(const std::string& directory, const CpuSet* only) {
  const auto stat = read_kernel_file(directory + "/stat");
  if (!stat) return std::nullopt;
  std::optional<Task> task = parse_task_stat(*stat);
  if (!task) return std::nullopt;
  if (only != nullptr && !only->contains(CpuId(task->last_cpu))) return std::nullopt;
  const auto status = read_kernel_file(directory + "/status");
  const auto cgroup = read_kernel_file(directory + "/cgroup");
  if (!status || !cgroup) return std::nullopt;
  const auto affinity = parse_task_affinity(*status);
  if (!affinity) return std::nullopt;
  task->affinity = *affinity;
  task->cgroup = parse_task_cgroup(*cgroup);
  if (const auto schedstat = read_kernel_file(directory + "/schedstat")) {
    std::string_view rest = *schedstat;
    if (const auto run = number_in<std::uint64_t>(take_word(rest))) task->run_ns = *run;
  }
  return task;
}

Result<std::vector<Task>> read_all(const std::string& proc, const CpuSet* only) {
  // entries_of() tells why the directory cannot be read; numbers_in() does not sort names.
  const std::vector<std::string> names = TRY(entries_of(proc));
  std::vector<pid_t> processes;
  for (const std::string& name : names) {
    const auto number = number_in<pid_t>(name);
    if (number && *number > 0) processes.push_back(*number);
  }
  std::sort(processes.begin(), processes.end());
  std::vector<Task> tasks;
  tasks.reserve(processes.size());
  for (const pid_t pid : processes) {
    const std::string threads = fmt::format("{}/{}/task", proc, pid);
    for (const pid_t tid : numbers_in(threads)) {
      std::optional<Task> task = read_task_in(fmt::format("{}/{}", threads, tid), only);
      if (!task) continue;
      task->pid = pid;
      tasks.push_back(*std::move(task));
    }
  }
  return tasks;
}

}  // namespace

std::optional<Task> parse_task_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  std::array<std::string_view, kFields> fields;
  std::string_view rest = text.substr(close + 1);
  for (std::string_view& field : fields) {
    field = take_word(rest);
    if (field.empty()) return std::nullopt;
  }
  if (fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  const auto tid = number_in<pid_t>(trimmed(text.substr(0, open)));
  const auto parent = number_in<pid_t>(fields[kParent]);
  const auto flags = number_in<std::uint32_t>(fields[kFlags]);
  const auto user = number_in<std::uint64_t>(fields[kUserTime]);
  const auto system = number_in<std::uint64_t>(fields[kSystemTime]);
  const auto start = number_in<std::uint64_t>(fields[kStart]);
  const auto processor = number_in<int>(fields[kProcessor]);
  if (!tid || !parent || !flags || !user || !system || !start || !processor) return std::nullopt;
  return Task{.tid = *tid,
              .name = valid_utf8(text.substr(open + 1, close - open - 1)),
              .start = *start,
              .flags = *flags,
              .last_cpu = *processor,
              .run_ns = (*user + *system) * kNanosecondsPerTick,
              .parent = *parent};
}

std::optional<CpuSet> parse_task_affinity(std::string_view status) {
  constexpr std::string_view kLabel = "Cpus_allowed_list:";
  while (!status.empty()) {
    std::string_view line = take_line(status);
    if (!line.starts_with(kLabel)) continue;
    const auto affinity = CpuSet::parse(trimmed(line.substr(kLabel.size())));
    if (!affinity) return std::nullopt;
    return *affinity;
  }
  return std::nullopt;
}

std::string parse_task_cgroup(std::string_view text) {
  std::string_view unified = "/";
  while (!text.empty()) {
    // "3:cpuset:/path", or "0::/path" for v2. A path may hold colons, controllers hold none.
    std::string_view line = take_line(text);
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view path = line.substr(second + 1);
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) unified = path;
    while (!controllers.empty()) {
      const std::size_t comma = controllers.find(',');
      if (controllers.substr(0, comma) == "cpuset") return std::string(path);
      controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
    }
  }
  return std::string(unified);
}

Result<std::vector<Task>> read_tasks(const std::string& proc) { return read_all(proc, nullptr); }

Result<std::vector<Task>> read_tasks_last_on(const CpuSet& cpus, const std::string& proc) {
  return read_all(proc, &cpus);
}

std::optional<Task> read_task(pid_t tid, const std::string& proc) {
  // The files of a thread are found under its own number too, though it is not listed there.
  const std::string directory = fmt::format("{}/{}", proc, tid);
  std::optional<Task> task = read_task_in(directory, nullptr);
  if (!task) return std::nullopt;
  const auto status = read_kernel_file(directory + "/status");
  if (!status) return std::nullopt;
  for (std::string_view rest = *status; !rest.empty();) {
    std::string_view line = take_line(rest);
    if (!line.starts_with("Tgid:")) continue;
    const auto pid = number_in<pid_t>(trimmed(line.substr(5)));
    if (!pid) return std::nullopt;
    task->pid = *pid;
    return task;
  }
  return std::nullopt;
}

}  // namespace corehold
