// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "runtime/cgroup/confinement.h"
#include "runtime/container_directory.h"
#include "runtime/monitor/container_child.h"
#include "runtime/monitor/log_file.h"
#include "sys/clock.h"
#include "sys/descriptor.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

// As container runtimes say it: the command could not be started.
constexpr int kNotStarted = 128;
constexpr auto kLongestKillPause = std::chrono::milliseconds(20);
constexpr auto kLongestStuckPause = std::chrono::milliseconds(500);
constexpr int kExitTries = 10;
constexpr std::size_t kPumpBytes = 65536;

void tell(std::string_view line) {
  const std::string text = fmt::format("{}\n", line);
  static_cast<void>(::send(kMonitorChannel, text.data(), text.size(), MSG_NOSIGNAL));
}

bool is_told_to_go() {
  std::array<char, 3> word{};
  std::size_t got = 0;
  while (got < word.size()) {
    const ssize_t now = ::read(kMonitorChannel, word.data() + got, word.size() - got);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    got += static_cast<std::size_t>(now);
  }
  return std::string_view(word.data(), word.size()) == "go\n";
}

// Both ends close-on-exec.
struct Pipe {
  Descriptor reader{-1};
  Descriptor writer{-1};

  Result<void> open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return errno_error("pipe", errno);
    }
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    return {};
  }
};

class Monitor {
 public:
  Monitor(ContainerDirectory directory, StoredLaunch stored,
          std::unique_ptr<Confinement> confinement)
      : directory_(std::move(directory)),
        launch_(std::move(stored.launch)),
        confinement_(std::move(confinement)),
        processes_{.ref = launch_.container,
                   .cgroup = std::move(stored.cgroup),
                   .directory = directory_.path(),
                   .supervisor = ::getpid(),
                   .mark = pod_mark(launch_.container)},
        log_(launch_.log_path.empty() ? "/dev/null" : launch_.log_path, {}),
        start_timeout_(stored.start_timeout) {}

  // Fails when the command could not be started, and nothing of it is left.
  Result<void> start();
  ContainerExit wait();
  int attempt() const { return launch_.attempt; }

 private:
  void pump(const Descriptor& from, LogStream stream);
  void reap();
  Result<void> hear_of_start(const Descriptor& trouble);
  void end_start();
  std::int64_t oom_kills() const;
  void follow();

  ContainerDirectory directory_;
  Launch launch_;
  std::unique_ptr<Confinement> confinement_;
  ContainerProcesses processes_;
  LogWriter log_;
  std::chrono::milliseconds start_timeout_;
  Descriptor signals_{-1};
  Pipe out_{};
  Pipe error_{};
  pid_t main_ = 0;
  std::int64_t oom_kills_before_ = 0;  // in what an earlier attempt left
  std::optional<int> status_{};        // of the main process, as waitpid gives it
};

Result<void> Monitor::start() {
  sigset_t child{};
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  if (::sigprocmask(SIG_BLOCK, &child, nullptr) != 0) {
    return errno_error("sigprocmask", errno);
  }
  signals_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) {
    return errno_error("signalfd", errno);
  }
  Pipe gate;
  Pipe trouble;
  TRY(out_.open());
  TRY(error_.open());
  TRY(gate.open());
  TRY(trouble.open());
  const pid_t monitor = ::getpid();
  main_ = ::fork();
  if (main_ < 0) return errno_error("fork", errno);
  if (main_ == 0) {
    // Nothing is run that was not recorded before.
    gate.writer.close();
    char word = 0;
    if (::read(gate.reader.get(), &word, 1) != 1) ::_exit(kNotStarted);
    const Error error =
        become_container(launch_, directory_.path(),
                         {.out = out_.writer.get(), .error = error_.writer.get()}, monitor);
    static_cast<void>(write_all(trouble.writer.get(), error.message));
    ::_exit(kNotStarted);
  }
  out_.writer.close();
  error_.writer.close();
  trouble.writer.close();
  const auto process = identify(main_);
  if (!process) return Error{Code::kIo, fmt::format("process {} has gone at once", main_)};
  TRY(confinement_->place(processes_, main_));
  oom_kills_before_ = oom_kills();
  TRY(directory_.write_main({.process = *process, .started_at = wall_now()}));
  if (const int error = write_all(gate.writer.get(), "g"); error != 0) {
    return errno_error("let the command go", error);
  }
  auto heard = hear_of_start(trouble.reader);
  if (!heard) end_start();
  return heard;
}

