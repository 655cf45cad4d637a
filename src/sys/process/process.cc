// SPDX-License-Identifier: Apache-2.0
#include "sys/process/process.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \n", at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> numbers;
  const auto names = entries_of(directory);
  if (!names) return numbers;
  for (const std::string& name : *names) {
    if (const auto number = number_of<pid_t>(name)) numbers.push_back(*number);
  }
  return numbers;
}

// The kernel's own list of a process's children; no value where it keeps none.
std::optional<std::vector<pid_t>> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t thread : threads_of(pid)) {
    const auto text = read_kernel_file(fmt::format("/proc/{}/task/{}/children", pid, thread));
    if (!text) {
      if (text.error().code == Code::kNotFound && status_of(pid)) return std::nullopt;
      continue;
    }
    for (const std::string_view word : words_of(*text)) {
      if (const auto child = number_of<pid_t>(word)) children.push_back(*child);
    }
  }
  return children;
}

std::vector<pid_t> descendants_by_scan(pid_t ancestor, const IsOurs& is_ours) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes()) {
    if (const auto status = status_of(pid)) children.emplace(status->parent, pid);
  }
  std::vector<pid_t> found{ancestor};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto [first, last] = children.equal_range(found[next]);
    for (auto child = first; child != last; ++child) {
      if (is_ours(child->first, child->second)) found.push_back(child->second);
    }
  }
  return found;
}

bool is_zombie(const ProcessStatus& status) { return status.state == 'Z' || status.state == 'X'; }

bool is_over(pid_t pid, const std::optional<ProcessStatus>& status) {
  if (!status) return true;
  if (!is_zombie(*status)) return false;
  if (status->threads <= 1) return true;
  for (const pid_t thread : threads_of(pid)) {
    const auto own = status_of(thread);
    if (own && !is_zombie(*own)) return false;
  }
  return true;
}

int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

std::optional<ProcessStatus> status_of(pid_t pid) {
  const auto text = read_kernel_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  // The name in parentheses may hold anything, parentheses and spaces too.
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const auto words = words_of(std::string_view(*text).substr(name_end + 1));
  constexpr std::size_t kState = 0;
  constexpr std::size_t kParent = 1;
  constexpr std::size_t kThreads = 17;
  constexpr std::size_t kStartTime = 19;
  if (words.size() <= kStartTime) return std::nullopt;
  const auto parent = number_of<pid_t>(words[kParent]);
  const auto start_time = number_of<std::uint64_t>(words[kStartTime]);
  const auto threads = number_of<int>(words[kThreads]);
  if (!parent || !start_time || !threads) return std::nullopt;
  return ProcessStatus{.parent = *parent,
                       .state = words[kState].front(),
                       .start_time = *start_time,
                       .threads = *threads};
}

std::optional<ProcessId> identify(pid_t pid) {
  const auto status = status_of(pid);
  if (!status) return std::nullopt;
  return ProcessId{.pid = pid, .start_time = status->start_time};
}

bool has_ended(pid_t pid) { return is_over(pid, status_of(pid)); }

bool is_of_own_user(pid_t pid) {
  constexpr std::string_view kUsers = "\nUid:\t";
  const auto text = read_kernel_file(fmt::format("/proc/{}/status", pid));
  const std::size_t at = text ? text->find(kUsers) : std::string::npos;
  if (at == std::string::npos) return false;
  // Real, effective, saved and of the file system.
  const std::string own = fmt::to_string(::geteuid());
  const std::string all = fmt::format("{0}\t{0}\t{0}\t{0}\n", own);
  return text->compare(at + kUsers.size(), all.size(), all) == 0;
}

bool has_thread_ended(pid_t thread) {
  const auto status = status_of(thread);
  return !status || is_zombie(*status);
}

bool is_running(const ProcessId& process) {
  if (process.pid <= 0) return false;
  const auto status = status_of(process.pid);
  return status && status->start_time == process.start_time && !is_over(process.pid, status);
}

