// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/live_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "runtime/cgroup/affinity.h"
#include "runtime/cgroup/confinement.h"
#include "runtime/monitor/monitor.h"
#include "sys/file/kernel_file.h"
#include "sys/process/mark_reader.h"

namespace corehold {
namespace {

constexpr std::string_view kDefaultRoot = "/var/lib/corehold";

std::vector<std::string> words_of(pid_t pid) {
  std::vector<std::string> words;
  const auto text = read_kernel_file(fmt::format("/proc/{}/cmdline", pid));
  if (!text) return words;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\0', at), text->size());
    words.push_back(text->substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// "run/PID/START" (run_mark()).
std::optional<ProcessId> client_of(std::string_view mark) {
  constexpr std::string_view kRun = "run/";
  if (!mark.starts_with(kRun)) return std::nullopt;
  ProcessId client;
  const char* const end = mark.data() + mark.size();
  const auto pid = std::from_chars(mark.data() + kRun.size(), end, client.pid);
  if (pid.ec != std::errc{} || pid.ptr == end || *pid.ptr != '/') return std::nullopt;
  const auto start = std::from_chars(pid.ptr + 1, end, client.start_time);
  if (start.ec != std::errc{} || start.ptr != end) return std::nullopt;
  return client;
}

// The root that a client of `corehold run` was given.
std::string root_of_client(pid_t client) {
  std::string root(kDefaultRoot);
  const auto words = words_of(client);
  for (std::size_t index = 1; index < words.size() && words[index] != "--"; ++index) {
    constexpr std::string_view kOption = "--root";
    if (words[index] == kOption && index + 1 < words.size()) root = words[index + 1];
    if (words[index].starts_with("--root=")) root = words[index].substr(kOption.size() + 1);
  }
  if (root.starts_with('/')) return root;
  std::error_code error;
  const auto directory = std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", client), error);
  return error ? root : (directory / root).lexically_normal().string();
}

// Anybody can name any process in a mark: it must be a client of this user.
bool is_client(const ProcessId& process) {
  if (!is_running(process) || !is_of_own_user(process.pid)) return false;
  std::error_code error;
  const auto program =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process.pid), error);
  const auto words = words_of(process.pid);
  return !error && program.filename().string().starts_with("corehold") &&
         std::find(words.begin(), words.end(), "run") != words.end();
}

bool is_simulated(const std::string& root) {
  struct stat status {};
  return ::stat((root + "/simulated.json").c_str(), &status) == 0;
}

void add(LiveContainer& container, pid_t pid) {
  container.pids.push_back(pid);
  container.cpus |= cpus_of_process(pid);
}

}  // namespace

std::vector<LiveMonitor> live_monitors() {
  std::vector<LiveMonitor> monitors;
  for (const pid_t pid : all_processes()) {
    const auto name = read_kernel_file(fmt::format("/proc/{}/comm", pid));
    if (!name || *name != kMonitorName || !is_of_own_user(pid)) continue;
    const auto words = words_of(pid);
    const auto process = identify(pid);
    if (words.size() < 2 || !process || has_ended(pid)) continue;
    monitors.push_back({.process = *process, .directory = words.back()});
  }
  return monitors;
}

std::vector<LiveContainer> marked_containers(const MarkedSearch& search) {
  std::map<std::string, LiveContainer> found;
  // Those of this user first: processes of others can be made to hang by the hundred.
  std::vector<pid_t> pids = all_processes();
  std::stable_partition(pids.begin(), pids.end(), is_of_own_user);
  const CpuSet everywhere = cpus_of_process(1);
  for (const auto& [pid, mark] : MarkReader().read(pids).found) {
    if (pid == ::getpid() || search.known.contains(mark) || has_ended(pid)) continue;
    const auto client = client_of(mark);
    if (client && is_client(*client)) {
      std::string root = root_of_client(client->pid);
      if (root != search.root && is_simulated(root)) continue;
      LiveContainer& container = found[mark];
      container.supervisor = client->pid;
      container.root = std::move(root);
      add(container, pid);
      continue;
    }
    const std::string cgroup = own_container_cgroup_of(pid);
    if (cgroup.empty() && client) {
      const bool is_noted = search.noted.contains(mark);
      const bool is_confined = !everywhere.is_subset_of(cpus_of_process(pid));
      if (!is_noted && !(is_confined && is_of_own_user(pid))) continue;
      LiveContainer& container = found[mark];
      if (is_noted) container.root = search.root;
      add(container, pid);
      continue;
    }
    if (cgroup.empty() || search.known.contains(std::string(last_two_names(cgroup)))) continue;
    LiveContainer& container = found[cgroup];
    container.cgroup = cgroup;
    add(container, pid);
  }
  std::vector<LiveContainer> containers;
  containers.reserve(found.size());
  for (auto& [key, container] : found) containers.push_back(std::move(container));
  return containers;
}

}  // namespace corehold
