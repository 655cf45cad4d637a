// SPDX-License-Identifier: Apache-2.0
//
// Records of containers that cannot be believed. Of a container that runs they are refused by
// name, or with --recover made anew from what the kernel shows. Of a container that has ended the
// record of its end is the only one that counts.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "runtime/monitor/live_processes.h"
#include "runtime/process/process_runtime_entry.h"
#include "runtime/workspace/pod_files.h"
#include "sys/clock.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

// The wall time at which a process was started, as far as the clock was not set since.
std::chrono::milliseconds start_of(const ProcessId& process) {
  timespec since_boot{};
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (process.pid <= 0 || ticks <= 0 || ::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) {
    return {};
  }
  const std::chrono::milliseconds now{since_boot.tv_sec * 1000 + since_boot.tv_nsec / 1'000'000};
  const std::chrono::milliseconds began{static_cast<std::int64_t>(process.start_time) * 1000 /
                                        ticks};
  return wall_now() - (now - began);
}

// "UID/main" as a container; no value: those cannot be its names.
std::optional<ContainerRef> container_of(const std::string& directory) {
  const std::string_view names = last_two_names(directory);
  const std::size_t slash = names.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ContainerRef container{.pod = std::string(names.substr(0, slash)),
                         .container = std::string(names.substr(slash + 1))};
  if (!check_names(container)) return std::nullopt;
  return container;
}

// The attempt that has a log, the last one; 0: none has.
int attempt_with_log(const std::string& root, const ContainerRef& container) {
  int last = 0;
  const std::string first = log_path(root, container.pod, container.container, 0);
  const auto names = entries_of(first.substr(0, first.rfind('/')));
  if (!names) return last;
  for (const std::string& name : *names) {
    int number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    last = std::max(last, number);
  }
  return last;
}

// The oldest of the children of a process that are among these; pid 0: none is.
ProcessId first_child_of(pid_t parent, const std::vector<pid_t>& among) {
  ProcessId first;
  for (const pid_t pid : among) {
    const auto status = status_of(pid);
    if (!status || status->parent != parent) continue;
    if (first.pid == 0 || status->start_time < first.start_time) {
      first = {.pid = pid, .start_time = status->start_time};
    }
  }
  return first;
}

// What is to be written about a container that runs.
struct Rebuilding {
  LiveContainer live{};
  ContainerRef container{};
  KnownContainer known{};
  std::string root{};
  boost::json::object confinement{};
  std::string cgroup{};

  // Nothing that is sound and of this run is replaced.
  Result<void> make() const {
    const ContainerDirectory directory(live.directory);
    TRY(make_directories(live.directory, 0755));
    const auto kept = directory.read_supervisor();
    const bool is_of_this_run = kept && kept->process.pid == live.supervisor &&
                                is_running(kept->process) && directory.check();
    if (is_of_this_run) return {};
    const auto monitors = live_monitors();
    const bool is_client = std::none_of(monitors.begin(), monitors.end(), [&](const auto& each) {
      return each.process.pid == live.supervisor;
    });
    const auto supervisor = identify(live.supervisor);
    const ProcessId main = first_child_of(live.supervisor, live.pids);
    if (!supervisor || main.pid == 0) {
      return Error{Code::kNotFound,
                   fmt::format("{}: its first process is not known", name_of(container))};
    }
    const bool trusts_launch = kept && kept->process == *supervisor && directory.read_launch();
    for (const char* file : {"keeper.json", "main.json", "exit.json"}) {
      TRY(directory.put_aside(file));
    }
    if (!trusts_launch) {
      TRY(directory.put_aside("launch.json"));
      const int attempt = std::max(known.attempt, attempt_with_log(root, container));
      TRY(directory.write_launch(
          {.launch = {.container = container,
                      .attempt = attempt,
                      .log_path = log_path(root, container.pod, container.container, attempt),
                      .manifest = known.manifest,
                      .placement = {.cpus = live.cpus},
                      .attached = is_client ? main.pid : 0,
                      .attached_to = is_client ? supervisor->pid : 0},
           .confinement = confinement,
           .cgroup = cgroup}));
    }
    TRY(directory.write_main({.process = main, .started_at = start_of(main)}));
    return directory.write_supervisor(
        {.process = *supervisor,
         .started_at = start_of(*supervisor),
         .unrelated = is_client ? unrelated() : std::vector<ProcessId>{}});
  }