std::vector<pid_t> descendants_of(pid_t pid) {
  return descendants_of(pid, [](pid_t, pid_t) { return true; });
}

std::vector<pid_t> descendants_of(pid_t pid, const IsOurs& is_ours) {
  std::vector<pid_t> found{pid};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const pid_t parent = found[next];
    const auto children = children_of(parent);
    if (!children) {
      found = descendants_by_scan(pid, is_ours);
      break;
    }
    std::copy_if(children->begin(), children->end(), std::back_inserter(found),
                 [&](pid_t child) { return is_ours(parent, child); });
  }
  found.erase(found.begin());
  std::erase_if(found, [](pid_t process) { return has_ended(process); });
  return found;
}

std::optional<pid_t> process_of(pid_t thread) {
  const auto text = read_kernel_file(fmt::format("/proc/{}/status", thread));
  if (!text) return std::nullopt;
  constexpr std::string_view kKey = "\nTgid:\t";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + kKey.size();
  return number_of<pid_t>(std::string_view(*text).substr(begin, text->find('\n', begin) - begin));
}

std::vector<pid_t> threads_of(pid_t pid) { return numbers_in(fmt::format("/proc/{}/task", pid)); }

std::vector<pid_t> all_processes() { return numbers_in("/proc"); }

Result<int> open_pidfd(const ProcessId& process) {
  Descriptor fd(pidfd_open(process.pid));
  if (!fd.is_open()) {
    const Code code = errno == ESRCH ? Code::kNotFound : Code::kIo;
    return errno_error(fmt::format("pidfd_open {}", process.pid), errno, code);
  }
  // Asked after the descriptor was got: from now on it cannot become another process.
  const auto status = status_of(process.pid);
  if (!status || status->start_time != process.start_time) {
    return Error{Code::kNotFound, fmt::format("process {} has gone", process.pid)};
  }
  const int duplicate = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return errno_error("dup", errno);
  return duplicate;
}

Result<bool> send_signal(const ProcessId& process, int number) {
  if (process.pid <= 0) return false;
  const auto opened = open_pidfd(process);
  if (!opened) {
    if (opened.error().code == Code::kNotFound) return false;
    return opened.error();
  }
  const Descriptor fd(*opened);
  if (::syscall(SYS_pidfd_send_signal, fd.get(), number, nullptr, 0) == 0) return true;
  if (errno == ESRCH) return false;
  return errno_error(fmt::format("signal {} to process {}", number, process.pid), errno);
}

// A process that has the same number and start time before and after the members were asked for the
// second time was there all along, so that the number was its own in both answers.
Result<std::size_t> kill_members(const std::function<Result<std::set<pid_t>>()>& members) {
  std::vector<ProcessId> alive;
  for (const pid_t pid : TRY(members())) {
    const auto status = status_of(pid);
    if (is_over(pid, status)) continue;
    alive.push_back({.pid = pid, .start_time = status->start_time});
  }
  if (alive.empty()) return 0;
  const auto still = TRY(members());
  std::optional<Error> failed;
  for (const ProcessId& process : alive) {
    if (process.pid <= 1 || process.pid == ::getpid() || !still.contains(process.pid)) continue;
    const auto sent = send_signal(process, SIGKILL);
    // EINVAL and ENOENT: it has become the number of a thread. The others are killed all the same.
    const bool is_gone = !sent && (sent.error().number == EINVAL || sent.error().number == ENOENT);
    if (!sent && !is_gone && !failed) failed = wrap("kill", sent.error());
  }
  if (failed) return *failed;
  return alive.size();
}

const std::string& boot_id() {
  static const std::string kId = [] {
    const auto text = read_kernel_file("/proc/sys/kernel/random/boot_id");
    return text ? *text : "";
  }();
  return kId;
}

}  // namespace corehold
