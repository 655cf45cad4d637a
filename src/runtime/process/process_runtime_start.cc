// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime starts a container: volumes and records first, then an empty place, then
// the monitor, which says when the command runs.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "runtime/cgroup/process_tree.h"
#include "runtime/monitor/log_file.h"
#include "runtime/process/command_notes.h"
#include "runtime/process/process_runtime_entry.h"
#include "runtime/workspace/pod_files.h"
#include "sys/descriptor.h"
#include "sys/file/file.h"
#include "sys/file/spare_files.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

namespace asio = boost::asio;

// What a start needs on disk, made by work beside the loop.
struct Preparation {
  std::string root{};
  std::shared_ptr<const Pod> pod{};  // whose volumes are made; null: none are
  Launcher launcher{};
  StoredLaunch stored{};
  ContainerDirectory directory;

  Result<void> make() const {
    if (pod != nullptr) TRY(make_volumes(root, *pod, launcher));
    TRY(make_private_tops(root));
    TRY(directory.make());
    TRY(directory.write_launch(stored));
    const std::string& log = stored.launch.log_path;
    if (!log.empty()) {
      remove_logs_before(log.substr(0, log.rfind('/')), stored.launch.attempt - 1);
    }
    return {};
  }
};

struct Cleared {
  std::size_t left = 0;  // processes
  bool is_prepared = false;
};

struct AttachedProcesses {
  ProcessId client{};
  ProcessId main{};
  std::vector<ProcessId> unrelated{};
  std::chrono::milliseconds at{};
};

// A partition that the kernel refuses keeps no container from starting: it has its CPUs as a plain
// cpuset, and the next look at it tells so.
template <typename Subject>
Result<void> confine_at_start(const Subject& subject, const Placement& placement) {
  auto confined = subject.confinement->confine(subject.processes(), placement);
  if (!confined && confined.error().code == Code::kUnsupported) return {};
  return confined;
}

}  // namespace

// A monitor that waits for "go"; it ends when nothing has the other end of its channel.
struct ProcessRuntime::Spawned {
  ProcessId monitor{};
  bool is_child = false;
  std::shared_ptr<Descriptor> channel{};  // shared by the copies of a result
  Result<void> recorded{};
};

void ProcessRuntime::start(const Start& start, Done<Started> done) {
  const auto launch = workspace_.launch_of(start);
  if (!launch) return done(launch.error());
  const bool is_waiting = start.process == Start::Process::kWaiting;
  launch_for({.launch = *launch,
              .pod = {.pod = start.pod},
              .volumes_of = is_waiting ? nullptr : start.pod},
             std::move(done));
}

void ProcessRuntime::launch(const Launch& launch, Done<Started> done) {
  launch_for({.launch = launch, .pod = read_kept_pod(launch.manifest)}, std::move(done));
}

void ProcessRuntime::launch_for(Beginning beginning, Done<Started> done) {
  const Launch& launch = beginning.launch;
  if (const auto free = check_free(launch); !free) return done(free.error());
  auto made = std::make_unique<Entry>(loop_, launch.container,
                                      ContainerDirectory::of(root(), launch.container));
  Entry& entry = *made;
  entry.generation = next_generation_++;
  entry.attempt = launch.attempt;
  entry.pod = std::move(beginning.pod);
  entry.volumes_of = std::move(beginning.volumes_of);
  entry.confinement = confinement_;
  entry.confine_in(cgroup_of(launch.container, confinement_->capabilities().confined_by,
                             launch.placement.owner));
  entry.lane = lane_of(launch.container, launch.attached_to);
  entry.launch = launch;
  if (launch.attached > 0) entry.launch->placement = placement_of_client(launch.placement);
  entry.started = std::move(done);
  if (const Entry* old = find(launch.container); old != nullptr) {
    entry.earlier_cpus = old->cpus;
    // An earlier attempt may have shared CPUs, and this one has its own, or the other way round.
    if (old->path.cgroup != entry.path.cgroup) entry.left = subject_of(*old);
  }
  entries_[launch.container] = std::move(made);
  clear_place(entry);
}