 private:
  // What descends from a client and is not of the container.
  std::vector<ProcessId> unrelated() const {
    std::vector<ProcessId> others;
    for (const pid_t pid : descendants_of(live.supervisor)) {
      if (std::find(live.pids.begin(), live.pids.end(), pid) != live.pids.end()) continue;
      if (const auto process = identify(pid)) others.push_back(*process);
    }
    return others;
  }
};

}  // namespace

ProcessId first_process_of(const ProcessId& supervisor) {
  return first_child_of(supervisor.pid, descendants_of(supervisor.pid));
}

// Whether something of the container runs, wherever it may be.
bool ProcessRuntime::is_live(const Entry& entry) const {
  const auto is_there = [](const Subject& subject) {
    return has_live(subject.confinement->processes(subject.processes()));
  };
  Subject subject = subject_of(entry);
  if (is_there(subject)) return true;
  for (const CpuOwner owner : {CpuOwner::kContainer, CpuOwner::kSharedPool}) {
    subject.place = std::make_shared<WorkPlace>(entry.path_of(
        cgroup_of(entry.container, entry.confinement->capabilities().confined_by, owner)));
    if (is_there(subject)) return true;
  }
  const auto monitors = live_monitors();
  return std::any_of(monitors.begin(), monitors.end(), [&](const LiveMonitor& monitor) {
    return monitor.directory == entry.directory.path() &&
           !descendants_of(monitor.process.pid).empty();
  });
}

// Of a container of which nothing runs.
Result<void> ProcessRuntime::check_records(Entry& entry) {
  const auto tell = [&](const std::string& trouble) {
    if (options_.on_trouble && troubled_.insert(entry.container).second) {
      options_.on_trouble(fmt::format("{}: {}", name_of(entry.container), trouble));
    }
  };
  const ContainerDirectory& directory = entry.directory;
  if (const auto exit = directory.check_exit(); !exit) {
    if (!options_.recover) {
      return Error{Code::kCorrupt,
                   fmt::format("{}; restore it, or --recover moves it aside, and how the container "
                               "ended is not known then",
                               exit.error().message)};
    }
    TRY(directory.put_aside("exit.json"));
    tell(
        fmt::format("the record of its end was damaged and is moved aside, and how it ended is "
                    "not known: {}",
                    exit.error().message));
  }
  // A power cut may leave records of a start like that.
  if (const auto content = directory.check_content(); !content) {
    tell(
        fmt::format("a record of its start is damaged; it has ended: {}", content.error().message));
  }
  return {};
}

void ProcessRuntime::rebuild(const std::vector<LiveContainer>& unknown, Done<void> done) {
  std::vector<Rebuilding> all;
  const ConfinedBy confined_by = confinement_->capabilities().confined_by;
  for (const LiveContainer& live : unknown) {
    const auto container = container_of(live.directory);
    if (!container || live.supervisor <= 0 || root_of(live.directory) != root()) continue;
    std::string cgroup = cgroup_of(*container, confined_by, CpuOwner::kContainer);
    const std::string shared = cgroup_of(*container, confined_by, CpuOwner::kSharedPool);
    if (live.cgroup.ends_with("/" + shared)) cgroup = shared;
    all.push_back({.live = live,
                   .container = *container,
                   .known = options_.recover(*container),
                   .root = root(),
                   .confinement = confinement_->describe(),
                   .cgroup = std::move(cgroup)});
    if (!options_.on_trouble) continue;
    options_.on_trouble(fmt::format("{}: its records are made anew from what runs: {}",
                                    name_of(*container), describe(live, root())));
  }
  beside(
      std::string(kListLane),
      [all = std::move(all)]() -> Result<void> {
        for (const Rebuilding& each : all) TRY(each.make());
        return {};
      },
      std::move(done));
}

}  // namespace corehold
