// SPDX-License-Identifier: Apache-2.0
#include "kernel/irqbalance.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isolation/cpu_mask.h"
#include "kernel/words.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// All zeros, which /proc/net/unix shows as a row of these.
constexpr std::string_view kAbstract = "@";
constexpr std::string_view kPrefix = "irqbalance";
constexpr std::string_view kSuffix = ".sock";
// irqbalance reads so much and no more.
constexpr std::size_t kLongestMessage = 499;
// After so long an irqbalance that was told something has scanned, or has not understood.
constexpr std::chrono::minutes kScanned{2};
constexpr milliseconds kRetry{5};

// The process of irqbalance<pid>.sock.
std::optional<pid_t> pid_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  return number_in<pid_t>(name);
}

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

Error socket_error(std::string_view attempted, const std::string& socket, int number) {
  const bool is_gone = number == ENOENT || number == ECONNREFUSED || number == ENOTSOCK;
  return errno_error(fmt::format("{} irqbalance at {}", attempted, socket), number,
                     is_gone ? Code::kNotFound : Code::kIo);
}

Result<Descriptor> connect_to(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket != kAbstract) {
    if (socket.size() >= sizeof address.sun_path) {
      return Error{Code::kInvalid, fmt::format("{} is too long for a socket", socket)};
    }
    std::memcpy(address.sun_path, socket.data(), socket.size());
  }
  Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.is_open()) return socket_error("connect to", socket, errno);
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    return socket_error("connect to", socket, errno);
  }
  // Anybody can take an abstract name.
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return socket_error("connect to", socket, errno);
  }
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    return Error{Code::kNotFound, fmt::format("{} belongs to user {}", socket, peer.uid)};
  }
  return connection;
}

// A socket is there a moment before somebody listens on it.
Result<Descriptor> connect_patiently(const std::string& socket, pid_t pid, milliseconds patience) {
  const auto end = steady_clock::now() + patience;
  while (true) {
    auto connection = connect_to(socket);
    const bool is_refused = !connection && connection.error().number == ECONNREFUSED;
    if (!is_refused || !is_alive(pid) || steady_clock::now() >= end) return connection;
    static_cast<void>(::poll(nullptr, 0, static_cast<int>(kRetry.count())));
  }
}

Result<void> send_to(const Descriptor& connection, const std::string& socket,
                     std::string_view message) {
  iovec data{.iov_base = const_cast<char*>(message.data()), .iov_len = message.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))]{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* credentials = CMSG_FIRSTHDR(&header);
  credentials->cmsg_level = SOL_SOCKET;
  credentials->cmsg_type = SCM_CREDENTIALS;
  credentials->cmsg_len = CMSG_LEN(sizeof(ucred));
  const ucred own{.pid = ::getpid(), .uid = ::geteuid(), .gid = ::getegid()};
  std::memcpy(CMSG_DATA(credentials), &own, sizeof own);
  const ssize_t sent = ::sendmsg(connection.get(), &header, MSG_NOSIGNAL);
  if (sent < 0) return socket_error("send to", socket, errno);
  if (static_cast<std::size_t>(sent) != message.size()) {
    return socket_error("send to", socket, EMSGSIZE);
  }
  return {};
}

// Adds to `answer` all that comes until irqbalance closes the connection.
Result<void> receive(const Descriptor& connection, const std::string& socket, milliseconds patience,
                     std::string& answer) {
  const auto end = steady_clock::now() + patience;
  char buffer[4096];
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    pollfd waiting{.fd = connection.get(), .events = POLLIN, .revents = 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::max<milliseconds::rep>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return socket_error("wait for", socket, ETIMEDOUT);
    const ssize_t got = ::recv(connection.get(), buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return socket_error("wait for", socket, errno);
    if (got == 0) return {};
    answer.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<CpuSet> parse_irqbalance_setup(std::string_view answer) {
  constexpr std::string_view kBanned = "BANNED ";
  const std::size_t at = answer.rfind(kBanned);
  if (at == std::string_view::npos) {
    return Error{Code::kInvalid, fmt::format("{:?} does not say which CPUs are banned", answer)};
  }
  return parse_cpu_mask(answer.substr(at + kBanned.size()));
}

Result<CpuSet> IrqBalance::banned(const std::string& socket) {
  if (unanswered_.find(socket) == unanswered_.end()) {
    const std::string name = socket.substr(socket.rfind('/') + 1);
    auto connection = socket == kAbstract
                          ? connect_to(socket)
                          : connect_patiently(socket, pid_of(name).value_or(-1), options_.patience);
    if (!connection) return connection.error();
    TRY(send_to(*connection, socket, "setup"));
    unanswered_.emplace(socket, Question{.connection = *std::move(connection)});
  }
  const auto waiting = unanswered_.find(socket);
  Question& question = waiting->second;
  const auto received = receive(question.connection, socket, options_.patience, question.answer);
  if (!received && received.error().number == ETIMEDOUT) return received.error();
  const std::string answer = std::move(question.answer);
  unanswered_.erase(waiting);
  if (!received) return received.error();
  return parse_irqbalance_setup(answer);
}

IrqBalance::Seen IrqBalance::look() {
  Seen seen;
  std::vector<std::string> sockets;
  if (const auto names = entries_of(options_.directory)) {
    for (const std::string& name : *names) {
      if (pid_of(name)) sockets.push_back(options_.directory + "/" + name);
    }
  }
  if (sockets.empty()) sockets.emplace_back(kAbstract);
  for (const std::string& socket : sockets) {
    const auto said = banned(socket);
    const auto told = told_.find(socket);
    if (!said && said.error().code == Code::kNotFound) {
      said_.erase(socket);
      if (told != told_.end()) told_.erase(told);
      continue;
    }
    if (said) said_[socket] = *said;
    const bool is_new = told != told_.end() && steady_clock::now() - told->second.when < kScanned;
    if (is_new && (!said || *said == told->second.before)) {
      seen.running.push_back({.socket = socket, .banned = told->second.cpus});
    } else if (said) {
      seen.running.push_back({.socket = socket, .banned = *said});
    } else {
      seen.silent.push_back({.level = IsolationLevel::kIrqs,
                             .what = "irqbalance, which may move interrupts to held CPUs",
                             .reason = said.error().message});
    }
  }
  return seen;
}

Result<void> IrqBalance::ban(const std::string& socket, const CpuSet& cpus) {
  const std::string message =
      fmt::format("settings cpus {}", cpus.empty() ? std::string("NULL") : cpus.str());
  if (message.size() > kLongestMessage) {
    return Error{Code::kInvalid,
                 fmt::format("irqbalance takes no list of CPUs as long as {}", cpus.str())};
  }
  const auto connection = connect_to(socket);
  if (!connection) return connection.error();
  TRY(send_to(*connection, socket, message));
  told_[socket] = {.cpus = cpus, .before = said_[socket], .when = steady_clock::now()};
  return {};
}

Result<std::unique_ptr<PathWatch>> IrqBalance::watch(boost::asio::io_context& loop,
                                                     const std::string& directory,
                                                     std::function<void()> on_change) {
  return PathWatch::begin(loop, directory, [on_change = std::move(on_change)](const auto& change) {
    bool is_socket = change.everything;
    for (const std::string& name : change.names) is_socket = is_socket || pid_of(name).has_value();
    if (is_socket) on_change();
  });
}

}  // namespace corehold
