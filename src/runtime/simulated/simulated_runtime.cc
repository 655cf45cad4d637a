// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/simulated_runtime.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "runtime/container_directory.h"
#include "runtime/manifest.h"
#include "sys/clock.h"
#include "sys/file/file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds kKillAgain{10'000};
constexpr milliseconds kLongestGrace = std::chrono::hours{24 * 365};

milliseconds wall_millis() { return wall_now(); }

// When a command ends by itself, and with which code.
struct Fate {
  milliseconds after{};
  int code = 0;
};

std::optional<Fate> fate_of(const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  const std::string name = command[0].substr(command[0].rfind('/') + 1);
  if (name == "true") return Fate{};
  if (name == "false") return Fate{.code = 1};
  if (name != "sleep" || command.size() != 2) return std::nullopt;
  const std::string& word = command[1];
  double seconds = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  if (error != std::errc{} || end != word.data() + word.size() || seconds < 0) return std::nullopt;
  constexpr double kLongest = 1e9;
  return Fate{.after = milliseconds(static_cast<std::int64_t>(std::min(seconds, kLongest) * 1000))};
}

std::int64_t integer_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

// The machine is left alone.
WorkspaceOptions without_mounts(WorkspaceOptions options) {
  options.launcher = Launcher::without_mounts();
  return options;
}

}  // namespace

struct SimulatedRuntime::Entry {
  explicit Entry(asio::io_context& loop) : timer(loop), client(loop), kill_timer(loop) {}

  SeenContainer seen{};
  std::string manifest{};
  std::optional<ContainerExit> fate{};  // how it will end by itself, and when
  ProcessId supervisor{};               // the client of `corehold run`
  asio::steady_timer timer;
  asio::posix::stream_descriptor client;
  // When a client is killed; no value: nothing has asked it to end.
  std::optional<std::chrono::steady_clock::time_point> kill_at{};
  asio::steady_timer kill_timer;

  json::object to_json() const;
  static Result<void> from_json(const json::object& object, Entry& entry);
};

json::object SimulatedRuntime::Entry::to_json() const {
  json::object object{{"pod", seen.container.pod},
                      {"container", seen.container.container},
                      {"attempt", seen.attempt},
                      {"running", seen.running},
                      {"cpus", seen.cpus.str()},
                      {"startedAt", seen.started_at.count()},
                      {"manifest", manifest},
                      {"keeper", supervisor.pid},
                      {"keeperStartTime", supervisor.start_time},
                      {"bootId", boot_id()}};
  if (seen.exit) object["exit"] = exit_to_json(*seen.exit);
  if (fate) object["fate"] = exit_to_json(*fate);
  return object;
}

Result<void> SimulatedRuntime::Entry::from_json(const json::object& object, Entry& entry) {
  SeenContainer& seen = entry.seen;
  seen.container = {.pod = text_in(object, "pod"), .container = text_in(object, "container")};
  seen.attempt = static_cast<int>(integer_in(object, "attempt"));
  const json::value* running = field(object, "running");
  seen.running = running != nullptr && running->is_bool() && running->get_bool();
  seen.cpus = TRY(CpuSet::parse(text_in(object, "cpus")));
  seen.started_at = milliseconds(integer_in(object, "startedAt"));
  entry.manifest = text_in(object, "manifest");
  read_kept_pod(entry.manifest).show(seen);
  if (text_in(object, "bootId") == boot_id()) {
    entry.supervisor = {
        .pid = static_cast<pid_t>(integer_in(object, "keeper")),
        .start_time = static_cast<std::uint64_t>(integer_in(object, "keeperStartTime"))};
  }
  // A client that was there before the machine was booted has gone.
  const bool had_client = integer_in(object, "keeper") > 0;
  seen.exit = exit_from_json(text_in(object, "exit"));
  entry.fate = exit_from_json(text_in(object, "fate"));
  if (seen.running && had_client && !is_running(entry.supervisor)) {
    seen.running = false;
    seen.exit = ContainerExit{.cause = ExitCause::kUnknown, .finished_at = wall_millis()};
  }
  if (seen.running && entry.fate && entry.fate->finished_at <= wall_millis()) {
    seen.running = false;
    seen.exit = entry.fate;
  }
  return {};
}

SimulatedRuntime::SimulatedRuntime(asio::io_context& loop, std::string path,
                                   WorkspaceOptions workspace, RuntimeEvents& events)
    : loop_(loop),
      journal_(std::move(path)),
      workspace_(without_mounts(std::move(workspace))),
      events_(events) {}

