// SPDX-License-Identifier: Apache-2.0
#include "sys/clock.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <limits>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"

namespace corehold {
namespace {

void fill_randomly(std::span<unsigned char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    CHECK(got > 0);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

// Not std::chrono::system_clock, whose nanoseconds overflow in the year 2262.
timespec read_wall_clock() {
  timespec reading{};
  CHECK(::clock_gettime(CLOCK_REALTIME, &reading) == 0);
  return reading;
}

}  // namespace

std::chrono::milliseconds steady_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

std::chrono::milliseconds wall_now() { return wall_time_of(read_wall_clock()); }

std::chrono::nanoseconds wall_now_in_nanoseconds() {
  return wall_nanoseconds_of(read_wall_clock());
}

std::chrono::milliseconds wall_time_of(const timespec& reading) {
  constexpr std::int64_t kLatest = kLatestWallTime.count() / 1000;
  if (reading.tv_sec < 0) return std::chrono::milliseconds(0);
  if (reading.tv_sec > kLatest) return kLatestWallTime;
  return std::chrono::milliseconds(std::int64_t{reading.tv_sec} * 1000 +
                                   reading.tv_nsec / 1'000'000);
}

std::chrono::nanoseconds wall_nanoseconds_of(const timespec& reading) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / kSecond - 1;
  if (reading.tv_sec < 0) return std::chrono::nanoseconds(0);
  if (reading.tv_sec > kLatest) return std::chrono::nanoseconds(kLatest * kSecond);
  return std::chrono::nanoseconds(std::int64_t{reading.tv_sec} * kSecond + reading.tv_nsec);
}

std::string utc_text(std::chrono::milliseconds since_epoch) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string random_uuid() {
  std::array<unsigned char, 16> bytes{};
  fill_randomly(bytes);
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0fU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3fU) | 0x80U);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::string random_suffix(int length) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  while (static_cast<int>(text.size()) < length) {
    std::array<unsigned char, 1> byte{};
    fill_randomly(byte);
    const std::size_t choice = byte[0] & 0x1fU;
    if (choice < kLetters.size()) text += kLetters[choice];
  }
  return text;
}

}  // namespace corehold
