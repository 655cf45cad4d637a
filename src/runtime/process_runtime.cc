// SPDX-License-Identifier: Apache-2.0
#include "runtime/process_runtime.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "runtime/log_file.h"
#include "runtime/monitor_process.h"
#include "sys/file.h"

namespace corehold {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr milliseconds kShortestPause{1};
constexpr milliseconds kLongestPause{500};
constexpr milliseconds kListPause{5};
constexpr int kPatientTries = 400;
constexpr int kListTries = 1000;
constexpr milliseconds kRemovePause{5};
constexpr int kRemoveTries = 2000;

milliseconds wall_millis() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

std::string name_of(const ContainerRef& container) {
  return fmt::format("container {} (pod {})", container.container, container.pod);
}

}  // namespace

struct ProcessRuntime::Entry {
  enum class Phase { kStarting, kRunning, kEnding, kEnded };

  Entry(asio::io_context& loop, ContainerRef ref, ContainerDirectory kept)
      : container(std::move(ref)),
        directory(std::move(kept)),
        pidfd(loop),
        main_pidfd(loop),
        channel(loop),
        timer(loop) {}

  ContainerRef container;
  ContainerDirectory directory;
  std::uint64_t generation = 0;  // tells this entry from a later one of the same container
  Phase phase = Phase::kStarting;
  int attempt = 0;
  std::string manifest{};
  std::shared_ptr<Confinement> confinement{};
  ProcessId keeper{};
  ProcessId main{};
  bool is_child = false;     // the keeper is ours to reap
  bool is_attached = false;  // the keeper is a client, and outlives the container
  milliseconds started_at{};
  milliseconds pause{kShortestPause};
  std::optional<RuntimeExit> exit{};
  Done<void> started{};   // who waits for the start
  bool ran = false;       // the monitor said that it runs, or did
  std::string failure{};  // what the monitor said about a start that failed
  asio::posix::stream_descriptor pidfd;
  asio::posix::stream_descriptor main_pidfd;  // of a process that was attached
  asio::posix::stream_descriptor channel;
  std::string heard{};
  std::vector<int> signals{};  // for when it has started
  asio::steady_timer timer;
};

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

Body ProcessRuntime::body_of(const Entry& entry) const {
  // Its number may be another's already while the news of its end are on their way.
  return {.container = entry.container,
          .directory = entry.directory.path(),
          .keeper = is_running(entry.keeper) ? entry.keeper.pid : 0};
}

// A handler for the loop that runs only while the entry is still there.
template <typename Handler>
auto ProcessRuntime::guarded(const Entry& entry, Handler handler) {
  return [this, lives = lives_, container = entry.container, generation = entry.generation,
          handler = std::move(handler)](boost::system::error_code error, auto&&... rest) {
    if (!*lives || error == asio::error::operation_aborted) return;
    Entry* current = find(container);
    if (current == nullptr || current->generation != generation) return;
    handler(*current, error, rest...);
  };
}

template <typename Handler>
void ProcessRuntime::later(Entry& entry, milliseconds after, Handler handler) {
  entry.timer.expires_after(after);
  entry.timer.async_wait(
      guarded(entry, [handler](Entry& current, boost::system::error_code) { handler(current); }));
}

// --- starting

void ProcessRuntime::start(const Launch& launch, Done<void> done) {
  if (const auto names = check_names(launch.container); !names) return done(names.error());
  if (Entry* old = find(launch.container)) {
    if (old->phase != Entry::Phase::kEnded) {
      return done(
          Error{Code::kConflict, fmt::format("{} runs already", name_of(launch.container))});
    }
    entries_.erase(launch.container);
  }
  auto made = std::make_unique<Entry>(loop_, launch.container,
                                      ContainerDirectory::of(options_.root, launch.container));
  Entry& entry = *made;
  entry.generation = next_generation_++;
  entry.attempt = launch.attempt;
  entry.manifest = launch.manifest;
  entry.confinement = confinement_;
  entries_[launch.container] = std::move(made);
  const auto begun = begin(entry, launch);
  if (!begun) {
    abandon(entry);
    return done(wrap(fmt::format("start {}", name_of(launch.container)), begun.error()));
  }
  if (launch.attached > 0) return done({});
  entry.started = std::move(done);
  later(entry, options_.start_timeout, [this](Entry& slow) {
    slow.failure = fmt::format("nothing heard of its monitor (process {}) for {} s",
                               slow.keeper.pid, options_.start_timeout.count() / 1000);
    static_cast<void>(send_signal(slow.keeper, SIGKILL));
  });
}

