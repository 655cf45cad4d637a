// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/launcher.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxPacket = 8192;
constexpr std::string_view kMonitor = "monitor";
constexpr std::string_view kMount = "mount";
constexpr std::string_view kUnmount = "unmount";
// The agent's work for a pod waits for the answer; a launcher that hangs is an error.
constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

Error failed(std::string_view what) { return errno_error(what, errno); }

Result<void> mount_here(const std::string& path, std::optional<std::int64_t> size) {
  std::string options = "mode=0777";
  if (size) options += fmt::format(",size={}", *size);
  if (::mount("corehold", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0) {
    return {};
  }
  return failed(fmt::format("mount a tmpfs on {}", path));
}

Result<void> unmount_here(const std::string& path) {
  if (::umount2(path.c_str(), MNT_DETACH) == 0) return {};
  return failed(fmt::format("unmount {}", path));
}

// One packet, with a descriptor when there is one to send along.
Result<void> send_packet(int socket, std::string_view text, int descriptor) {
  iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return failed("send");
  return {};
}

struct Packet {
  std::string text{};
  Descriptor descriptor{-1};
};

Result<Packet> receive_packet(int socket) {
  std::array<char, kMaxPacket> buffer{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got < 0) return failed("receive");
  Packet packet;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    packet.descriptor.reset(descriptor);
  }
  if (got == 0) return Error{Code::kIo, "it has hung up"};
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Error{Code::kInvalid, "a request is too long"};
  }
  packet.text.assign(buffer.data(), static_cast<std::size_t>(got));
  return packet;
}

// --- the agent's side

Result<std::string> ask(const std::string& path, std::string_view request, int descriptor) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{Code::kInvalid, fmt::format("{} is too long for a socket", path)};
  }
  path.copy(static_cast<char*>(address.sun_path), path.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return failed("socket");
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, option, &kPatience, sizeof kPatience));
  }
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failed("connect");
  }
  TRY(send_packet(socket.get(), request, descriptor));
  const Packet answer = TRY(receive_packet(socket.get()));
  if (answer.text.starts_with("ok")) return answer.text.substr(2);
  const bool is_error = answer.text.starts_with("error ");
  return Error{Code::kIo, is_error ? answer.text.substr(6) : "it answers nonsense"};
}

Result<std::string> ask_launcher(const std::string& socket, std::string_view request,
                                 int descriptor = -1) {
  auto answer = ask(socket, request, descriptor);
  if (!answer) return wrap(fmt::format("the launcher at {}", socket), answer.error());
  return answer;
}

// " PID START"
std::optional<ProcessId> read_process(std::string_view text) {
  ProcessId process;
  if (!text.starts_with(' ')) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto pid = std::from_chars(text.data() + 1, end, process.pid);
  if (pid.ec != std::errc() || pid.ptr == end || *pid.ptr != ' ') return std::nullopt;
  const auto start = std::from_chars(pid.ptr + 1, end, process.start_time);
  if (start.ec != std::errc() || start.ptr != end || process.pid <= 0) return std::nullopt;
  return process;
}

// Monitors keep off CPUs that others have for themselves, as this process does.
void share_cpus(pid_t monitor) {
  std::array<unsigned char, 1024> mask{};
  auto* const cpus = reinterpret_cast<cpu_set_t*>(mask.data());
  if (::sched_getaffinity(0, mask.size(), cpus) == 0) {
    static_cast<void>(::sched_setaffinity(monitor, mask.size(), cpus));
  }
}

// --- the launcher's side

Result<void> check_place(const std::string& path, const std::string& folder) {
  const std::string below = folder + "/";
  const bool is_plain = std::filesystem::path(path).lexically_normal().string() == path;
  if (is_plain && path.starts_with(below) && path.size() > below.size()) return {};
  return Error{Code::kInvalid, fmt::format("{} is not below {}, which is all that this launcher "
                                           "takes care of",
                                           path, folder)};
}

Result<std::string> answer_to(const Packet& request, const LauncherService& service) {
  const std::string_view text = request.text;
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return Error{Code::kInvalid, "there is no such request"};
  const std::string_view verb = text.substr(0, line);
  const std::string path(text.substr(line + 1));
  if (verb == kMonitor) {
    TRY(check_place(path, service.root + "/containers"));
    if (!request.descriptor.is_open()) return Error{Code::kInvalid, "a channel is missing"};
    const ProcessId process =
        TRY(spawn_monitor_on(service.monitor, path, request.descriptor.get()));
    return fmt::format(" {} {}", process.pid, process.start_time);
  }
  TRY(check_place(path, service.root + "/volumes"));
  if (verb == kUnmount) {
    TRY(unmount_here(path));
    return std::string();
  }
  if (!verb.starts_with(kMount)) return Error{Code::kInvalid, "there is no such request"};
  std::string_view word = verb.substr(kMount.size());
  std::optional<std::int64_t> size;
  if (!word.empty()) {
    word.remove_prefix(1);
    std::int64_t bytes = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), bytes);
    if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size()) {
      return Error{Code::kInvalid, "the size is not a number"};
    }
    size = bytes;
  }
  TRY(mount_here(path, size));
  return std::string();
}

bool is_of_own_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

void serve(int socket, const LauncherService& service) {
  // A client that says nothing does not hold up the next client.
  static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience));
  if (!is_of_own_user(socket)) return;
  const auto request = receive_packet(socket);
  if (!request) return;
  const auto answer = answer_to(*request, service);
  const std::string text =
      answer ? fmt::format("ok{}", *answer) : fmt::format("error {}", answer.error().message);
  static_cast<void>(send_packet(socket, text, -1));
}

}  // namespace

Result<MonitorProcess> Launcher::start_monitor(const std::vector<std::string>& command,
                                               const std::string& directory) const {
  if (socket_.empty()) return spawn_monitor(command, directory);
  MonitorChannel channel = TRY(MonitorChannel::make());
  const std::string answer =
      TRY(ask_launcher(socket_, fmt::format("{}\n{}", kMonitor, directory), channel.theirs.get()));
  const auto process = read_process(answer);
  if (!process) {
    return Error{Code::kIo, fmt::format("the launcher at {} answers nonsense", socket_)};
  }
  share_cpus(process->pid);
  return MonitorProcess{.process = *process, .channel = channel.ours.release(), .is_child = false};
}

Launcher Launcher::without_mounts() {
  Launcher launcher;
  launcher.mounts_ = false;
  return launcher;
}

Result<void> Launcher::mount_memory(const std::string& path,
                                    std::optional<std::int64_t> size) const {
  if (!mounts_) return {};
  if (socket_.empty()) return mount_here(path, size);
  const std::string verb = size ? fmt::format("{} {}", kMount, *size) : std::string(kMount);
  TRY(ask_launcher(socket_, fmt::format("{}\n{}", verb, path)));
  return {};
}

Result<void> Launcher::unmount(const std::string& path) const {
  if (socket_.empty()) return unmount_here(path);
  TRY(ask_launcher(socket_, fmt::format("{}\n{}", kUnmount, path)));
  return {};
}

Error serve_launcher(int listener, const LauncherService& service) {
  // Monitors are not waited for: they record the ends of their containers themselves.
  static_cast<void>(std::signal(SIGCHLD, SIG_IGN));
  while (true) {
    const Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.is_open()) {
      serve(socket.get(), service);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return failed("accept");
    }
  }
}

}  // namespace corehold