SimulatedRuntime::~SimulatedRuntime() { *lives_ = false; }

Capabilities SimulatedRuntime::capabilities() const {
  return {.confined_by = ConfinedBy::kNothing,
          .note = "containers are simulated: no command is run, no CPU is touched"};
}

SimulatedRuntime::Entry* SimulatedRuntime::find(const ContainerRef& container) {
  const auto found = entries_.find(container);
  return found == entries_.end() ? nullptr : found->second.get();
}

Result<void> SimulatedRuntime::load() {
  if (is_loaded_) return {};
  const auto records = journal_.load();
  if (!records) return records.error();
  is_loaded_ = true;
  for (const auto& [container, record] : *records) {
    auto entry = std::make_unique<Entry>(loop_);
    const auto read = Entry::from_json(record, *entry);
    if (!read)
      return Error{Code::kCorrupt, fmt::format("{}: {}", journal_.path(), read.error().message)};
    entries_[container] = std::move(entry);
    watch(container);
  }
  return {};
}

void SimulatedRuntime::list(Done<std::vector<SeenContainer>> done) {
  if (const auto loaded = load(); !loaded) return done(loaded.error());
  std::vector<SeenContainer> all;
  all.reserve(entries_.size());
  for (const auto& [container, entry] : entries_) {
    SeenContainer& seen = all.emplace_back(entry->seen);
    if (seen.exit) seen.exit->started_at = seen.started_at;
  }
  done(std::move(all));
}

void SimulatedRuntime::start(const Start& start, Done<Started> done) {
  const auto prepared = workspace_.prepare(start);
  if (!prepared) return done(prepared.error());
  launch_for(*prepared, {.pod = start.pod}, done);
}

void SimulatedRuntime::launch(const Launch& launch, const Done<Started>& done) {
  launch_for(launch, read_kept_pod(launch.manifest), done);
}

void SimulatedRuntime::launch_for(const Launch& launch, const KeptPod& pod,
                                  const Done<Started>& done) {
  if (const auto loaded = load(); !loaded) return done(loaded.error());
  const Entry* old = find(launch.container);
  if (old != nullptr && old->seen.running) {
    return done(
        Error{Code::kConflict, fmt::format("container {} (pod {}) runs already",
                                           launch.container.container, launch.container.pod)});
  }
  auto entry = std::make_unique<Entry>(loop_);
  entry->seen = {.container = launch.container,
                 .attempt = launch.attempt,
                 .running = true,
                 .cpus = launch.placement.cpus,
                 .started_at = wall_millis()};
  entry->manifest = launch.manifest;
  pod.show(entry->seen);
  if (launch.attached_to > 0) {
    const auto supervisor = identify(launch.attached > 0 ? launch.attached : launch.attached_to);
    if (!supervisor) {
      return done(Error{Code::kNotFound, fmt::format("process {} has gone", launch.attached_to)});
    }
    entry->supervisor = *supervisor;
  } else if (const auto fate = fate_of(launch.command)) {
    entry->fate =
        ContainerExit{.code = fate->code, .finished_at = entry->seen.started_at + fate->after};
  }
  const milliseconds started_at = entry->seen.started_at;
  const auto saved = journal_.write(launch.container, entry->to_json());
  if (!saved) return done(saved.error());
  entries_[launch.container] = std::move(entry);
  watch(launch.container);
  done(Started{.at = started_at});
}

void SimulatedRuntime::watch(const ContainerRef& container) {
  Entry& entry = *find(container);
  if (!entry.seen.running) return;
  const auto guard = [this, lives = lives_, container,
                      attempt = entry.seen.attempt](const ContainerExit& exit) {
    const Entry* current = *lives ? find(container) : nullptr;
    if (current != nullptr && current->seen.attempt == attempt) end(container, exit);
  };
  if (entry.fate) {
    entry.timer.expires_after(entry.fate->finished_at - wall_millis());
    entry.timer.async_wait([guard, exit = *entry.fate](boost::system::error_code error) {
      if (!error) guard(exit);
    });
  }
  if (entry.supervisor.pid <= 0) return;
  const auto gone = [guard] {
    guard(ContainerExit{.cause = ExitCause::kUnknown, .finished_at = wall_millis()});
  };
  const auto fd = open_pidfd(entry.supervisor);
  if (!fd) return asio::post(loop_, gone);
  boost::system::error_code ignored;
  entry.client.assign(*fd, ignored);
  entry.client.async_wait(asio::posix::stream_descriptor::wait_read,
                          [gone](boost::system::error_code error) {
                            if (!error) gone();
                          });
}