Result<void> ProcessRuntime::begin(Entry& entry, const Launch& launch) {
  TRY(entry.directory.make());
  TRY(entry.directory.write_launch({.launch = launch, .confinement = confinement_->describe()}));
  if (!launch.log_path.empty()) {
    remove_logs_before(launch.log_path.substr(0, launch.log_path.rfind('/')), launch.attempt - 1);
  }
  // What an earlier attempt left in its place must not share it.
  const Body body = body_of(entry);
  for (int tries = 0; TRY(confinement_->kill(body)) > 0; ++tries) {
    if (tries > kRemoveTries)
      return Error{Code::kIo, "processes of an earlier attempt cannot be killed"};
    ::usleep(1000);
  }
  TRY(confinement_->confine(body, launch.confines));
  return launch.attached > 0 ? attach(entry, launch) : spawn(entry);
}

// The client of `corehold run` is the keeper, and its child waits to be let go.
Result<void> ProcessRuntime::attach(Entry& entry, const Launch& launch) {
  const auto keeper = identify(launch.attached_to);
  const auto main = identify(launch.attached);
  const auto status = status_of(launch.attached);
  if (!keeper || !main || !status || status->parent != launch.attached_to) {
    return Error{Code::kNotFound, fmt::format("process {} is no child of process {}",
                                              launch.attached, launch.attached_to)};
  }
  entry.keeper = *keeper;
  entry.main = *main;
  entry.is_attached = true;
  entry.started_at = wall_millis();
  TRY(entry.directory.write_main({.process = entry.main, .started_at = entry.started_at}));
  TRY(entry.directory.write_keeper({.process = entry.keeper, .started_at = entry.started_at}));
  TRY(watch(entry));
  TRY(confinement_->place(body_of(entry), launch.attached));
  entry.phase = Entry::Phase::kRunning;
  return {};
}

Result<void> ProcessRuntime::spawn(Entry& entry) {
  const MonitorProcess monitor = TRY(spawn_monitor(options_.monitor, entry.directory.path()));
  entry.keeper = monitor.process;
  entry.is_child = true;
  boost::system::error_code error;
  entry.channel.assign(monitor.channel, error);
  if (error) return Error{Code::kIo, fmt::format("watch the monitor: {}", error.message())};
  TRY(entry.directory.write_keeper({.process = entry.keeper, .started_at = wall_millis()}));
  TRY(watch(entry));
  listen(entry);
  // From here on a restarted agent finds it.
  if (const int number = write_all(entry.channel.native_handle(), "go\n"); number != 0) {
    return Error{Code::kIo, fmt::format("speak to the monitor: {}", errno_name(number))};
  }
  return {};
}

Result<void> ProcessRuntime::watch(Entry& entry) {
  boost::system::error_code error;
  entry.pidfd.assign(TRY(open_pidfd(entry.keeper)), error);
  if (error) return Error{Code::kIo, fmt::format("watch the keeper: {}", error.message())};
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
  // Whoever waits for the start is told last: the entry may be gone afterwards.
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
    if (auto started = std::exchange(entry.started, nullptr)) started({});
  } else if (line.starts_with("failed ")) {
    entry.failure = line.substr(7);
  } else if (line.starts_with("exit ")) {
    entry.exit = exit_from_json(line.substr(5));
  }
}

// --- ending

