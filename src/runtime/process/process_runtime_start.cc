// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime starts a container: records first, then an empty place, then the
// monitor, which says when the command runs.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "runtime/cgroup/process_tree.h"
#include "runtime/monitor/log_file.h"
#include "runtime/process/process_runtime_entry.h"
#include "runtime/workspace/pod_files.h"
#include "sys/file/file.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

namespace asio = boost::asio;

// A library that throws ends this start, and not the agent.
template <typename Step>
Result<void> caught(const Step& step) {
  try {
    return step();
  } catch (const std::exception& error) {
    return Error{Code::kIo, error.what()};
  }
}

}  // namespace

void ProcessRuntime::start(const Start& start, Done<Started> done) {
  const auto prepared = workspace_.prepare(start);
  if (!prepared) return done(prepared.error());
  launch_for(*prepared, {.pod = start.pod}, std::move(done));
}

void ProcessRuntime::launch(const Launch& launch, Done<Started> done) {
  launch_for(launch, read_kept_pod(launch.manifest), std::move(done));
}

void ProcessRuntime::launch_for(const Launch& launch, KeptPod pod, Done<Started> done) {
  if (const auto free = check_free(launch); !free) return done(free.error());
  const std::string cgroup =
      cgroup_of(launch.container, confinement_->capabilities().confined_by, launch.placement.owner);
  if (const auto left = leave_old_cgroup(launch.container, cgroup); !left) {
    return done(wrap(fmt::format("start {}", name_of(launch.container)), left.error()));
  }
  entries_.erase(launch.container);
  auto made = std::make_unique<Entry>(loop_, launch.container,
                                      ContainerDirectory::of(root(), launch.container));
  Entry& entry = *made;
  entry.generation = next_generation_++;
  entry.attempt = launch.attempt;
  entry.pod = std::move(pod);
  entry.confinement = confinement_;
  entry.confine_in(cgroup);
  entry.launch = launch;
  if (launch.attached > 0) entry.launch->placement = placement_of_client(launch.placement);
  entry.started = std::move(done);
  entries_[launch.container] = std::move(made);
  if (const auto recorded = caught([&] { return record(entry); }); !recorded) {
    return fail(entry, recorded.error());
  }
  clear_place(entry);
}

// An earlier attempt may have shared CPUs, and this one has its own, or the other way round.
Result<void> ProcessRuntime::leave_old_cgroup(const ContainerRef& container,
                                              const std::string& cgroup) {
  const Entry* old = find(container);
  if (old == nullptr || old->cgroup == cgroup) return {};
  const ContainerProcesses left = processes_of(*old);
  if (TRY(old->confinement->kill(left)) == 0 && TRY(old->confinement->remove(left))) return {};
  return Error{Code::kIo, "the cgroup of an earlier attempt is still in use"};
}

Result<void> ProcessRuntime::check_free(const Launch& launch) {
  TRY(check_names(launch.container));
  const Entry* old = find(launch.container);
  if (old != nullptr && old->phase != Entry::Phase::kEnded) {
    return Error{Code::kConflict, fmt::format("{} runs already", name_of(launch.container))};
  }
  if (launch.attached <= 0) return {};
  // What descends from a client is of one container.
  for (const auto& [container, entry] : entries_) {
    if (entry->is_attached && entry->phase != Entry::Phase::kEnded &&
        entry->supervisor.pid == launch.attached_to && is_running(entry->supervisor)) {
      return Error{Code::kConflict,
                   fmt::format("start {}: process {} is the client of {} already",
                               name_of(launch.container), launch.attached_to, name_of(container))};
    }
  }
  return {};
}

Result<void> ProcessRuntime::record(Entry& entry) {
  const Launch& launch = *entry.launch;
  TRY(make_private_tops(root()));
  TRY(entry.directory.make());
  TRY(entry.directory.write_launch(
      {.launch = launch, .confinement = confinement_->describe(), .cgroup = entry.cgroup}));
  if (!launch.log_path.empty()) {
    remove_logs_before(launch.log_path.substr(0, launch.log_path.rfind('/')), launch.attempt - 1);
  }
  return {};
}

// What an earlier attempt left in its place must not share it.
void ProcessRuntime::clear_place(Entry& entry) {
  if (entry.is_unwanted) return fail(entry, {Code::kIo, "it was killed before it had started"});
  const auto left = entry.confinement->kill(processes_of(entry));
  if (!left) return fail(entry, left.error());
  if (*left > 0) {
    entry.pause = std::min(entry.pause * 2, kLongestPause);
    if (entry.pause == kLongestPause) {
      tell_once(entry, fmt::format("{} processes of an earlier attempt cannot be killed; it "
                                   "starts when they have gone",
                                   *left));
    }
    return later(entry, entry.pause, [this](Entry& current) { clear_place(current); });
  }
  entry.pause = kShortestPause;
  if (const auto begun = caught([&] { return begin(entry); }); !begun) {
    return fail(entry, begun.error());
  }
  const bool is_there = entry.is_attached;
  entry.launch.reset();
  if (!is_there) return wait_for_start(entry);
  if (auto started = std::exchange(entry.started, nullptr)) {
    started(Started{.at = entry.started_at});
  }
}

Result<void> ProcessRuntime::begin(Entry& entry) {
  const Placement& placement = entry.launch->placement;
  if (placement.owner == CpuOwner::kContainer) TRY(check_unknown(placement.cpus));
  TRY(confinement_->confine(processes_of(entry), current(entry, entry.launch->placement)));
  return entry.launch->attached > 0 ? attach(entry, *entry.launch) : spawn(entry);
}

