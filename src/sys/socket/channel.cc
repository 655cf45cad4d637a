// SPDX-License-Identifier: Apache-2.0
#include "sys/socket/channel.h"

#include <sys/socket.h>

#include <cerrno>

#include "sys/file/file.h"

namespace corehold {
namespace {

class PlainChannel final : public Channel {
 public:
  explicit PlainChannel(int fd) : fd_(fd) {}

  Moved handshake() override { return {}; }

  Moved read(char* into, std::size_t size) override {
    const ssize_t got = ::recv(fd_, into, size, MSG_DONTWAIT);
    if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
    if (got == 0) return {.outcome = Outcome::kEnd};
    return problem(Outcome::kWaitToRead);
  }

  Moved write(std::string_view text) override {
    const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
    return problem(Outcome::kWaitToWrite);
  }

  void end_writing() override { ::shutdown(fd_, SHUT_WR); }
  bool has_buffered() const override { return false; }
  std::string trouble() const override { return errno_name(errno_); }

 private:
  Moved problem(Outcome wait) {
    if (errno == EAGAIN || errno == EINTR) return {.outcome = wait};
    errno_ = errno;
    return {.outcome = Outcome::kBroken};
  }

  int fd_;
  int errno_ = 0;
};

}  // namespace

std::unique_ptr<Channel> plain_channel(int fd) { return std::make_unique<PlainChannel>(fd); }

}  // namespace corehold
