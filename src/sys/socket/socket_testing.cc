// SPDX-License-Identifier: Apache-2.0
#include "sys/socket/socket_testing.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "sys/clock.h"

namespace corehold {
namespace {

constexpr int kTries = 100'000;

Descriptor connected(int family, const sockaddr* address, socklen_t size) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), address, size) != 0) socket.close();
  return socket;
}

}  // namespace

Descriptor connect_unix(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how the kernel wants it
  return connected(AF_UNIX, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

Descriptor connect_tcp(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how the kernel wants it
  return connected(AF_INET, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

TestPki test_pki() {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(wall_now());
  const Validity day{.from = now - std::chrono::hours(1), .until = now + std::chrono::hours(24)};
  const auto authority = make_authority("test-ca", day);
  CHECK(authority);
  const auto server = issue_server(*authority, {"127.0.0.1", "::1", "localhost"}, day);
  CHECK(server);
  return {.authority = *authority, .server = *server};
}

RawClient::RawClient(boost::asio::io_context& loop, Descriptor socket)
    : loop_(loop), socket_(std::move(socket)), channel_(plain_channel(socket_.get())) {}

RawClient::RawClient(boost::asio::io_context& loop, Descriptor socket, const TlsContext& tls)
    : loop_(loop), socket_(std::move(socket)), channel_(tls.connect(socket_.get(), "127.0.0.1")) {}

void RawClient::turn() {
  loop_.restart();
  loop_.run_for(std::chrono::milliseconds(1));
  // However late it is by now.
  loop_.restart();
  loop_.poll();
}

bool RawClient::shake_hands() {
  for (int i = 0; i < kTries; ++i) {
    const Channel::Outcome outcome = channel_->handshake().outcome;
    if (outcome == Channel::Outcome::kDone) return true;
    if (outcome == Channel::Outcome::kBroken || outcome == Channel::Outcome::kEnd) return false;
    turn();
  }
  return false;
}

bool RawClient::send(std::string_view text) {
  for (int i = 0; i < kTries && !text.empty(); ++i) {
    const Channel::Moved moved = channel_->write(text);
    if (moved.outcome == Channel::Outcome::kBroken || moved.outcome == Channel::Outcome::kEnd) {
      return false;
    }
    text.remove_prefix(moved.bytes);
    if (moved.outcome != Channel::Outcome::kDone) turn();
  }
  return text.empty();
}

std::string RawClient::receive(const std::string& enough) {
  std::string text;
  for (int i = 0; i < kTries; ++i) {
    loop_.restart();
    loop_.poll();
    std::array<char, 4096> buffer{};
    const Channel::Moved moved = channel_->read(buffer.data(), buffer.size());
    if (moved.outcome == Channel::Outcome::kEnd || moved.outcome == Channel::Outcome::kBroken) {
      closed_ = true;
      return text;
    }
    text.append(buffer.data(), moved.bytes);
    if (!enough.empty() && text.find(enough) != std::string::npos) return text;
    if (moved.outcome != Channel::Outcome::kDone) turn();
  }
  return text + " (and then nothing)";
}

}  // namespace corehold
