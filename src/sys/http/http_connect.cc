// SPDX-License-Identifier: Apache-2.0
#include "sys/http/http_connect.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include <fmt/format.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

using Outcome = Channel::Outcome;
using std::chrono::milliseconds;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

Error nobody_listens(const std::string& place) {
  return {Code::kNotFound,
          fmt::format("no agent is listening on {}; start one with corehold agent", place)};
}

Error cannot_connect(const std::string& path, int number) {
  if (number == ENOENT || number == ECONNREFUSED) return nobody_listens(path);
  if (number == EACCES || number == EPERM) {
    return {Code::kIo,
            fmt::format("this user may not use {} (EACCES): run this as root, or let a group of "
                        "this user use it with `listen: {{socketGroup: GROUP}}` in the "
                        "CoreholdConfiguration of the agent's --config file",
                        path)};
  }
  if (number == EAGAIN) return no_answer(path);
  return errno_error(fmt::format("connect to {}", path), number);
}

// How long poll(2) may wait; rounded up, so that it does not return a bit too early in vain.
int poll_time(Deadline until) {
  if (until == Deadline::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

bool wait_on(int fd, short events, Deadline until) {
  for (;;) {
    pollfd waiting{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&waiting, 1, poll_time(until));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Result<Descriptor> connect_unix(const std::string& path, Deadline until) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{Code::kInvalid,
                 fmt::format("{} is too long for a socket: {} bytes, {} are the most", path,
                             path.size(), sizeof(sockaddr_un::sun_path) - 1)};
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return cannot_connect(path, errno);
  // A queue that is full makes connect() wait, and poll() does not tell when it is not.
  const auto left = milliseconds(std::max(1, poll_time(until)));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(left - seconds);
  const timeval bound{.tv_sec = seconds.count(), .tv_usec = rest.count()};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how the kernel wants it
  const auto* given = reinterpret_cast<const sockaddr*>(&address);
  while (::connect(socket.get(), given, sizeof address) != 0) {
    if (errno != EINTR) return cannot_connect(path, errno);
  }
  return socket;
}

// 0, or why not.
int connect_to(int fd, const addrinfo& address, Deadline until) {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!wait_on(fd, POLLOUT, until)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

Result<Descriptor> connect_tcp(const HttpEndpoint& endpoint, Deadline until) {
  const addrinfo wish{.ai_flags = AI_NUMERICSERV,
                      .ai_family = AF_UNSPEC,
                      .ai_socktype = SOCK_STREAM,
                      .ai_protocol = 0,
                      .ai_addrlen = 0,
                      .ai_addr = nullptr,
                      .ai_canonname = nullptr,
                      .ai_next = nullptr};
  addrinfo* found = nullptr;
  const std::string port = fmt::to_string(endpoint.port);
  const int failure = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &wish, &found);
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  if (failure != 0) {
    return Error{Code::kIo, fmt::format("find {}: {}", endpoint.host, ::gai_strerror(failure))};
  }
  int error = EADDRNOTAVAIL;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    Descriptor socket(
        ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, each->ai_protocol));
    error = socket.is_open() ? connect_to(socket.get(), *each, until) : errno;
    if (error == 0) return socket;
  }
  if (error == ECONNREFUSED) return nobody_listens(endpoint.text());
  if (error == ETIMEDOUT) return no_answer(endpoint.text());
  return errno_error(fmt::format("connect to {}", endpoint.text()), error);
}

}  // namespace

Error no_answer(const std::string& place) {
  return {Code::kIo, fmt::format("the agent at {} does not answer", place)};
}

bool wait_for(const HttpLine& line, Outcome wish, Deadline until) {
  const int events = wish == Outcome::kWaitToWrite ? POLLOUT : POLLIN;
  return wait_on(line.socket.get(), static_cast<short>(events), until);
}

Result<HttpLine> connect(const HttpEndpoint& endpoint, Deadline until) {
  if (!endpoint.socket_path.empty()) {
    HttpLine line{.socket = TRY(connect_unix(endpoint.socket_path, until))};
    line.channel = plain_channel(line.socket.get());
    return line;
  }
  const TlsContext trust = TRY(TlsContext::for_client(endpoint.authority));
  HttpLine line{.socket = TRY(connect_tcp(endpoint, until))};
  line.channel = trust.connect(line.socket.get(), endpoint.host);
  for (;;) {
    const Outcome outcome = line.channel->handshake().outcome;
    if (outcome == Outcome::kDone) return line;
    if (outcome == Outcome::kBroken || outcome == Outcome::kEnd) {
      return Error{Code::kIo,
                   fmt::format("speak TLS with {}: {}", endpoint.text(), line.channel->trouble())};
    }
    if (!wait_for(line, outcome, until)) return no_answer(endpoint.text());
  }
}

}  // namespace corehold