// Called when the keeper has gone, until nothing of the container is left.
void ProcessRuntime::wait_for_end(Entry& entry) {
  if (entry.is_child) {
    siginfo_t information{};
    static_cast<void>(::waitid(P_PIDFD, static_cast<id_t>(entry.pidfd.native_handle()),
                               &information, WEXITED | WNOHANG));
  }
  // A client waits until its CPUs are free, and keeps what its command has left behind.
  if (!entry.is_attached || !is_running(entry.keeper)) entry.keeper = {};
  const auto left = entry.confinement->kill(body_of(entry));
  if (left && *left == 0) return finish(entry);
  entry.pause = std::min(entry.pause * 2, kLongestPause);
  later(entry, entry.pause, [this](Entry& current) { wait_for_end(current); });
}

void ProcessRuntime::finish(Entry& entry) {
  // What the monitor said last may still be on its way.
  if (entry.channel.is_open()) {
    static_cast<void>(hear_all(entry));
    boost::system::error_code error;
    entry.channel.close(error);
  }
  if (const auto kept = entry.directory.read_exit()) entry.exit = kept;
  if (!entry.exit) {
    entry.exit = RuntimeExit{.code = 137, .known = false, .finished_at = wall_millis()};
    // Lost when the disk is full: the next agent finds nobody and says the same.
    static_cast<void>(entry.directory.write_exit(*entry.exit));
  }
  boost::system::error_code ignored;
  entry.pidfd.close(ignored);
  entry.main_pidfd.close(ignored);
  entry.keeper = {};
  entry.phase = Entry::Phase::kEnded;
  report(entry);
}

void ProcessRuntime::report(Entry& entry) {
  auto started = std::exchange(entry.started, nullptr);
  if (started && !entry.ran) {
    std::string reason = entry.failure;
    if (reason.empty()) reason = entry.exit->message;
    if (reason.empty()) reason = "its monitor ended before it had started it";
    const Error error{Code::kIo, fmt::format("start {}: {}", name_of(entry.container), reason)};
    abandon(entry);
    return started(error);
  }
  const ContainerRef container = entry.container;
  const int attempt = entry.attempt;
  const RuntimeExit exit = *entry.exit;
  if (started) started({});
  if (on_exit_) on_exit_(container, attempt, exit);
}

// Leaves nothing of a start that has failed.
void ProcessRuntime::abandon(Entry& entry) {
  if (entry.is_child && entry.keeper.pid > 0) {
    static_cast<void>(send_signal(entry.keeper, SIGKILL));
    static_cast<void>(::waitpid(entry.keeper.pid, nullptr, 0));
  }
  entry.keeper = {};
  const Body body = body_of(entry);
  for (int tries = 0; tries < kRemoveTries; ++tries) {
    const auto left = entry.confinement->kill(body);
    if (!left) break;
    if (*left == 0 && entry.confinement->remove(body)) break;
    ::usleep(1000);
  }
  static_cast<void>(entry.directory.remove());
  entries_.erase(ContainerRef(entry.container));
}

// --- listing

void ProcessRuntime::list(Done<std::vector<RuntimeContainer>> done) { list_again(done, 0); }

void ProcessRuntime::list_again(const Done<std::vector<RuntimeContainer>>& done, int tries) {
  const auto containers = ContainerDirectory::all(options_.root);
  if (!containers) return done(containers.error());
  for (const ContainerRef& container : *containers) {
    if (find(container) != nullptr) continue;
    const auto adopted = adopt(container, tries < kPatientTries);
    if (adopted) continue;
    if (adopted.error().code != Code::kConflict || tries >= kListTries) {
      return done(wrap(name_of(container), adopted.error()));
    }
    // Somebody whose monitor has gone is still being killed.
    auto timer = std::make_shared<asio::steady_timer>(loop_, kListPause);  // lives in its handler
    timer->async_wait([this, lives = lives_, timer, done, tries](boost::system::error_code error) {
      if (*lives && !error) list_again(done, tries + 1);
    });
    return;
  }
  std::vector<RuntimeContainer> all;
  all.reserve(entries_.size());
  for (const auto& [container, entry] : entries_) all.push_back(seen(*entry));
  done(std::move(all));
}