// The child says what was wrong; it closes the pipe when the command runs, or when it ends. The
// deadline is the monitor's, because agents come and go.
Result<void> Monitor::hear_of_start(const Descriptor& trouble) {
  const auto deadline = std::chrono::steady_clock::now() + start_timeout_;
  std::string message;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd watched{.fd = trouble.get(), .events = POLLIN, .revents = 0};
    const int ready =
        ::poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return errno_error("wait for the command", errno);
    if (ready == 0) {
      return Error{Code::kIo,
                   fmt::format("it has not started within {} s; does the file system of each "
                               "hostPath and of the command answer?",
                               start_timeout_.count() / 1000)};
    }
    const ssize_t got = ::read(trouble.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("hear of the command", errno);
    if (got == 0) break;
    message.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (!message.empty()) return Error{Code::kIo, message};
  return {};
}

// Returns when nothing of a start that has failed is left.
void Monitor::end_start() {
  auto pause = std::chrono::milliseconds(1);
  while (true) {
    const auto left = confinement_->kill(processes_);
    reap();
    if (left && *left == 0) return;
    static_cast<void>(::poll(nullptr, 0, static_cast<int>(pause.count())));
    pause = std::min(pause * 2, kLongestStuckPause);
  }
}

std::int64_t Monitor::oom_kills() const {
  const auto view = confinement_->look(processes_);
  return view ? view->oom_kills : 0;
}

// The agent may have given the container another cgroup.
void Monitor::follow() {
  const auto stored = directory_.read_launch();
  if (!stored || stored->cgroup == processes_.cgroup) return;
  processes_.cgroup = stored->cgroup;
  oom_kills_before_ = 0;
}

void Monitor::pump(const Descriptor& from, LogStream stream) {
  std::array<char, kPumpBytes> buffer{};
  const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
  if (got <= 0) return;
  log_.write(stream, std::string_view(buffer.data(), static_cast<std::size_t>(got)),
             wall_now_in_nanoseconds());
}

void Monitor::reap() {
  std::array<char, sizeof(signalfd_siginfo)> buffer{};
  while (::read(signals_.get(), buffer.data(), buffer.size()) > 0) {
  }
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended <= 0) return;
    if (ended == main_) status_ = status;
  }
}

