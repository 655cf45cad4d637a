// SPDX-License-Identifier: Apache-2.0
//
// Files of the leak proof, mapped into the programs that write them, so that they can be read
// whatever ended those. A neighbour writes where it ran when (SampleFile), a holder for how
// long it had which CPUs (GrantFile); the judge reads both. Trouble ends the program.
#pragma once

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

namespace corehold::proof {

using Nanoseconds = std::int64_t;  // of CLOCK_MONOTONIC

inline Nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Where a thread was: the clock was read first, the CPU after it.
struct Sample {
  Nanoseconds time = 0;
  int cpu = -1;
};

inline constexpr std::array<char, 8> kSampleMagic = {'s', 'a', 'm', 'p', 'l', 'e', 's', '1'};
inline constexpr std::array<char, 8> kGrantMagic = {'g', 'r', 'a', 'n', 't', 's', '_', '1'};

// Maps a whole file. With O_CREAT it is made with this size and must not be there yet.
inline void* map_file(const std::string& path, int flags, std::size_t& size) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0) err(2, "%s", path.c_str());
  if ((flags & O_CREAT) != 0) {
    if (ftruncate(file, static_cast<off_t>(size)) != 0) err(2, "%s", path.c_str());
  } else {
    struct stat status {};
    if (fstat(file, &status) != 0) err(2, "%s", path.c_str());
    size = static_cast<std::size_t>(status.st_size);
  }
  const int protection = (flags & O_RDWR) != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
  void* place = mmap(nullptr, size, protection, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) err(2, "map %s", path.c_str());
  close(file);
  return place;
}

// A file has its name once its head is written, so that no reader finds half of one.
inline std::string unfinished(const std::string& path) { return path + ".new"; }

inline void finish(const std::string& path) {
  if (rename(unfinished(path).c_str(), path.c_str()) != 0) err(2, "%s", path.c_str());
}

// What has no room is counted as lost.
class SampleFile {
 public:
  static SampleFile create(const std::string& path, std::uint64_t capacity) {
    std::size_t size = sizeof(Head) + capacity * sizeof(std::uint64_t);
    SampleFile file(map_file(unfinished(path), O_RDWR | O_CREAT | O_EXCL, size));
    file.head_->start = now();
    file.head_->capacity = capacity;
    file.head_->magic = kSampleMagic;
    finish(path);
    return file;
  }

  static SampleFile open_existing(const std::string& path) {
    std::size_t size = 0;
    SampleFile file(map_file(path, O_RDONLY, size));
    if (size < sizeof(Head) || file.head_->magic != kSampleMagic ||
        size != sizeof(Head) + file.head_->capacity * sizeof(std::uint64_t)) {
      errx(2, "%s: not a file of samples", path.c_str());
    }
    return file;
  }

  void add(const Sample& sample) {
    const std::uint64_t count = head_->count.load(std::memory_order_relaxed);
    if (count >= head_->capacity) {
      head_->lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    samples_[count] = (static_cast<std::uint64_t>(sample.time - head_->start) << kCpuBits) |
                      static_cast<std::uint64_t>(sample.cpu);
    head_->count.store(count + 1, std::memory_order_release);
  }

  void add_taken(std::uint64_t count) { head_->taken.fetch_add(count, std::memory_order_relaxed); }

  // How often half of the room that was left has been filled.
  int halvings() const {
    return std::countl_zero(head_->capacity - count()) - std::countl_zero(head_->capacity);
  }

  std::uint64_t count() const { return head_->count.load(std::memory_order_acquire); }
  // Looks at clock and CPU, recorded or not.
  std::uint64_t taken() const { return head_->taken.load(std::memory_order_relaxed); }
  std::uint64_t lost() const { return head_->lost.load(std::memory_order_relaxed); }

  // REQUIRES: index < count().
  Sample operator[](std::uint64_t index) const {
    const std::uint64_t packed = samples_[index];
    return {.time = head_->start + static_cast<Nanoseconds>(packed >> kCpuBits),
            .cpu = static_cast<int>(packed & ((1U << kCpuBits) - 1))};
  }

 private:
  static constexpr int kCpuBits = 12;  // 4,096 CPUs; 52 days of nanoseconds

  struct Head {
    std::array<char, 8> magic{};
    Nanoseconds start = 0;
    std::uint64_t capacity = 0;
    std::atomic<std::uint64_t> count{};
    std::atomic<std::uint64_t> taken{};
    std::atomic<std::uint64_t> lost{};
  };

  explicit SampleFile(void* place)
      : head_(static_cast<Head*>(place)), samples_(reinterpret_cast<std::uint64_t*>(head_ + 1)) {}

  Head* head_;
  std::uint64_t* samples_;
};

// One exclusive grant, from the first instruction of its holder to the last that was seen.
struct Grant {
  std::array<char, 8> magic{};
  Nanoseconds granted = 0;
  std::atomic<Nanoseconds> last{};      // still held then
  std::atomic<std::uint64_t> astray{};  // times the holder ran elsewhere
  std::array<char, 4096> cpus{};        // kernel list, ends with 0
};

inline Grant* create_grant(const std::string& path, Nanoseconds granted, std::string_view cpus) {
  std::size_t size = sizeof(Grant);
  auto* grant = static_cast<Grant*>(map_file(unfinished(path), O_RDWR | O_CREAT | O_EXCL, size));
  grant->granted = granted;
  grant->last = granted;
  cpus.copy(grant->cpus.data(), grant->cpus.size() - 1);
  grant->magic = kGrantMagic;
  finish(path);
  return grant;
}

inline const Grant* open_grant(const std::string& path) {
  std::size_t size = 0;
  const auto* grant = static_cast<const Grant*>(map_file(path, O_RDONLY, size));
  if (size != sizeof(Grant) || grant->magic != kGrantMagic) {
    errx(2, "%s: not a file of a grant", path.c_str());
  }
  return grant;
}

}  // namespace corehold::proof
