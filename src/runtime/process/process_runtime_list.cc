// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime finds containers again that an earlier agent has started.
#include <algorithm>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "runtime/monitor/live_processes.h"
#include "runtime/process/process_runtime_entry.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kListPause{5};

}  // namespace

void ProcessRuntime::list(Done<std::vector<SeenContainer>> done) {
  if (!std::exchange(is_swept_, true)) ContainerDirectory::sweep(root());
  list_again(done, std::chrono::steady_clock::now() + options_.list_timeout);
}

void ProcessRuntime::list_again(const Done<std::vector<SeenContainer>>& done,
                                std::chrono::steady_clock::time_point until) {
  const auto containers = ContainerDirectory::all(root());
  if (!containers) return done(containers.error());
  const Patience patience =
      std::chrono::steady_clock::now() < until ? Patience::kWaits : Patience::kIsOver;
  bool is_complete = true;
  for (const ContainerRef& container : *containers) {
    if (find(container) != nullptr) continue;
    const auto adopted = adopt(container, patience);
    if (adopted) continue;
    if (adopted.error().code != Code::kConflict) {
      return done(wrap(name_of(container), adopted.error()));
    }
    is_complete = false;
  }
  if (!is_complete) return list_later(done, until);
  auto unknown = find_unknown();
  if (!unknown) return done(wrap("look for containers that are not known", unknown.error()));
  if (!was_listed_ && !unknown->empty()) {
    // A container may be ending.
    if (patience == Patience::kWaits) return list_later(done, until);
    return done(unknown_containers(*unknown, root()));
  }
  was_listed_ = true;
  note_unknown(*std::move(unknown));
  std::vector<SeenContainer> all;
  all.reserve(entries_.size());
  for (const auto& [container, entry] : entries_) all.push_back(seen(*entry));
  done(std::move(all));
}

void ProcessRuntime::list_later(const Done<std::vector<SeenContainer>>& done,
                                std::chrono::steady_clock::time_point until) {
  auto timer = std::make_shared<asio::steady_timer>(loop_, kListPause);  // lives in its handler
  timer->async_wait([this, lives = lives_, timer, done, until](boost::system::error_code error) {
    if (*lives && !error) list_again(done, until);
  });
}

// Whether what runs is not what the records are of: some are lost, or they are older. Nothing is
// killed on the word of such records; find_unknown() names the container.
bool ProcessRuntime::is_of_another_run(const Entry& entry, bool is_on_record) const {
  const auto processes = entry.confinement->processes(processes_of(entry));
  if (!processes || std::all_of(processes->begin(), processes->end(), has_ended)) return false;
  if (!is_on_record) return true;
  if (entry.directory.has_main() && !entry.directory.read_supervisor()) return true;
  const auto monitors = live_monitors();
  return std::any_of(monitors.begin(), monitors.end(), [&](const LiveMonitor& monitor) {
    return monitor.directory == entry.directory.path() && monitor.process != entry.supervisor;
  });
}

// Fails with kConflict as long as there is patience: while processes of a container without a
// supervisor are left, and while it cannot be told whether it will start.
Result<void> ProcessRuntime::adopt(const ContainerRef& container, Patience patience) {
  const auto directory = ContainerDirectory::of(root(), container);
  auto made = std::make_unique<Entry>(loop_, container, directory);
  Entry& entry = *made;
  entry.generation = next_generation_++;
  entry.confinement = confinement_;
  const auto stored = directory.read_launch();
  if (stored) {
    entry.attempt = stored->launch.attempt;
    entry.pod = read_kept_pod(stored->launch.manifest);
    entry.is_attached = stored->launch.attached > 0;
    if (stored->confinement != confinement_->describe()) {
      if (auto opened = open_confinement(stored->confinement)) {
        entry.confinement = std::move(*opened);
      }
    }
  }
  const bool is_on_record = stored && !stored->cgroup.empty();
  entry.confine_in(is_on_record
                       ? stored->cgroup
                       : cgroup_of(container, entry.confinement->capabilities().confined_by,
                                   CpuOwner::kContainer));
  if (const auto main = directory.read_main()) {
    entry.main = main->process;
    entry.started_at = main->started_at;
  }
  const auto supervisor = directory.read_supervisor();
  if (supervisor) {
    entry.mark = run_mark(supervisor->process);
    entry.unrelated = supervisor->unrelated;
  }
  entry.exit = directory.read_exit();
  const bool is_supervised = !entry.exit && supervisor && is_running(supervisor->process);
  if (is_supervised) entry.supervisor = supervisor->process;
  if ((!is_supervised || !stored) && is_of_another_run(entry, static_cast<bool>(stored))) return {};
  if (is_supervised) {
    if (!directory.has_main() && patience == Patience::kWaits) {
      return Error{Code::kConflict, "its monitor has not started it yet"};
    }
    entry.phase = Entry::Phase::kRunning;
    entries_[container] = std::move(made);
    const auto watched = watch(entry);
    if (watched) return {};
    made = std::move(entries_[container]);
    entries_.erase(container);
    if (watched.error().code != Code::kNotFound) return watched.error();
    // It has gone in this moment.
    entry.supervisor = {};
    entry.exit = directory.read_exit();
  }
  return adopt_without_supervisor(std::move(made), patience);
}

Result<void> ProcessRuntime::adopt_without_supervisor(std::unique_ptr<Entry> made,
                                                      Patience patience) {
  Entry& entry = *made;
  const auto left = entry.confinement->kill(processes_of(entry));
  if (!left || *left > 0) {
    if (patience == Patience::kWaits) {
      return Error{Code::kConflict, "its monitor has gone, and its processes are being killed"};
    }
    // The container keeps its CPUs; the other containers are listed.
    entry.phase = Entry::Phase::kEnding;
    entry.pause = kLongestPause;
    entries_[entry.container] = std::move(made);
    later(entry, kShortestPause, [this](Entry& current) { wait_for_end(current); });
    return {};
  }
  if (!entry.directory.has_main() && !entry.exit) {
    // Its start was never let go.
    static_cast<void>(entry.confinement->remove(processes_of(entry)));
    const auto removed = entry.directory.remove();
    if (!removed && options_.on_trouble && troubled_.insert(entry.container).second) {
      options_.on_trouble(wrap(name_of(entry.container), removed.error()).message);
    }
    return {};
  }
  entry.phase = Entry::Phase::kEnded;
  if (!entry.exit) {
    entry.exit =
        ContainerExit{.code = 137, .cause = ExitCause::kUnknown, .finished_at = wall_millis()};
    static_cast<void>(entry.directory.write_exit(*entry.exit));
  }
  const ContainerRef container = entry.container;
  entries_[container] = std::move(made);
  return {};
}

SeenContainer ProcessRuntime::seen(const Entry& entry) const {
  SeenContainer container{.container = entry.container,
                          .attempt = entry.attempt,
                          .running = entry.phase != Entry::Phase::kEnded,
                          .started_at = entry.started_at};
  entry.pod.show(container);
  if (!container.running) {
    container.exit = entry.exit;
    if (container.exit) container.exit->started_at = entry.started_at;
    return container;
  }
  const auto view = entry.confinement->look(processes_of(entry));
  if (view) {
    container.cpus = view->cpus;
    container.strayed = entry.phase == Entry::Phase::kRunning && view->strayed;
  } else {
    container.strayed = true;
  }
  return container;
}

}  // namespace corehold
