// SPDX-License-Identifier: Apache-2.0
//
// An open file descriptor with one owner; the destructor closes it.
#pragma once

#include <unistd.h>

namespace corehold {

class Descriptor {
 public:
  // Takes what open(2) and its like return; a negative number is no descriptor.
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): unread when a Result failed
  bool is_open() const { return fd_ >= 0; }
  // 0 or -1 as close(2); nothing the second time.
  int close() {
    const int result = is_open() ? ::close(fd_) : 0;
    fd_ = -1;
    return result;
  }
  // Closes what it has and takes another.
  void reset(int fd) {
    close();
    fd_ = fd;
  }
  // Gives it away: the caller closes it.
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

}  // namespace corehold
