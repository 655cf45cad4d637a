// SPDX-License-Identifier: Apache-2.0
#include "sys/clock.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <ctime>
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

}  // namespace

std::chrono::milliseconds steady_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

std::chrono::milliseconds wall_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
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
