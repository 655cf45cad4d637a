// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated_runtime.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "runtime/container_directory.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::size_t kMaxBytes = std::size_t{256} * 1024 * 1024;

milliseconds wall_millis() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

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

}  // namespace

struct SimulatedRuntime::Entry {
  explicit Entry(asio::io_context& loop) : timer(loop), client(loop) {}

  RuntimeContainer seen{};
  std::optional<RuntimeExit> fate{};  // how it will end by itself, and when
  ProcessId keeper{};                 // the client of `corehold run`
  asio::steady_timer timer;
  asio::posix::stream_descriptor client;

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
                      {"manifest", seen.manifest},
                      {"keeper", keeper.pid},
                      {"keeperStartTime", keeper.start_time},
                      {"bootId", boot_id()}};
  if (seen.exit) object["exit"] = exit_to_json(*seen.exit);
  if (fate) object["fate"] = exit_to_json(*fate);
  return object;
}

Result<void> SimulatedRuntime::Entry::from_json(const json::object& object, Entry& entry) {
  RuntimeContainer& seen = entry.seen;
  seen.container = {.pod = text_in(object, "pod"), .container = text_in(object, "container")};
  seen.attempt = static_cast<int>(integer_in(object, "attempt"));
  const json::value* running = field(object, "running");
  seen.running = running != nullptr && running->is_bool() && running->get_bool();
  seen.cpus = TRY(CpuSet::parse(text_in(object, "cpus")));
  seen.started_at = milliseconds(integer_in(object, "startedAt"));
  seen.manifest = text_in(object, "manifest");
  if (text_in(object, "bootId") == boot_id()) {
    entry.keeper = {
        .pid = static_cast<pid_t>(integer_in(object, "keeper")),
        .start_time = static_cast<std::uint64_t>(integer_in(object, "keeperStartTime"))};
  }
  // A client that was there before the machine was booted has gone.
  const bool had_client = integer_in(object, "keeper") > 0;
  seen.exit = exit_from_json(text_in(object, "exit"));
  entry.fate = exit_from_json(text_in(object, "fate"));
  if (seen.running && had_client && !is_running(entry.keeper)) {
    seen.running = false;
    seen.exit = RuntimeExit{.known = false, .finished_at = wall_millis()};
  }
  if (seen.running && entry.fate && entry.fate->finished_at <= wall_millis()) {
    seen.running = false;
    seen.exit = entry.fate;
  }
  return {};
}

SimulatedRuntime::SimulatedRuntime(asio::io_context& loop, std::string path, OnExit on_exit)
    : loop_(loop), path_(std::move(path)), on_exit_(std::move(on_exit)) {}

SimulatedRuntime::~SimulatedRuntime() { *lives_ = false; }

RuntimeAbilities SimulatedRuntime::abilities() const {
  return {.confinement = "simulated",
          .note = "containers are simulated: no command is run, no CPU is touched"};
}

SimulatedRuntime::Entry* SimulatedRuntime::find(const ContainerRef& container) {
  const auto found = entries_.find(container);
  return found == entries_.end() ? nullptr : found->second.get();
}

Result<void> SimulatedRuntime::load() {
  if (is_loaded_ || path_.empty()) return {};
  const auto text = read_file(path_, kMaxBytes);
  if (!text && text.error().code != Code::kNotFound) return text.error();
  is_loaded_ = true;
  if (!text) return {};
  const auto parsed = parse_json(*text);
  if (!parsed || !parsed->is_array()) {
    return Error{Code::kCorrupt, fmt::format("{}: not a list of simulated containers", path_)};
  }
  for (const json::value& value : parsed->get_array()) {
    if (!value.is_object()) continue;
    auto entry = std::make_unique<Entry>(loop_);
    const auto read = Entry::from_json(value.get_object(), *entry);
    if (!read) return Error{Code::kCorrupt, fmt::format("{}: {}", path_, read.error().message)};
    const ContainerRef container = entry->seen.container;
    entries_[container] = std::move(entry);
    watch(container);
  }
  return {};
}

Result<void> SimulatedRuntime::save() const {
  if (path_.empty()) return {};
  json::array all;
  for (const auto& [container, entry] : entries_) all.emplace_back(entry->to_json());
  return replace_file(path_, json::serialize(all) + "\n");
}

