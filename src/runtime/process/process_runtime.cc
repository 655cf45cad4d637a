// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/process_runtime.h"

#include <csignal>
#include <optional>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "runtime/process/process_runtime_entry.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr milliseconds kRemovePause{5};
constexpr int kRemoveTries = 2000;

}  // namespace

std::string name_of(const ContainerRef& container) {
  return fmt::format("container {} (pod {})", container.container, container.pod);
}

Placement placement_of_client(Placement placement) {
  placement.limits.memory_limit = 0;
  return placement;
}

milliseconds wall_millis() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

ProcessRuntime::ProcessRuntime(asio::io_context& loop, ProcessRuntimeOptions options,
                               std::unique_ptr<Confinement> confinement, RuntimeEvents& events)
    : loop_(loop),
      options_(std::move(options)),
      confinement_(std::move(confinement)),
      workspace_(options_.workspace),
      events_(events) {}

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
std::vector<Neighbour> ProcessRuntime::neighbours_of(const Entry& entry) const {
  std::vector<Neighbour> neighbours;
  for (const auto& [container, other] : entries_) {
    if (other.get() == &entry || !other->is_attached) continue;
    if (other->phase == Entry::Phase::kEnded) continue;
    neighbours.push_back({.cgroup = other->cgroup,
                          .mark = mark_of(*other),
                          .supervisor = other->supervisor,
                          .unrelated = other->unrelated});
  }
  return neighbours;
}

ContainerProcesses ProcessRuntime::processes_of(const Entry& entry) const {
  // Its number may be another's already while the news of its end are on their way.
  return {.ref = entry.container,
          .cgroup = entry.cgroup,
          .shared_parent = entry.shared_parent,
          .directory = entry.directory.path(),
          .supervisor = is_running(entry.supervisor) ? entry.supervisor.pid : 0,
          .mark = mark_of(entry),
          .unrelated = entry.unrelated,
          .neighbours = neighbours_of(entry)};
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

void ProcessRuntime::place(const ContainerRef& container, const Placement& placement,
                           Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) {
    return done(Error{Code::kNotFound, fmt::format("{} does not run", name_of(container))});
  }
  const Placement here = current(*entry, placement);
  if (here.owner == CpuOwner::kContainer && !unknown_.empty()) {
    // CPUs that the container has it keeps.
    const auto view = entry->confinement->look(processes_of(*entry));
    const auto checked = check_unknown(view ? here.cpus - view->cpus : here.cpus);
    if (!checked) return done(checked.error());
  }
  ContainerProcesses processes = processes_of(*entry);
  // Below the shared parent the kernel gives a container no CPUs but the parent's.
  if (here.owner == CpuOwner::kContainer && !here.cpus.empty() &&
      !processes.shared_parent.empty()) {
    if (const auto moved = move_out(*entry); !moved) return done(moved.error());
    const ContainerProcesses left = std::exchange(processes, processes_of(*entry));
    const auto confined = entry->confinement->confine(processes, here);
    static_cast<void>(entry->confinement->remove(left));
    return done(confined);
  }
  done(entry->confinement->confine(processes, here));
}

// Gives the container a cgroup outside the shared parent; on record first, so that a new agent
// looks for the container's processes there and brings them.
Result<void> ProcessRuntime::move_out(Entry& entry) {
  StoredLaunch stored = TRY(entry.directory.read_launch());
  stored.cgroup = cgroup_of(entry.container, entry.confinement->capabilities().confined_by,
                            CpuOwner::kContainer);
  TRY(entry.directory.write_launch(stored));
  entry.confine_in(stored.cgroup);
  return {};
}

void ProcessRuntime::place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                                  Done<void> done) {
  pool_ = cpus;
  // One write moves all containers below the shared parent of a confinement, and mostly there is
  // one confinement.
  std::set<const Confinement*> moved;
  std::optional<Error> failed;
  for (const ContainerRef& member : members) {
    const Entry* entry = find(member);
    // A container that has not begun joins the pool when it does.
    if (entry == nullptr || entry->phase == Entry::Phase::kEnded || entry->launch) continue;
    const bool follows = !entry->shared_parent.empty();
    if (follows && !moved.insert(entry->confinement.get()).second) continue;
    const auto set = entry->confinement->set_cpus(
        follows ? ContainerProcesses{.cgroup = entry->shared_parent} : processes_of(*entry), cpus);
    if (!set && !failed) failed = set.error();
  }
  if (failed) return done(*failed);
  done({});
}

void ProcessRuntime::write_podinfo(const Pod& pod, const AssignedByContainer& assigned,
                                   Done<void> done) {
  done(workspace_.write_podinfo(pod, assigned));
}

void ProcessRuntime::remove_pod(const std::string& uid, Done<void> done) {
  done(workspace_.remove(uid));
}

void ProcessRuntime::remove(const ContainerRef& container, Done<void> done) {
  if (const auto names = check_names(container); !names) return done(names.error());
  remove_again(container, done, 0);
}

ContainerProcesses ProcessRuntime::remains_of(const ContainerRef& container) {
  const auto directory = ContainerDirectory::of(root(), container);
  const Entry* entry = find(container);
  ContainerProcesses remains{.ref = container, .directory = directory.path()};
  if (entry != nullptr) {
    remains.cgroup = entry->cgroup;
  } else if (const auto stored = directory.read_launch()) {
    remains.cgroup = stored->cgroup;
  }
  if (remains.cgroup.empty()) {
    remains.cgroup = cgroup_of(container, capabilities().confined_by, CpuOwner::kContainer);
  }
  return remains;
}

void ProcessRuntime::remove_again(const ContainerRef& container, const Done<void>& done,
                                  int tries) {
  const Entry* entry = find(container);
  if (entry != nullptr && entry->phase != Entry::Phase::kEnded) {
    return done(Error{Code::kConflict, fmt::format("{} still runs", name_of(container))});
  }
  const auto directory = ContainerDirectory::of(root(), container);
  const ContainerProcesses remains = remains_of(container);
  const auto& confinement = entry != nullptr ? entry->confinement : confinement_;
  const auto removed = confinement->remove(remains);
  if (!removed) return done(wrap(fmt::format("remove {}", name_of(container)), removed.error()));
  if (*removed) {
    const auto gone = directory.remove();
    if (gone) entries_.erase(container);
    return done(gone);
  }
  if (tries >= kRemoveTries) {
    return done(
        Error{Code::kIo, fmt::format("remove {}: its cgroup is still in use", name_of(container))});
  }
  auto timer = std::make_shared<asio::steady_timer>(loop_, kRemovePause);  // lives in its handler
  timer->async_wait(
      [this, lives = lives_, timer, container, done, tries](boost::system::error_code error) {
        if (*lives && !error) remove_again(container, done, tries + 1);
      });
}

}  // namespace corehold