std::size_t capacity_of(const Descriptor& pipe) {
  const int bytes = ::fcntl(pipe.get(), F_GETPIPE_SZ);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

// Handles whatever is there to be handled; false once both outputs are closed.
bool pump_once(std::array<pollfd, 3>& watched, int timeout) {
  while (::poll(watched.data(), watched.size(), timeout) < 0 && errno == EINTR) {
  }
  return watched[0].fd >= 0 || watched[1].fd >= 0;
}

ContainerExit Monitor::wait() {
  std::array<pollfd, 3> watched{{{.fd = out_.reader.get(), .events = POLLIN, .revents = 0},
                                 {.fd = error_.reader.get(), .events = POLLIN, .revents = 0},
                                 {.fd = signals_.get(), .events = POLLIN, .revents = 0}}};
  const auto serve = [&](int timeout) {
    static_cast<void>(pump_once(watched, timeout));
    for (std::size_t index = 0; index < 2; ++index) {
      if (watched[index].fd < 0 || watched[index].revents == 0) continue;
      const LogStream stream = index == 0 ? LogStream::kOut : LogStream::kError;
      if ((watched[index].revents & POLLIN) != 0) {
        pump(index == 0 ? out_.reader : error_.reader, stream);
      } else {
        watched[index].fd = -1;
      }
    }
    reap();
    return std::any_of(watched.begin(), watched.begin() + 2,
                       [](const pollfd& one) { return (one.revents & POLLIN) != 0; });
  };
  while (!status_) serve(-1);
  follow();
  auto pause = std::chrono::milliseconds(1);
  while (true) {
    const auto begun = std::chrono::steady_clock::now();
    const auto left = confinement_->kill(processes_);
    if (left && *left == 0) break;
    // Half of the time at most, whatever ends meanwhile: many processes take long to be killed, on
    // a CPU that others want.
    const auto took = std::chrono::steady_clock::now() - begun;
    const auto until = begun + 2 * took;
    for (auto now = until - took; now < until; now = std::chrono::steady_clock::now()) {
      serve(static_cast<int>(std::chrono::floor<std::chrono::milliseconds>(until - now).count()));
    }
    serve(static_cast<int>(pause.count()));
    pause = std::min(pause * 2, kLongestKillPause);
  }
  // What the pipes still hold and no more: a process outside may have inherited them, and write.
  const std::size_t rounds =
      std::max(capacity_of(out_.reader), capacity_of(error_.reader)) / kPumpBytes + 1;
  for (std::size_t round = 0; round < rounds && serve(0); ++round) {
  }
  log_.finish(wall_now_in_nanoseconds());
  ContainerExit exit{.finished_at = wall_now()};
  if (WIFSIGNALED(*status_)) {
    exit.signal = WTERMSIG(*status_);
    exit.code = 128 + exit.signal;
  } else {
    exit.code = WEXITSTATUS(*status_);
  }
  if (exit.code != 0 && oom_kills() > oom_kills_before_) exit.cause = ExitCause::kOutOfMemory;
  return exit;
}

// Tried for a while when the disk is full: there may be room soon.
bool write_down(const ContainerDirectory& directory, const ContainerExit& exit, int attempt) {
  for (int tries = 0; tries < kExitTries; ++tries) {
    const auto written = directory.write_exit(exit, attempt);
    if (written) return true;
    if (written.error().code == Code::kNotFound)
      return false;  // somebody has removed the directory
    ::sleep(1);
  }
  return false;
}

Result<std::unique_ptr<Monitor>> open_monitor(const ContainerDirectory& directory) {
  StoredLaunch stored = TRY(directory.read_launch());
  auto confinement = TRY(open_confinement(stored.confinement));
  const std::string& log = stored.launch.log_path;
  if (!log.empty()) TRY(make_directories(log.substr(0, log.rfind('/')), 0755));
  return std::make_unique<Monitor>(directory, std::move(stored), std::move(confinement));
}

}  // namespace

int run_monitor(const std::string& path) {
  const ContainerDirectory directory(path);
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    static_cast<void>(std::signal(number, SIG_IGN));
  }
  static_cast<void>(::fcntl(kMonitorChannel, F_SETFD, FD_CLOEXEC));
  static_cast<void>(::prctl(PR_SET_CHILD_SUBREAPER, 1));
  static_cast<void>(::prctl(PR_SET_NAME, kMonitorName));
  static_cast<void>(::chdir("/"));
  if (!is_told_to_go()) return 1;
  auto monitor = open_monitor(directory);
  const int attempt = monitor ? (*monitor)->attempt() : 0;
  Result<void> started = monitor ? (*monitor)->start() : Result<void>(monitor.error());
  ContainerExit exit{.code = kNotStarted};
  if (started) {
    tell("running");
    exit = (*monitor)->wait();
  } else {
    exit.message = started.error().message;
    exit.finished_at = wall_now();
    tell(fmt::format("failed {}", exit.message));
  }
  tell(fmt::format("exit {}", exit_to_json(exit)));
  return write_down(directory, exit, attempt) ? 0 : 1;
}

}  // namespace corehold