void SimulatedRuntime::list(Done<std::vector<RuntimeContainer>> done) {
  if (const auto loaded = load(); !loaded) return done(loaded.error());
  std::vector<RuntimeContainer> all;
  all.reserve(entries_.size());
  for (const auto& [container, entry] : entries_) all.push_back(entry->seen);
  done(std::move(all));
}

void SimulatedRuntime::start(const Launch& launch, Done<void> done) {
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
                 .cpus = launch.confines.cpus,
                 .started_at = wall_millis(),
                 .manifest = launch.manifest};
  if (launch.attached_to > 0) {
    const auto keeper = identify(launch.attached > 0 ? launch.attached : launch.attached_to);
    if (!keeper) {
      return done(Error{Code::kNotFound, fmt::format("process {} has gone", launch.attached_to)});
    }
    entry->keeper = *keeper;
  } else if (const auto fate = fate_of(launch.command)) {
    entry->fate =
        RuntimeExit{.code = fate->code, .finished_at = entry->seen.started_at + fate->after};
  }
  entries_[launch.container] = std::move(entry);
  if (const auto saved = save(); !saved) {
    entries_.erase(launch.container);
    return done(saved.error());
  }
  watch(launch.container);
  done({});
}

void SimulatedRuntime::watch(const ContainerRef& container) {
  Entry& entry = *find(container);
  if (!entry.seen.running) return;
  const auto guard = [this, lives = lives_, container,
                      attempt = entry.seen.attempt](const RuntimeExit& exit) {
    const Entry* current = *lives ? find(container) : nullptr;
    if (current != nullptr && current->seen.attempt == attempt) end(container, exit);
  };
  if (entry.fate) {
    entry.timer.expires_after(entry.fate->finished_at - wall_millis());
    entry.timer.async_wait([guard, exit = *entry.fate](boost::system::error_code error) {
      if (!error) guard(exit);
    });
  }
  if (entry.keeper.pid <= 0) return;
  const auto gone = [guard] { guard(RuntimeExit{.known = false, .finished_at = wall_millis()}); };
  const auto fd = open_pidfd(entry.keeper);
  if (!fd) return asio::post(loop_, gone);
  boost::system::error_code ignored;
  entry.client.assign(*fd, ignored);
  entry.client.async_wait(asio::posix::stream_descriptor::wait_read,
                          [gone](boost::system::error_code error) {
                            if (!error) gone();
                          });
}

void SimulatedRuntime::end(const ContainerRef& container, const RuntimeExit& exit) {
  Entry& entry = *find(container);
  if (!entry.seen.running) return;
  entry.seen.running = false;
  entry.seen.exit = exit;
  entry.timer.cancel();
  // Lost when it cannot be written; the next life sees it end again.
  static_cast<void>(save());
  const int attempt = entry.seen.attempt;
  if (on_exit_) on_exit_(container, attempt, exit);
}

void SimulatedRuntime::update(const ContainerRef& container, const Confines& confines,
                              Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || !entry->seen.running) {
    return done(Error{Code::kNotFound, fmt::format("container {} (pod {}) does not run",
                                                   container.container, container.pod)});
  }
  entry->seen.cpus = confines.cpus;
  done(save());
}

void SimulatedRuntime::signal(const ContainerRef& container, int number, Done<void> done) {
  const Entry* entry = find(container);
  if (entry != nullptr && entry->seen.running) {
    if (entry->keeper.pid > 0) {
      // The client passes it on, or is killed with its child.
      const auto sent = send_signal(entry->keeper, number);
      return done(sent ? Result<void>{} : Result<void>(sent.error()));
    }
    const RuntimeExit exit{.code = 128 + number, .signal = number, .finished_at = wall_millis()};
    asio::post(loop_, [this, lives = lives_, container, attempt = entry->seen.attempt, exit] {
      const Entry* current = *lives ? find(container) : nullptr;
      if (current != nullptr && current->seen.attempt == attempt) end(container, exit);
    });
  }
  done({});
}

void SimulatedRuntime::remove(const ContainerRef& container, Done<void> done) {
  const Entry* entry = find(container);
  if (entry == nullptr) return done({});
  if (entry->seen.running) {
    return done(Error{Code::kConflict, fmt::format("container {} (pod {}) still runs",
                                                   container.container, container.pod)});
  }
  entries_.erase(container);
  done(save());
}

}  // namespace corehold
