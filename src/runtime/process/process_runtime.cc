// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/process_runtime.h"

#include <csignal>
#include <map>
#include <optional>
#include <string_view>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "runtime/process/process_runtime_entry.h"
#include "runtime/workspace/pod_files.h"
#include "runtime/workspace/podinfo.h"
#include "sys/clock.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr milliseconds kRemovePause{5};
constexpr int kRemoveTries = 2000;
// No UID of a pod: names of directories have no slash.
constexpr std::string_view kPoolLane = "/pool";

// Gives the container a cgroup outside the shared parent; on record first, so that a new agent
// looks for the container's processes there and brings them.
Result<void> move_out(const ContainerDirectory& directory, const std::string& cgroup) {
  StoredLaunch stored = TRY(directory.read_launch());
  stored.cgroup = cgroup;
  return directory.write_launch(stored);
}

struct Placed {
  CgroupPath path{};  // where the container is now
  Result<void> confined{};
};

// What is left of a container that has ended.
struct Remains {
  ContainerRef container{};
  ContainerDirectory directory;
  std::shared_ptr<const Confinement> confinement{};
  std::string cgroup{};                // "": the records tell
  std::shared_ptr<NewestCpus> cpus{};  // shared with work of the pool, which may be on its way
};

// False: the kernel still counts processes in its cgroup.
Result<bool> remove_remains(const Remains& remains) {
  if (remains.cpus) remains.cpus->close();
  ContainerProcesses left{
      .ref = remains.container, .cgroup = remains.cgroup, .directory = remains.directory.path()};
  if (left.cgroup.empty()) {
    if (const auto stored = remains.directory.read_launch()) left.cgroup = stored->cgroup;
  }
  if (left.cgroup.empty()) {
    left.cgroup = cgroup_of(remains.container, remains.confinement->capabilities().confined_by,
                            CpuOwner::kContainer);
  }
  if (!TRY(remains.confinement->remove(left))) return false;
  TRY(remains.directory.remove());
  return true;
}

}  // namespace

std::string name_of(const ContainerRef& container) {
  return fmt::format("container {} (pod {})", container.container, container.pod);
}

Placement placement_of_client(Placement placement) {
  placement.limits.memory_limit = 0;
  return placement;
}

milliseconds wall_millis() { return wall_now(); }

ProcessRuntime::ProcessRuntime(asio::io_context& loop, ProcessRuntimeOptions options,
                               std::unique_ptr<Confinement> confinement, RuntimeEvents& events)
    : loop_(loop),
      options_(std::move(options)),
      confinement_(std::move(confinement)),
      workspace_(options_.workspace),
      events_(events),
      lanes_(loop) {}

ProcessRuntime::~ProcessRuntime() { *lives_ = false; }

Capabilities ProcessRuntime::capabilities() const { return confinement_->capabilities(); }

ProcessRuntime::Entry* ProcessRuntime::find(const ContainerRef& container) {
  const auto found = entries_.find(container);
  return found == entries_.end() ? nullptr : found->second.get();
}

std::string ProcessRuntime::mark_of(const Entry& entry) const {
  return entry.is_attached ? entry.mark : pod_mark(entry.container);
}

// Only a client can be inside another container: monitors are children of an agent.
ProcessRuntime::Neighbours ProcessRuntime::neighbours() const {
  auto found = std::make_shared<std::vector<Neighbour>>();
  for (const auto& [container, entry] : entries_) {
    if (!entry->is_attached || entry->phase == Entry::Phase::kEnded) continue;
    found->push_back({.cgroup = entry->path.cgroup,
                      .mark = mark_of(*entry),
                      .supervisor = entry->supervisor,
                      .unrelated = entry->unrelated});
  }
  return found;
}

ProcessRuntime::Subject ProcessRuntime::subject_of(const Entry& entry) const {
  return subject_of(entry, neighbours());
}

ProcessRuntime::Subject ProcessRuntime::subject_of(const Entry& entry,
                                                   Neighbours neighbours) const {
  return {.confinement = entry.confinement,
          .place = entry.place,
          .directory = entry.directory,
          .supervisor = entry.supervisor,
          .container = {.ref = entry.container,
                        .shared_cpus = shared_cpus_,
                        .own_cpus = entry.cpus,
                        .directory = entry.directory.path(),
                        .mark = mark_of(entry),
                        .unrelated = entry.unrelated,
                        .neighbours = std::move(neighbours)}};
}

