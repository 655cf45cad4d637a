// SPDX-License-Identifier: Apache-2.0
#include "sys/process/held_child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "sys/file/file.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

StartFailure failure_of(const std::string& command, int number) {
  const bool missing = number == ENOENT || number == ENOTDIR;
  return {.exit_code = missing ? kExitNotFound : kExitNotExecutable,
          .message = fmt::format("{}: {}", command,
                                 missing && command.find('/') == std::string::npos
                                     ? "command not found"
                                     : std::strerror(number))};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// CPUs that this process was kept to are no business of the command.
void run_anywhere() {
  constexpr std::size_t kCpus = 8192;
  std::array<unsigned char, kCpus / 8> all{};
  all.fill(0xFF);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a CPU set of any size
  static_cast<void>(::sched_setaffinity(0, all.size(), reinterpret_cast<cpu_set_t*>(all.data())));
}

// The child's life. Only calls that are safe after fork.
[[noreturn]] void wait_and_exec(int channel, pid_t parent, char* const* arguments,
                                char* const* environment) {
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  if (::getppid() != parent) ::_exit(kExitNotExecutable);
  static_cast<void>(std::signal(SIGPIPE, SIG_DFL));
  run_anywhere();
  char byte = 'r';
  if (::write(channel, &byte, 1) != 1) ::_exit(kExitNotExecutable);
  ssize_t got = 0;
  do {
    got = ::read(channel, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(kExitNotExecutable);
  ::execvpe(arguments[0], arguments, environment);
  const int number = errno;
  static_cast<void>(::write(channel, &number, sizeof(number)));
  ::_exit(number == ENOENT ? kExitNotFound : kExitNotExecutable);
}

// Of those that can be caught, what is not about this process itself.
sigset_t passed_on() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT,
                           SIGTSTP, SIGWINCH, SIGURG, SIGIO, SIGPWR}) {
    sigaddset(&set, number);
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) sigaddset(&set, number);
  return set;
}

// Whether a shell would notice that this process stops: it is in front on a terminal.
bool is_in_foreground() {
  const Descriptor terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  return terminal.is_open() && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

// Stops with the child and, once continued, continues it. Where nobody would continue this
// process it goes on, so that it sees the child's end.
void stop_with(pid_t child) {
  if (!is_in_foreground()) return;
  static_cast<void>(::raise(SIGSTOP));
  static_cast<void>(::kill(child, SIGCONT));
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// All that has ended or stopped. No value: the child goes on.
std::optional<int> reap(pid_t child) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (ended <= 0) return ended < 0 && errno == ECHILD ? std::optional(128) : std::nullopt;
    if (ended != child) continue;
    if (!WIFSTOPPED(status)) return code_of(status);
    stop_with(child);
  }
}

int stand_for(pid_t child, const sigset_t& signals) {
  for (;;) {
    if (const auto code = reap(child)) return *code;
    siginfo_t info{};
    const int number = ::sigwaitinfo(&signals, &info);
    if (number < 0 || number == SIGCHLD) continue;
    // The terminal has sent it to the whole process group.
    if (info.si_code == SI_KERNEL) continue;
    static_cast<void>(::kill(child, number));
  }
}

}  // namespace

HeldChild::HeldChild(pid_t pid, int channel, std::string command)
    : pid_(pid), channel_(channel), command_(std::move(command)) {}

HeldChild::HeldChild(HeldChild&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      channel_(std::exchange(other.channel_, -1)),
      command_(std::move(other.command_)),
      failure_(std::move(other.failure_)) {}

HeldChild::~HeldChild() {
  if (channel_ >= 0) ::close(channel_);
  if (pid_ <= 0) return;
  static_cast<void>(::kill(pid_, SIGKILL));
  static_cast<void>(::waitpid(pid_, nullptr, 0));
}

Result<HeldChild> HeldChild::fork(const std::vector<std::string>& command) {
  CHECK(!command.empty());
  const auto failed = [](const char* call) { return errno_error(call, errno); };
  static_cast<void>(::prctl(PR_SET_CHILD_SUBREAPER, 1));
  const auto self = identify(::getpid());
  if (!self) return Error{Code::kIo, "this process is not to be seen in /proc"};
  const std::vector<std::string> variables = marked_environment(run_mark(*self));
  const auto arguments = pointers_to(command);
  const auto environment = pointers_to(variables);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return failed("fork");
  }
  if (child == 0) {
    ::close(ends[0]);
    wait_and_exec(ends[1], parent, arguments.data(), environment.data());
  }
  ::close(ends[1]);
  // Ignored, it would take the exit code away.
  static_cast<void>(std::signal(SIGCHLD, SIG_DFL));
  HeldChild held(child, ends[0], command.front());
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(held.channel_, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) return Error{Code::kIo, "the child has died before it could be started"};
  return held;
}

Result<void> HeldChild::let_go() {
  const char byte = 'g';
  int number = 0;
  ssize_t got = ::send(channel_, &byte, 1, MSG_NOSIGNAL);
  if (got == 1) {
    do {
      got = ::read(channel_, &number, sizeof(number));
    } while (got < 0 && errno == EINTR);
  }
  ::close(std::exchange(channel_, -1));
  if (got != static_cast<ssize_t>(sizeof(number))) return {};
  failure_ = failure_of(command_, number);
  return Error{number == ENOENT ? Code::kNotFound : Code::kIo, failure_.message};
}

Result<int> HeldChild::run() {
  sigset_t signals = passed_on();
  sigaddset(&signals, SIGCHLD);
  static_cast<void>(::sigprocmask(SIG_BLOCK, &signals, nullptr));
  TRY(let_go());
  const int code = stand_for(pid_, signals);
  pid_ = 0;
  return code;
}

std::optional<StartFailure> look_for(const std::string& command) {
  const auto problem = [](const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return errno;
    if (!S_ISREG(about.st_mode)) return EACCES;
    return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (command.find('/') != std::string::npos) {
    const int number = problem(command);
    if (number == 0) return std::nullopt;
    return failure_of(command, number);
  }
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
  int worst = ENOENT;
  for (bool more = !command.empty(); more;) {
    const std::size_t end = path.find(':');
    const std::string directory(path.substr(0, end));
    const int number = problem((directory.empty() ? "." : directory) + "/" + command);
    if (number == 0) return std::nullopt;
    if (number == EACCES) worst = EACCES;
    more = end != std::string_view::npos;
    if (more) path.remove_prefix(end + 1);
  }
  return failure_of(command, worst);
}

}  // namespace corehold