// Fails with kConflict while processes of a container without a keeper are left, and, with
// patience, while it cannot be told whether it will start.
Result<void> ProcessRuntime::adopt(const ContainerRef& container, bool is_patient) {
  const auto directory = ContainerDirectory::of(options_.root, container);
  auto made = std::make_unique<Entry>(loop_, container, directory);
  Entry& entry = *made;
  entry.generation = next_generation_++;
  entry.confinement = confinement_;
  const auto stored = directory.read_launch();
  if (stored) {
    entry.attempt = stored->launch.attempt;
    entry.manifest = stored->launch.manifest;
    entry.is_attached = stored->launch.attached > 0;
    if (stored->confinement != confinement_->describe()) {
      if (auto opened = open_confinement(stored->confinement)) {
        entry.confinement = std::move(*opened);
      }
    }
  }
  if (const auto main = directory.read_main()) {
    entry.main = main->process;
    entry.started_at = main->started_at;
  }
  const auto keeper = directory.read_keeper();
  entry.exit = directory.read_exit();
  if (!entry.exit && keeper && is_running(keeper->process)) {
    if (!directory.has_main() && is_patient) {
      return Error{Code::kConflict, "its monitor has not started it yet"};
    }
    entry.keeper = keeper->process;
    entry.phase = Entry::Phase::kRunning;
    entries_[container] = std::move(made);
    if (watch(entry)) return {};
    // It has gone in this moment.
    made = std::move(entries_[container]);
    entries_.erase(container);
    entry.exit = directory.read_exit();
  }
  if (TRY(entry.confinement->kill(body_of(entry))) > 0) {
    return Error{Code::kConflict, "its monitor has gone, and its processes cannot be killed"};
  }
  if (!directory.has_main() && !entry.exit) {
    // Its start was never let go.
    static_cast<void>(entry.confinement->remove(body_of(entry)));
    return directory.remove();
  }
  entry.keeper = {};
  entry.phase = Entry::Phase::kEnded;
  if (!entry.exit) {
    entry.exit = RuntimeExit{.code = 137, .known = false, .finished_at = wall_millis()};
    static_cast<void>(directory.write_exit(*entry.exit));
  }
  entries_[container] = std::move(made);
  return {};
}

RuntimeContainer ProcessRuntime::seen(const Entry& entry) const {
  RuntimeContainer container{.container = entry.container,
                             .attempt = entry.attempt,
                             .running = entry.phase != Entry::Phase::kEnded,
                             .started_at = entry.started_at,
                             .manifest = entry.manifest};
  if (!container.running) {
    container.exit = entry.exit;
    return container;
  }
  const auto sight = entry.confinement->look(body_of(entry));
  if (sight) {
    container.cpus = sight->cpus;
    container.strayed = entry.phase == Entry::Phase::kRunning && sight->strayed;
  } else {
    container.strayed = true;
  }
  return container;
}

// --- the rest

void ProcessRuntime::update(const ContainerRef& container, const Confines& confines,
                            Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) {
    return done(Error{Code::kNotFound, fmt::format("{} does not run", name_of(container))});
  }
  done(entry->confinement->confine(body_of(*entry), confines));
}

void ProcessRuntime::signal(const ContainerRef& container, int number, Done<void> done) {
  Entry* entry = find(container);
  if (entry == nullptr || entry->phase == Entry::Phase::kEnded) return done({});
  if (number == SIGKILL) {
    const auto killed = entry->confinement->kill(body_of(*entry));
    return done(killed ? Result<void>{} : Result<void>(killed.error()));
  }
  if (entry->phase == Entry::Phase::kStarting) {
    entry->signals.push_back(number);
    return done({});
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
