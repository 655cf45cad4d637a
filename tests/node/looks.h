// SPDX-License-Identifier: Apache-2.0
//
// Files of the reader proof: what a container was told, look by look, and where it was allowed to
// run, look by look, each look with the clock before and after it. Mapped into the reader that
// writes them, so that they can be read whatever ended it. Trouble ends the program.
#pragma once

#include "samples.h"

namespace corehold::proof {

// What a look at the file has found beside CPUs.
enum class Fault : std::uint32_t {
  kNone,
  kMissing,  // it could not be opened or read
  kEmpty,
  kBroken,  // not a list of CPUs as the kernel writes them
};

struct Look {
  Nanoseconds begun = 0;
  Nanoseconds ended = 0;
  std::uint64_t cpus = 0;   // one bit each
  std::uint64_t inode = 0;  // of the file: on a tmpfs no two have the same
  Fault fault = Fault::kNone;
};

inline constexpr int kMostCpus = 64;
inline constexpr std::array<char, 8> kLookMagic = {'l', 'o', 'o', 'k', 's', '_', '_', '1'};

// What has no room is counted as lost.
class LookFile {
 public:
  static LookFile create(const std::string& path, std::uint64_t capacity, Nanoseconds delay) {
    std::size_t size = sizeof(Head) + capacity * sizeof(Look);
    LookFile file(map_file(unfinished(path), O_RDWR | O_CREAT | O_EXCL, size));
    file.head_->capacity = capacity;
    file.head_->delay = delay;
    file.head_->magic = kLookMagic;
    finish(path);
    return file;
  }

  static LookFile open_existing(const std::string& path) {
    std::size_t size = 0;
    LookFile file(map_file(path, O_RDONLY, size));
    if (size < sizeof(Head) || file.head_->magic != kLookMagic ||
        size != sizeof(Head) + file.head_->capacity * sizeof(Look)) {
      errx(2, "%s: not a file of looks", path.c_str());
    }
    return file;
  }

  void add(const Look& look) {
    const std::uint64_t count = head_->count.load(std::memory_order_relaxed);
    if (count >= head_->capacity) {
      head_->lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    looks_[count] = look;
    head_->count.store(count + 1, std::memory_order_release);
  }

  std::uint64_t count() const { return head_->count.load(std::memory_order_acquire); }
  std::uint64_t lost() const { return head_->lost.load(std::memory_order_relaxed); }
  // That the container is promised between being told and a loss.
  Nanoseconds delay() const { return head_->delay; }
  // REQUIRES: index < count().
  const Look& operator[](std::uint64_t index) const { return looks_[index]; }

 private:
  struct Head {
    std::array<char, 8> magic{};
    std::uint64_t capacity = 0;
    Nanoseconds delay = 0;
    std::atomic<std::uint64_t> count{};
    std::atomic<std::uint64_t> lost{};
  };

  explicit LookFile(void* place)
      : head_(static_cast<Head*>(place)), looks_(reinterpret_cast<Look*>(head_ + 1)) {}

  Head* head_;
  Look* looks_;
};

inline std::string told_path(const std::string& directory, const std::string& name) {
  return directory + "/told." + name;
}
inline std::string allowed_path(const std::string& directory, const std::string& name) {
  return directory + "/allowed." + name;
}

}  // namespace corehold::proof