void SimulatedRuntime::end(const ContainerRef& container, const ContainerExit& exit) {
  Entry& entry = *find(container);
  if (!entry.seen.running) return;
  entry.seen.running = false;
  entry.seen.exit = exit;
  entry.timer.cancel();
  entry.kill_timer.cancel();
  // Lost when it cannot be written; the next life sees it end again.
  static_cast<void>(journal_.write(container, entry.to_json()));
  const int attempt = entry.seen.attempt;
  ContainerExit told = exit;
  told.started_at = entry.seen.started_at;
  events_.exited(container, attempt, told);
}

void SimulatedRuntime::place(const ContainerRef& container, const Placement& placement,
                             Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || !entry->seen.running) {
    return done(Error{Code::kNotFound, fmt::format("container {} (pod {}) does not run",
                                                   container.container, container.pod)});
  }
  entry->seen.cpus = placement.cpus;
  done(journal_.change({container}, {{"cpus", placement.cpus.str()}}));
}

void SimulatedRuntime::place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                                    Done<void> done) {
  std::vector<ContainerRef> moved;
  for (const ContainerRef& member : members) {
    Entry* entry = find(member);
    if (entry == nullptr || !entry->seen.running || entry->seen.cpus == cpus) continue;
    entry->seen.cpus = cpus;
    moved.push_back(member);
  }
  done(journal_.change(moved, {{"cpus", cpus.str()}}));
}

void SimulatedRuntime::write_podinfo(const Pod& pod, const AssignedByContainer& assigned,
                                     Done<void> done) {
  done(workspace_.write_podinfo(pod, assigned));
}

void SimulatedRuntime::remove_pod(const std::string& uid, Done<void> done) {
  done(workspace_.remove(uid));
}

// A container that is only written down ends with the first signal, a client of `corehold run`
// as it likes.
void SimulatedRuntime::stop(const ContainerRef& container, milliseconds grace, Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || !entry->seen.running) return done({});
  const auto kill_at = std::chrono::steady_clock::now() + std::min(grace, kLongestGrace);
  if (entry->kill_at && *entry->kill_at <= kill_at) return done({});
  const bool is_first = !entry->kill_at;
  entry->kill_at = kill_at;
  if (grace <= milliseconds{}) return done(kill(container));
  kill_later(container);
  done(is_first ? send(container, SIGTERM) : Result<void>{});
}

Result<void> SimulatedRuntime::kill(const ContainerRef& container) {
  find(container)->kill_at = std::chrono::steady_clock::now() + kKillAgain;
  kill_later(container);
  return send(container, SIGKILL);
}

void SimulatedRuntime::kill_later(const ContainerRef& container) {
  Entry& entry = *find(container);
  entry.kill_timer.expires_at(*entry.kill_at);
  entry.kill_timer.async_wait([this, lives = lives_, container,
                               attempt = entry.seen.attempt](boost::system::error_code error) {
    const Entry* current = !error && *lives ? find(container) : nullptr;
    if (current == nullptr || current->seen.attempt != attempt || !current->seen.running) return;
    // A signal that could not be sent is sent again.
    static_cast<void>(kill(container));
  });
}

Result<void> SimulatedRuntime::send(const ContainerRef& container, int number) {
  const Entry& entry = *find(container);
  if (entry.supervisor.pid > 0) {
    // The client passes it on, or is killed with its child.
    const auto sent = send_signal(entry.supervisor, number);
    return sent ? Result<void>{} : Result<void>(sent.error());
  }
  const ContainerExit exit{.code = 128 + number, .signal = number, .finished_at = wall_millis()};
  asio::post(loop_, [this, lives = lives_, container, attempt = entry.seen.attempt, exit] {
    const Entry* current = *lives ? find(container) : nullptr;
    if (current != nullptr && current->seen.attempt == attempt) end(container, exit);
  });
  return {};
}

void SimulatedRuntime::remove(const ContainerRef& container, Done<void> done) {
  const Entry* entry = find(container);
  if (entry == nullptr) return done({});
  if (entry->seen.running) {
    return done(Error{Code::kConflict, fmt::format("container {} (pod {}) still runs",
                                                   container.container, container.pod)});
  }
  entries_.erase(container);
  done(journal_.remove(container));
}

}  // namespace corehold
