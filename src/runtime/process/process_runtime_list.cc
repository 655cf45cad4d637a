// SPDX-License-Identifier: Apache-2.0
//
// How the process runtime finds containers again that an earlier agent has started.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "runtime/monitor/live_processes.h"
#include "runtime/process/process_runtime_entry.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

namespace asio = boost::asio;

using Lines = std::vector<std::string>;

constexpr std::chrono::milliseconds kListPause{5};
constexpr std::chrono::milliseconds kPartitionLook{500};
// No UID of a pod: names of directories have no slash.
constexpr std::string_view kLookLane = "/look";

}  // namespace

// What became of a container whose supervisor has gone.
struct ProcessRuntime::Orphan {
  Result<std::size_t> left{0};  // processes
  bool has_run = false;
  bool is_of_another_run = false;  // nothing was done
  std::optional<ContainerExit> exit{};
  std::optional<Error> trouble{};  // with the removal of a container that has never run
};

// A list() that is under way.
struct ProcessRuntime::Listing {
  Done<std::vector<SeenContainer>> done{};
  std::chrono::steady_clock::time_point until{};
  Patience patience = Patience::kWaits;
  bool is_complete = true;
  bool is_rebuilt = false;  // rebuild() has done what it can
  std::vector<std::unique_ptr<Entry>> orphans{};
  std::size_t awaited = 0;  // orphans
};

void ProcessRuntime::list(Done<std::vector<SeenContainer>> done) {
  // Shared by the steps of the list, the last of which answers.
  auto listing = std::make_shared<Listing>();
  listing->done = std::move(done);
  listing->until = std::chrono::steady_clock::now() + options_.list_timeout;
  if (std::exchange(is_swept_, true)) return list_again(listing);
  beside(
      std::string(kListLane),
      [root = root(), recovers = static_cast<bool>(options_.recover)]() -> Result<Lines> {
        ContainerDirectory::sweep(root);
        if (!recovers) return Lines{};
        return ContainerDirectory::put_links_aside(root);
      },
      [this, listing](const Result<Lines>& told) {
        if (!told) return listing->done(told.error());
        for (const std::string& line : *told) {
          if (options_.on_trouble) options_.on_trouble(line);
        }
        list_again(listing);
      });
}

void ProcessRuntime::list_again(const std::shared_ptr<Listing>& listing) {
  beside(
      std::string(kListLane), [root = root()] { return ContainerDirectory::all(root); },
      [this, listing](const Result<std::vector<ContainerRef>>& containers) {
        if (!containers) return listing->done(containers.error());
        adopt_all(listing, *containers);
      });
}

void ProcessRuntime::adopt_all(const std::shared_ptr<Listing>& listing,
                               const std::vector<ContainerRef>& containers) {
  listing->patience =
      std::chrono::steady_clock::now() < listing->until ? Patience::kWaits : Patience::kIsOver;
  listing->is_complete = true;
  listing->orphans.clear();
  for (const ContainerRef& container : containers) {
    if (find(container) != nullptr) continue;
    const auto adopted = adopt(*listing, container);
    if (adopted) continue;
    if (adopted.error().code != Code::kConflict) {
      return listing->done(wrap(name_of(container), adopted.error()));
    }
    listing->is_complete = false;
  }
  adopt_orphans(listing);
}

void ProcessRuntime::adopt_orphans(const std::shared_ptr<Listing>& listing) {
  listing->awaited = listing->orphans.size();
  if (listing->awaited == 0) return end_round(listing);
  for (std::size_t index = 0; index < listing->orphans.size(); ++index) {
    const Entry& entry = *listing->orphans[index];
    beside(
        entry.lane,
        [subject = subject_of(entry), exit = entry.exit, is_on_record = entry.is_on_record,
         attempt = entry.attempt]() -> Result<Orphan> {
          if (subject.is_of_another_run(is_on_record)) return Orphan{.is_of_another_run = true};
          Orphan orphan{.left = subject.kill(),
                        .has_run = exit || subject.directory.has_main(),
                        .exit = exit};
          if (!orphan.left || *orphan.left > 0) return orphan;
          if (!orphan.has_run) {
            // Its start was never let go.
            static_cast<void>(subject.remove());
            if (const auto gone = subject.directory.remove(); !gone) orphan.trouble = gone.error();
          } else if (!exit) {
            orphan.exit = ContainerExit{
                .code = 137, .cause = ExitCause::kUnknown, .finished_at = wall_millis()};
            static_cast<void>(subject.directory.write_exit(*orphan.exit, attempt));
          }
          return orphan;
        },
        [this, listing, index](const Result<Orphan>& orphan) {
          adopt_without_supervisor(*listing, std::move(listing->orphans[index]),
                                   orphan ? *orphan : Orphan{.left = orphan.error()});
          if (--listing->awaited == 0) end_round(listing);
        });
  }
}