Result<void> ProcessRuntime::check_free(const Launch& launch) {
  TRY(check_names(launch.container));
  const Entry* old = find(launch.container);
  if (old != nullptr && old->phase != Entry::Phase::kEnded) {
    return Error{Code::kConflict, fmt::format("{} runs already", name_of(launch.container))};
  }
  TRY(check_spare_files());
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

// What an earlier attempt left in its place must not share it.
void ProcessRuntime::clear_place(Entry& entry) {
  Preparation preparation{.root = root(),
                          .pod = entry.volumes_of,
                          .launcher = options_.workspace.launcher,
                          .stored = {.launch = *entry.launch,
                                     .confinement = confinement_->describe(),
                                     .cgroup = entry.path.cgroup,
                                     .start_timeout = options_.start_timeout},
                          .directory = entry.directory};
  beside(
      entry,
      [preparation = std::move(preparation), subject = subject_of(entry), old = entry.left,
       earlier = entry.earlier_cpus, is_prepared = entry.is_prepared]() -> Result<Cleared> {
        if (earlier) earlier->close();
        if (old) {
          if (const std::size_t left = TRY(old->kill()); left > 0) return Cleared{.left = left};
          if (!TRY(old->remove())) return Cleared{.left = 1};
        }
        if (!is_prepared) TRY(preparation.make());
        return Cleared{.left = TRY(subject.kill()), .is_prepared = true};
      },
      [this](Entry& current, const Result<Cleared>& cleared) {
        if (!cleared) return fail(current, cleared.error());
        if (cleared->is_prepared) {
          current.is_prepared = true;
          current.left.reset();
        }
        if (current.is_unwanted) {
          return fail(current, {Code::kIo, "it was killed before it had started"});
        }
        if (cleared->left > 0) {
          current.pause = std::min(current.pause * 2, kLongestPause);
          if (current.pause == kLongestPause) {
            tell_once(current,
                      fmt::format("{} processes of an earlier attempt cannot be killed; it "
                                  "starts when they have gone",
                                  cleared->left));
          }
          return later(current, current.pause, [this](Entry& again) { clear_place(again); });
        }
        current.pause = kShortestPause;
        begin(current);
      });
}

void ProcessRuntime::begin(Entry& entry) {
  entry.is_beginning = true;
  entry.cpus->announce(current(entry, entry.launch->placement).cpus);
  if (entry.launch->attached > 0) return attach(entry);
  spawn(entry);
}

// The client of `corehold run` is the supervisor, and its child waits to be let go.
void ProcessRuntime::attach(Entry& entry) {
  const Launch& launch = *entry.launch;
  beside(
      entry,
      [root = root(), subject = subject_of(entry), survey = survey_for_start(),
       placement = current(entry, launch.placement), client = launch.attached_to,
       child = launch.attached]() -> Result<AttachedProcesses> {
        TRY(survey.check(placement));
        TRY(confine_at_start(subject, placement));
        const auto supervisor = identify(client);
        const auto main = identify(child);
        const auto status = status_of(child);
        if (!supervisor || !main || !status || status->parent != client) {
          return Error{Code::kNotFound,
                       fmt::format("process {} is no child of process {}", child, client)};
        }
        const AttachedProcesses attached{.client = *supervisor,
                                         .main = *main,
                                         .unrelated = unrelated_processes_of(client, child),
                                         .at = wall_millis()};
        if (subject.confinement->capabilities().confined_by == ConfinedBy::kAffinity) {
          TRY(note_command(root, attached.client));
        }
        TRY(subject.directory.write_main({.process = attached.main, .started_at = attached.at}));
        TRY(subject.directory.write_supervisor({.process = attached.client,
                                                .started_at = attached.at,
                                                .unrelated = attached.unrelated}));
        return attached;
      },
      [this](Entry& current, const Result<AttachedProcesses>& attached) {
        current.is_attached = true;
        if (!attached) return fail(current, attached.error());
        current.supervisor = attached->client;
        current.main = attached->main;
        current.mark = run_mark(attached->client);
        current.unrelated = attached->unrelated;
        current.started_at = attached->at;
        if (const auto watched = watch(current); !watched) return fail(current, watched.error());
        take_in(current);
      });
}

// Puts the child into the container, from which on it is let go by its client.
void ProcessRuntime::take_in(Entry& entry) {
  beside(
      entry,
      [subject = subject_of(entry), child = entry.main.pid] {
        return subject.confinement->place(subject.processes(), child);
      },
      [this](Entry& current, const Result<void>& placed) {
        if (current.phase != Entry::Phase::kStarting) return;  // it has ended meanwhile
        if (!placed) return fail(current, placed.error());
        if (current.is_unwanted) {
          return fail(current, {Code::kIo, "it was killed before it had started"});
        }
        current.launch.reset();
        current.phase = Entry::Phase::kRunning;
        for (const int number : std::exchange(current.signals, {})) {
          static_cast<void>(send_signal(current.main, number));
        }
        if (auto started = std::exchange(current.started, nullptr)) {
          started(Started{.at = current.started_at});
        }
      });
}

void ProcessRuntime::spawn(Entry& entry) {
  beside(
      entry,
      [subject = subject_of(entry), survey = survey_for_start(),
       placement = current(entry, entry.launch->placement), launcher = options_.workspace.launcher,
       command = options_.monitor]() -> Result<Spawned> {
        TRY(survey.check(placement));
        TRY(confine_at_start(subject, placement));
        const MonitorProcess monitor =
            TRY(launcher.start_monitor(command, subject.directory.path()));
        subject.place->supervise(monitor.process);
        Spawned spawned{.monitor = monitor.process,
                        .is_child = monitor.is_child,
                        .channel = std::make_shared<Descriptor>(monitor.channel)};
        spawned.recorded = subject.directory.write_supervisor(
            {.process = monitor.process, .started_at = wall_millis()});
        return spawned;
      },
      [this](Entry& current, const Result<Spawned>& spawned) {
        if (!spawned) return fail(current, spawned.error());
        current.supervisor = spawned->monitor;
        current.is_child = spawned->is_child;
        if (const auto heard = go(current, *spawned); !heard) return fail(current, heard.error());
        current.launch.reset();
        wait_for_start(current);
      });
}

Result<void> ProcessRuntime::go(Entry& entry, const Spawned& spawned) {
  boost::system::error_code error;
  entry.channel.assign(spawned.channel->release(), error);
  if (error) return Error{Code::kIo, fmt::format("watch the monitor: {}", error.message())};
  TRY(spawned.recorded);
  if (entry.is_unwanted) return Error{Code::kIo, "it was killed before it had started"};
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
  watch_partition(entry);
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

// The monitor ends a start that takes too long, also when this agent has gone. One that does not is
// killed.
void ProcessRuntime::wait_for_start(Entry& entry) {
  constexpr std::chrono::milliseconds kForTheMonitor{10'000};
  const std::chrono::milliseconds after = options_.start_timeout + kForTheMonitor;
  later(entry, after, [after](Entry& slow) {
    slow.failure = fmt::format(
        "nothing heard of its monitor (process {}) for {} s; does the file system of each hostPath "
        "and of the command answer?",
        slow.supervisor.pid, after.count() / 1000);
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