// A client inside a container shares the lane of that one: its processes descend from both
// supervisors, and which container they are of must not change while work looks at them.
std::string ProcessRuntime::lane_of(const ContainerRef& container, pid_t client) const {
  constexpr int kMostLevels = 256;
  if (client <= 0) return container.pod;
  std::map<pid_t, const Entry*> supervisors;
  for (const auto& [ref, entry] : entries_) {
    if (ref != container && entry->supervisor.pid > 0) {
      supervisors.emplace(entry->supervisor.pid, entry.get());
    }
  }
  pid_t pid = client;
  for (int level = 0; level < kMostLevels && pid > 1; ++level) {
    if (const auto found = supervisors.find(pid); found != supervisors.end()) {
      return found->second->lane;
    }
    const auto status = status_of(pid);
    pid = status ? status->parent : 0;
  }
  return container.pod;
}

void ProcessRuntime::tell_once(Entry& entry, const std::string& trouble) {
  if (std::exchange(entry.is_told, true) || !options_.on_trouble) return;
  options_.on_trouble(fmt::format("{}: {}", name_of(entry.container), trouble));
}

// A start may have waited for what an earlier attempt left, and the pool has moved meanwhile.
Placement ProcessRuntime::current(const Entry& entry, const Placement& placement) const {
  Placement here = entry.is_attached ? placement_of_client(placement) : placement;
  if (here.owner == CpuOwner::kSharedPool && pool_) here.cpus = *pool_;
  return here;
}

std::vector<std::string> ProcessRuntime::mistakes(const Pod& pod) const {
  std::vector<std::string> found = unrunnable_of(pod);
  const Capabilities capabilities = confinement_->capabilities();
  if (partition_of(pod.annotations) != CpuPartition::kNone && !capabilities.has_partitions) {
    found.push_back(fmt::format(
        "metadata.annotations[{}]: a partition needs cgroup v2 of Linux "
        "6.8 or newer; this node has {}{}",
        kQuietAnnotation,
        capabilities.confined_by == ConfinedBy::kCgroupV2 ? "an older kernel with " : "",
        name_of(capabilities.confined_by)));
  }
  return found;
}

void ProcessRuntime::place(const ContainerRef& container, const Placement& placement,
                           Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) {
    return done(Error{Code::kNotFound, fmt::format("{} does not run", name_of(container))});
  }
  const Placement here = current(*entry, placement);
  entry->cpus->announce(here.cpus);
  // A start that has not come to its confinement yet gets what was asked for last.
  if (entry->launch && !entry->is_beginning) {
    const bool is_client = entry->launch->attached > 0;
    entry->launch->placement = is_client ? placement_of_client(placement) : placement;
  }
  const ConfinedBy confined_by = entry->confinement->capabilities().confined_by;
  const CgroupPath own = entry->path_of(cgroup_of(container, confined_by, CpuOwner::kContainer));
  beside(
      *entry,
      [subject = subject_of(*entry), survey = survey_for_start(), here, own]() -> Result<Placed> {
        TRY(survey.check(here, subject));
        // Below the shared parent the kernel gives a container no CPUs but the parent's.
        const bool moves = here.owner == CpuOwner::kContainer && !here.cpus.empty() &&
                           !subject.place->path().shared_parent.empty();
        if (!moves) {
          return Placed{.path = subject.place->path(),
                        .confined = subject.confinement->confine(subject.processes(), here)};
        }
        const ContainerProcesses left = subject.processes();
        TRY(move_out(subject.directory, own.cgroup));
        subject.place->move_to(own);
        const auto confined = subject.confinement->confine(subject.processes(), here);
        static_cast<void>(subject.confinement->remove(left));
        return Placed{.path = own, .confined = confined};
      },
      [this, done](Entry& current, const Result<Placed>& placed) {
        if (!placed) return done(placed.error());
        current.path = placed->path;
        watch_partition(current);
        done(placed->confined);
      });
}

