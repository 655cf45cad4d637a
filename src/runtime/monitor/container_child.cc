// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/container_child.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/cgroup/confinement.h"
#include "runtime/monitor/host_path.h"
#include "sys/file/file.h"
#include "sys/process/container_mark.h"
#include "sys/process/mount_view.h"

namespace corehold {
namespace {

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

Error failed(std::string_view what) { return errno_error(what, errno); }

// The kernel is asked itself: glibc keeps two signals for its own use and does not let them be
// reset, but leaves them ignored in what posix_spawn starts.
void reset_signals() {
  struct {
    void* handler = nullptr;
    unsigned long flags = 0;
    void* restorer = nullptr;
    std::uint64_t mask = 0;
  } defaults;
  for (int number = 1; number < NSIG; ++number) {
    static_cast<void>(
        ::syscall(SYS_rt_sigaction, number, &defaults, nullptr, sizeof defaults.mask));
  }
  sigset_t none{};
  ::sigemptyset(&none);
  static_cast<void>(::sigprocmask(SIG_SETMASK, &none, nullptr));
}

Result<void> redirect(const ChildOutput& output) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) return failed("open /dev/null");
  if (::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(output.out, STDOUT_FILENO) < 0 ||
      ::dup2(output.error, STDERR_FILENO) < 0) {
    return failed("redirect output");
  }
  return {};
}

Result<void> become_user(const Launch& launch) {
  const bool is_root = ::geteuid() == 0;
  gid_t group = ::getegid();
  if (launch.group) {
    group = *launch.group;
  } else if (launch.user) {
    // As a container runtime does it: the user's group, or root's for an unknown user.
    const passwd* entry = ::getpwuid(*launch.user);
    group = entry != nullptr ? entry->pw_gid : 0;
  }
  if (is_root) {
    if (::setgroups(launch.groups.size(), launch.groups.data()) != 0) return failed("setgroups");
  } else if (!launch.groups.empty()) {
    return Error{Code::kUnsupported,
                 "supplementalGroups and fsGroup need an agent that runs as root"};
  }
  if (group != ::getegid() && ::setresgid(group, group, group) != 0) {
    return failed(fmt::format("set group {}", group));
  }
  if (launch.user && *launch.user != ::geteuid() &&
      ::setresuid(*launch.user, *launch.user, *launch.user) != 0) {
    return failed(fmt::format("set user {}", *launch.user));
  }
  return {};
}

std::vector<std::string> environment_of(const Launch& launch) {
  const passwd* entry = ::getpwuid(launch.user ? *launch.user : ::geteuid());
  std::map<std::string, std::string> variables{{"PATH", kDefaultPath},
                                               {"HOME", entry != nullptr ? entry->pw_dir : "/"}};
  for (const auto& [name, value] : launch.environment) variables[name] = value;
  variables[std::string(kContainerVariable)] = pod_mark(launch.container);
  std::vector<std::string> texts;
  texts.reserve(variables.size());
  for (const auto& [name, value] : variables) texts.push_back(fmt::format("{}={}", name, value));
  return texts;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Error run_command(const Launch& launch) {
  std::vector<std::string> words = launch.command;
  std::vector<std::string> variables = environment_of(launch);
  const auto arguments = pointers_to(words);
  auto environment = pointers_to(variables);
  if (words.empty()) return {Code::kInvalid, "there is no command"};
  // execvp looks the command up in the PATH that the container will have.
  ::environ = environment.data();
  ::execvp(arguments[0], arguments.data());
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kIo;
  return errno_error(fmt::format("run {}", words[0]), errno, code);
}

Result<void> prepare(const Launch& launch, const std::string& container_directory,
                     const ChildOutput& output, pid_t monitor) {
  if (::setsid() < 0) return failed("setsid");
  reset_signals();
  TRY(redirect(output));
  TRY(check_host_paths(launch.host_paths));
  if (!launch.mounts.empty()) {
    std::vector<ViewMount> mounts;
    mounts.reserve(launch.mounts.size());
    for (const Mount& mount : launch.mounts) {
      mounts.push_back({.source = mount.source,
                        .sub_path = mount.sub_path,
                        .target = mount.target,
                        .read_only = mount.read_only,
                        .may_create = mount.may_create});
    }
    TRY(enter_view(mounts, container_directory));
  }
  const std::string directory = launch.working_directory.empty() ? "/" : launch.working_directory;
  TRY(become_user(launch));
  if (::chdir(directory.c_str()) != 0) {
    return failed(fmt::format("change to working directory {}", directory));
  }
  ::umask(022);
  // After the change of user, which would undo it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return failed("set parent death signal");
  if (::getppid() != monitor) return Error{Code::kIo, "the monitor has gone"};
  if (launch.no_new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return failed("set no_new_privs");
  }
  static_cast<void>(::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC));
  return {};
}

}  // namespace

Error become_container(const Launch& launch, const std::string& directory,
                       const ChildOutput& output, pid_t monitor) {
  const auto prepared = prepare(launch, directory, output, monitor);
  if (!prepared) return prepared.error();
  return run_command(launch);
}

}  // namespace corehold