// A container without a supervisor becomes an orphan of the listing. Fails with kConflict as long
// as there is patience, while it cannot be told whether the container will start.
Result<void> ProcessRuntime::adopt(Listing& listing, const ContainerRef& container) {
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
  entry.is_on_record = static_cast<bool>(stored);
  entry.confine_in(stored && !stored->cgroup.empty()
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
  // Survey::find() names a container that runs and whose records cannot be believed.
  entry.supervisor = supervisor ? supervisor->process : ProcessId{};
  if (const auto sound = directory.check(); !sound) {
    if (is_live(entry)) return {};
    TRY(check_records(entry));
  }
  entry.supervisor = {};
  if (const auto kept = directory.read_exit()) {
    entry.exit = kept->exit;
    if (!stored) entry.attempt = kept->attempt.value_or(0);
  }
  const bool is_supervised = !entry.exit && supervisor && is_running(supervisor->process);
  if (is_supervised) {
    if (!directory.has_main() && listing.patience == Patience::kWaits) {
      return Error{Code::kConflict, "its monitor has not started it yet"};
    }
    entry.supervisor = supervisor->process;
    entry.lane = lane_of(container, entry.is_attached ? supervisor->process.pid : 0);
    if (!directory.has_main()) entry.main = first_process_of(entry.supervisor);
    entry.phase = Entry::Phase::kRunning;
    entries_[container] = std::move(made);
    const auto watched = watch(entry);
    if (watched) return {};
    made = std::move(entries_[container]);
    entries_.erase(container);
    if (watched.error().code != Code::kNotFound) return watched.error();
    // It has gone in this moment.
    entry.supervisor = {};
    if (const auto kept = directory.read_exit()) entry.exit = kept->exit;
  }
  entry.lane = container.pod;
  listing.orphans.push_back(std::move(made));
  return {};
}

void ProcessRuntime::adopt_without_supervisor(Listing& listing, std::unique_ptr<Entry> made,
                                              const Orphan& orphan) {
  Entry& entry = *made;
  const ContainerRef container = entry.container;
  if (find(container) != nullptr || orphan.is_of_another_run) return;
  if (!orphan.left || *orphan.left > 0) {
    if (listing.patience == Patience::kWaits) {
      // Its processes are being killed.
      listing.is_complete = false;
      return;
    }
    // The container keeps its CPUs; the other containers are listed.
    entry.phase = Entry::Phase::kEnding;
    entry.pause = kLongestPause;
    entries_[container] = std::move(made);
    return later(entry, kShortestPause, [this](Entry& current) { wait_for_end(current); });
  }
  if (!orphan.has_run) {
    if (orphan.trouble && options_.on_trouble && troubled_.insert(container).second) {
      options_.on_trouble(wrap(name_of(container), *orphan.trouble).message);
    }
    return;
  }
  entry.phase = Entry::Phase::kEnded;
  entry.exit = orphan.exit;
  entries_[container] = std::move(made);
}

void ProcessRuntime::list_later(const std::shared_ptr<Listing>& listing) {
  auto timer = std::make_shared<asio::steady_timer>(loop_, kListPause);  // lives in its handler
  timer->async_wait([this, lives = lives_, timer, listing](boost::system::error_code error) {
    if (*lives && !error) list_again(listing);
  });
}

// A round is over: the next, or a look at what runs and is not of this runtime, and the answer.
void ProcessRuntime::end_round(const std::shared_ptr<Listing>& listing) {
  if (!listing->is_complete) return list_later(listing);
  ++looks_;
  beside(
      std::string(kLookLane), [survey = survey()] { return survey.find(); },
      [this, listing](const Result<std::vector<LiveContainer>>& found) {
        const auto unknown = still_unknown(found);
        if (--looks_ == 0) left_.clear();
        if (!unknown) {
          return listing->done(wrap("look for containers that are not known", unknown.error()));
        }
        if (!was_listed_ && !unknown->empty()) {
          // A container may be ending.
          if (listing->patience == Patience::kWaits) return list_later(listing);
          if (options_.recover && !listing->is_rebuilt) {
            listing->is_rebuilt = true;
            return rebuild(*unknown, [this, listing](const Result<void>& made) {
              if (made) return list_again(listing);
              listing->done(wrap("make records of containers anew", made.error()));
            });
          }
          return listing->done(unknown_containers(
              *unknown, root(), options_.recover ? Recovery::kFailed : Recovery::kNotAsked));
        }
        was_listed_ = true;
        note_unknown(*unknown);
        look(listing);
      });
}

// The answer, with what the kernel says now.
void ProcessRuntime::look(const std::shared_ptr<Listing>& listing) {
  std::map<std::uint64_t, Subject> subjects;  // by generation
  const Neighbours around = neighbours();
  for (const auto& [container, entry] : entries_) {
    if (entry->phase == Entry::Phase::kEnded) continue;
    Subject subject = subject_of(*entry, around);
    // In a lane of its own, so that a list waits for no container's other work.
    subject.place = std::make_shared<WorkPlace>(entry->path);
    subjects.emplace(entry->generation, std::move(subject));
  }
  using Views = std::map<std::uint64_t, Result<KernelView>>;
  beside(
      std::string(kLookLane),
      [subjects = std::move(subjects)]() -> Result<Views> {
        Views views;
        for (const auto& [generation, subject] : subjects) {
          views.emplace(generation, subject.confinement->look(subject.processes()));
        }
        return views;
      },
      [this, listing](const Result<Views>& views) {
        if (!views) return listing->done(views.error());
        std::vector<SeenContainer> all;
        all.reserve(entries_.size());
        for (const auto& [container, entry] : entries_) {
          SeenContainer& one = all.emplace_back(seen(*entry));
          const auto view = views->find(entry->generation);
          // A container that has begun since then: what it was given is so.
          if (!one.running || view == views->end()) continue;
          if (view->second) {
            one.cpus = view->second->cpus;
            one.partition = view->second->partition;
          }
          one.strayed =
              !view->second || (entry->phase == Entry::Phase::kRunning && view->second->strayed);
        }
        listing->done(std::move(all));
      });
}

// The kernel says when somebody's write ends a partition: the node looks at once and repairs it.
// Linux 6.12 does not say it of a partition that another cgroup's CPUs have ended, so the file is
// read every half second as well.
void ProcessRuntime::watch_partition(Entry& entry) {
  const std::string file = entry.confinement->watched({.cgroup = entry.path.cgroup});
  boost::system::error_code ignored;
  entry.partition.close(ignored);
  if (file.empty()) return;
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return;  // the container has ended
  entry.partition.assign(opened, ignored);
  if (ignored) return;
  entry.partition_text.clear();
  if (!look_at_partition(entry)) return;
  await_partition_notice(entry);
  await_partition_look(entry);
}

bool ProcessRuntime::look_at_partition(Entry& entry) {
  if (!entry.partition.is_open()) return false;
  std::array<char, 256> text{};
  const ssize_t size = ::pread(entry.partition.native_handle(), text.data(), text.size(), 0);
  if (size < 0) {
    boost::system::error_code ignored;
    entry.partition.close(ignored);  // the container has ended
    return false;
  }
  std::string now(text.data(), static_cast<std::size_t>(size));
  const bool is_news = !entry.partition_text.empty() && now != entry.partition_text;
  entry.partition_text = std::move(now);
  if (is_news) events_.synchronized({});
  return true;
}

void ProcessRuntime::await_partition_notice(Entry& entry) {
  entry.partition.async_wait(
      asio::posix::stream_descriptor::wait_error,
      guarded(entry, [this](Entry& current, boost::system::error_code error) {
        if (error == asio::error::operation_aborted) return;
        if (look_at_partition(current)) await_partition_notice(current);
      }));
}

void ProcessRuntime::await_partition_look(Entry& entry) {
  entry.partition_look.expires_after(kPartitionLook);
  entry.partition_look.async_wait(
      guarded(entry, [this](Entry& current, boost::system::error_code error) {
        if (error == asio::error::operation_aborted) return;
        if (look_at_partition(current)) await_partition_look(current);
      }));
}

SeenContainer ProcessRuntime::seen(const Entry& entry) {
  SeenContainer container{.container = entry.container,
                          .attempt = entry.attempt,
                          .running = entry.phase != Entry::Phase::kEnded,
                          .started_at = entry.started_at};
  entry.pod.show(container);
  if (container.running) return container;
  container.exit = entry.exit;
  if (container.exit) container.exit->started_at = entry.started_at;
  return container;
}

}  // namespace corehold