void ProcessRuntime::place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                                  Done<void> done) {
  pool_ = cpus;
  // Before any start is queued after this: such a start writes these CPUs, not earlier ones.
  shared_cpus_->announce(cpus);
  // One write moves all containers below the shared parent of a confinement, and mostly there is
  // one confinement. The others are moved one by one.
  std::map<std::shared_ptr<const Confinement>, std::string> parents;
  std::vector<Subject> others;
  const Neighbours around = neighbours();
  for (const ContainerRef& member : members) {
    const Entry* entry = find(member);
    if (entry == nullptr || entry->phase == Entry::Phase::kEnded) continue;
    // A container that has not begun joins the pool when it does.
    if (entry->launch && !entry->is_beginning) continue;
    if (entry->path.shared_parent.empty()) {
      entry->cpus->announce(cpus);
      others.push_back(subject_of(*entry, around));
    } else {
      parents.emplace(entry->confinement, entry->path.shared_parent);
    }
  }
  beside(
      std::string(kPoolLane),
      [shared = shared_cpus_, parents, others = std::move(others), cpus]() -> Result<void> {
        Result<void> all = shared->use(cpus, [&](const CpuSet& newest) -> Result<void> {
          Result<void> set;
          for (const auto& [confinement, parent] : parents) {
            const auto one = confinement->set_cpus({.cgroup = parent}, newest);
            if (!one && set) set = one;
          }
          return set;
        });
        for (const Subject& subject : others) {
          const auto one = subject.follow_pool(cpus);
          if (!one && all) all = one;
        }
        return all;
      },
      done);
}

Result<void> ProcessRuntime::Subject::follow_pool(const CpuSet& cpus) const {
  while (true) {
    const ContainerProcesses now = processes();
    TRY(confinement->set_cpus(now, cpus));
    // A monitor that has been started meanwhile may have begun with the CPUs of before.
    if (processes().supervisor == now.supervisor) return {};
  }
}

void ProcessRuntime::write_podinfo(const Pod& pod, const AssignedByContainer& assigned,
                                   Done<void> done) {
  beside(
      pod.uid,
      [context = options_.workspace.context, pod, assigned] {
        return corehold::write_podinfo(pod, assigned, context);
      },
      done);
}

void ProcessRuntime::remove_pod(const std::string& uid, Done<void> done) {
  beside(
      uid,
      [root = root(), uid, launcher = options_.workspace.launcher] {
        return remove_pod_files(root, uid, launcher);
      },
      done);
}

void ProcessRuntime::remove(const ContainerRef& container, Done<void> done) {
  if (const auto names = check_names(container); !names) return done(names.error());
  remove_again(container, done, 0);
}

void ProcessRuntime::remove_again(const ContainerRef& container, const Done<void>& done,
                                  int tries) {
  const Entry* entry = find(container);
  if (entry != nullptr && entry->phase != Entry::Phase::kEnded) {
    return done(Error{Code::kConflict, fmt::format("{} still runs", name_of(container))});
  }
  const std::uint64_t generation = entry == nullptr ? 0 : entry->generation;
  Remains remains{.container = container,
                  .directory = ContainerDirectory::of(root(), container),
                  .confinement = entry != nullptr ? entry->confinement : confinement_};
  if (entry != nullptr) {
    remains.cgroup = entry->path.cgroup;
    remains.cpus = entry->cpus;
  }
  beside(
      entry != nullptr ? entry->lane : container.pod, [remains] { return remove_remains(remains); },
      [this, container, done, tries, generation](const Result<bool>& removed) {
        if (!removed) {
          return done(wrap(fmt::format("remove {}", name_of(container)), removed.error()));
        }
        if (*removed) {
          const Entry* current = find(container);
          if (current != nullptr && current->generation == generation) forget(container);
          return done({});
        }
        if (tries >= kRemoveTries) {
          return done(Error{
              Code::kIo, fmt::format("remove {}: its cgroup is still in use", name_of(container))});
        }
        // Lives in its handler.
        auto timer = std::make_shared<asio::steady_timer>(loop_, kRemovePause);
        timer->async_wait(
            [this, lives = lives_, timer, container, done, tries](boost::system::error_code error) {
              if (*lives && !error) remove_again(container, done, tries + 1);
            });
      });
}

}  // namespace corehold