// The client of `corehold run` is the supervisor, and its child waits to be let go.
Result<void> ProcessRuntime::attach(Entry& entry, const Launch& launch) {
  entry.is_attached = true;
  const auto supervisor = identify(launch.attached_to);
  const auto main = identify(launch.attached);
  const auto status = status_of(launch.attached);
  if (!supervisor || !main || !status || status->parent != launch.attached_to) {
    return Error{Code::kNotFound, fmt::format("process {} is no child of process {}",
                                              launch.attached, launch.attached_to)};
  }
  entry.supervisor = *supervisor;
  entry.main = *main;
  entry.mark = run_mark(*supervisor);
  entry.unrelated = unrelated_processes_of(supervisor->pid, main->pid);
  entry.started_at = wall_millis();
  TRY(entry.directory.write_main({.process = entry.main, .started_at = entry.started_at}));
  TRY(entry.directory.write_supervisor(
      {.process = entry.supervisor, .started_at = entry.started_at, .unrelated = entry.unrelated}));
  TRY(watch(entry));
  TRY(confinement_->place(processes_of(entry), launch.attached));
  entry.phase = Entry::Phase::kRunning;
  return {};
}

Result<void> ProcessRuntime::spawn(Entry& entry) {
  const MonitorProcess monitor =
      TRY(options_.workspace.launcher.start_monitor(options_.monitor, entry.directory.path()));
  entry.supervisor = monitor.process;
  entry.is_child = monitor.is_child;
  boost::system::error_code error;
  entry.channel.assign(monitor.channel, error);
  if (error) return Error{Code::kIo, fmt::format("watch the monitor: {}", error.message())};
  TRY(entry.directory.write_supervisor({.process = entry.supervisor, .started_at = wall_millis()}));
  TRY(watch(entry));
  listen(entry);
  // From here on a restarted agent finds it.
  if (const int number = write_all(entry.channel.native_handle(), "go\n"); number != 0) {
    return errno_error("speak to the monitor", number);
  }
  return {};
}

Result<void> ProcessRuntime::watch(Entry& entry) {
  boost::system::error_code error;
  entry.pidfd.assign(TRY(open_pidfd(entry.supervisor)), error);
  if (error) return Error{Code::kIo, fmt::format("watch the supervisor: {}", error.message())};
  const auto ends = guarded(entry, [this](Entry& ended, boost::system::error_code) {
    if (ended.phase == Entry::Phase::kEnding || ended.phase == Entry::Phase::kEnded) return;
    ended.phase = Entry::Phase::kEnding;
    ended.timer.cancel();
    wait_for_end(ended);
  });
  entry.pidfd.async_wait(asio::posix::stream_descriptor::wait_read, ends);
  if (!entry.is_attached) return {};
  const auto main = open_pidfd(entry.main);
  if (!main) {
    asio::post(loop_, [ends] { ends({}); });
    return {};
  }
  entry.main_pidfd.assign(*main, error);
  if (error) return Error{Code::kIo, fmt::format("watch the command: {}", error.message())};
  entry.main_pidfd.async_wait(asio::posix::stream_descriptor::wait_read, ends);
  return {};
}

void ProcessRuntime::wait_for_start(Entry& entry) {
  later(entry, options_.start_timeout, [this](Entry& slow) {
    slow.failure = fmt::format("nothing heard of its monitor (process {}) for {} s",
                               slow.supervisor.pid, options_.start_timeout.count() / 1000);
    static_cast<void>(send_signal(slow.supervisor, SIGKILL));
  });
}

void ProcessRuntime::listen(Entry& entry) {
  entry.channel.async_wait(asio::posix::stream_descriptor::wait_read,
                           guarded(entry, [this](Entry& speaker, boost::system::error_code) {
                             const auto generation = speaker.generation;
                             const ContainerRef container = speaker.container;
                             const bool goes_on = hear_all(speaker);
                             Entry* current = find(container);
                             if (current == nullptr || current->generation != generation) return;
                             if (goes_on && current->channel.is_open()) listen(*current);
                           }));
}

// Takes in what the monitor has said so far. False: it will say no more.
bool ProcessRuntime::hear_all(Entry& entry) {
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = ::recv(entry.channel.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT)) >
         0) {
    entry.heard.append(buffer.data(), static_cast<std::size_t>(got));
  }
  const bool goes_on = got < 0 && (errno == EAGAIN || errno == EINTR);
  std::string heard = std::move(entry.heard);
  std::size_t begin = 0;
  std::vector<std::string> lines;
  for (std::size_t end = 0; (end = heard.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(heard.substr(begin, end - begin));
  }
  entry.heard = heard.substr(begin);
  // "running" is heard last: the caller of start() is told then, and may remove the entry.
  std::stable_partition(lines.begin(), lines.end(),
                        [](const std::string& line) { return line != "running"; });
  for (const std::string& line : lines) hear(entry, line);
  return goes_on;
}

void ProcessRuntime::hear(Entry& entry, std::string_view line) {
  if (line == "running") {
    const auto main = entry.directory.read_main();
    if (main) {
      entry.main = main->process;
      entry.started_at = main->started_at;
    }
    entry.ran = true;
    if (entry.phase != Entry::Phase::kStarting) return;
    entry.phase = Entry::Phase::kRunning;
    entry.timer.cancel();
    for (const int number : std::exchange(entry.signals, {})) {
      static_cast<void>(send_signal(entry.main, number));
    }
    if (auto started = std::exchange(entry.started, nullptr)) {
      started(Started{.at = entry.started_at});
    }
  } else if (line.starts_with("failed ")) {
    entry.failure = line.substr(7);
  } else if (line.starts_with("exit ")) {
    entry.exit = exit_from_json(line.substr(5));
  }
}

}  // namespace corehold
