// SPDX-License-Identifier: Apache-2.0
#include "runtime/process_runtime.h"

#include <csignal>
#include <optional>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "runtime/process_runtime_entry.h"
#include "sys/container_mark.h"

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

Confines confines_of_client(Confines confines) {
  confines.memory_limit = 0;
  return confines;
}

milliseconds wall_millis() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

ProcessRuntime::ProcessRuntime(asio::io_context& loop, ProcessRuntimeOptions options,
                               std::unique_ptr<Confinement> confinement, OnExit on_exit)
    : loop_(loop),
      options_(std::move(options)),
      confinement_(std::move(confinement)),
      on_exit_(std::move(on_exit)) {}

ProcessRuntime::~ProcessRuntime() { *lives_ = false; }

RuntimeAbilities ProcessRuntime::abilities() const { return confinement_->abilities(); }

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
    neighbours.push_back({.container = container,
                          .mark = mark_of(*other),
                          .keeper = other->keeper,
                          .spared = other->spared});
  }
  return neighbours;
}

Body ProcessRuntime::body_of(const Entry& entry) const {
  // Its number may be another's already while the news of its end are on their way.
  return {.container = entry.container,
          .directory = entry.directory.path(),
          .keeper = is_running(entry.keeper) ? entry.keeper.pid : 0,
          .mark = mark_of(entry),
          .spared = entry.spared,
          .neighbours = neighbours_of(entry)};
}

void ProcessRuntime::tell_once(Entry& entry, const std::string& trouble) {
  if (std::exchange(entry.is_told, true) || !options_.on_trouble) return;
  options_.on_trouble(fmt::format("{}: {}", name_of(entry.container), trouble));
}

void ProcessRuntime::update(const ContainerRef& container, const Confines& confines,
                            Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) {
    return done(Error{Code::kNotFound, fmt::format("{} does not run", name_of(container))});
  }
  done(entry->confinement->confine(body_of(*entry),
                                   entry->is_attached ? confines_of_client(confines) : confines));
}

void ProcessRuntime::signal(const ContainerRef& container, int number, Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) return done({});
  if (entry->phase == Entry::Phase::kStarting) {
    // Whom it is for may not be there yet.
    entry->signals.push_back(number);
    if (number == SIGKILL) entry->is_unwanted = true;
    if (number != SIGKILL) return done({});
  }
  if (number == SIGKILL) {
    const auto killed = entry->confinement->kill(body_of(*entry));
    return done(killed ? Result<void>{} : Result<void>(killed.error()));
  }
  const auto sent = send_signal(entry->main, number);
  done(sent ? Result<void>{} : Result<void>(sent.error()));
}

void ProcessRuntime::remove(const ContainerRef& container, Done<void> done) {
  if (const auto names = check_names(container); !names) return done(names.error());
  const Entry* entry = find(container);
  if (entry != nullptr && entry->phase != Entry::Phase::kEnded) {
    return done(Error{Code::kConflict, fmt::format("{} still runs", name_of(container))});
  }
  remove_again(container, done, 0);
}

void ProcessRuntime::remove_again(const ContainerRef& container, const Done<void>& done,
                                  int tries) {
  const Entry* entry = find(container);
  const auto directory = ContainerDirectory::of(options_.root, container);
  const Body body{.container = container, .directory = directory.path()};
  const auto& confinement = entry != nullptr ? entry->confinement : confinement_;
  const auto removed = confinement->remove(body);
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
