// SPDX-License-Identifier: Apache-2.0
#include "isolation/cpu_mask.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr int kWordBits = 32;
constexpr std::size_t kWordDigits = 8;

}  // namespace

Result<CpuSet> parse_cpu_mask(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return Error{Code::kInvalid, fmt::format("mask of CPUs {:?}: {}", text.substr(0, 64), why)};
  };
  CpuSet cpus;
  std::string_view rest = text;
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ')) rest.remove_suffix(1);
  if (rest.empty()) return refuse("is empty");
  for (int base = 0; !rest.empty(); base += kWordBits) {
    const std::size_t comma = rest.rfind(',');
    const std::string_view digits = comma == std::string_view::npos ? rest : rest.substr(comma + 1);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(0, comma);
    if (comma == 0) return refuse("begins with a comma");
    std::uint32_t word = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
    if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
      return refuse(fmt::format("{:?} is not a word of 32 bits", digits));
    }
    for (int bit = 0; bit < kWordBits; ++bit) {
      if ((word >> bit & 1U) == 0) continue;
      if (!CpuSet::can_hold(base + bit)) {
        return refuse(fmt::format("CPU {} is too large", base + bit));
      }
      cpus.insert(CpuId(base + bit));
    }
  }
  return cpus;
}

std::string cpu_mask_text(const CpuSet& cpus, std::string_view like) {
  const auto digits = static_cast<std::size_t>(
      std::count_if(like.begin(), like.end(), [](char c) { return c != ',' && c != '\n'; }));
  std::vector<std::uint32_t> words(
      std::max<std::size_t>((digits + kWordDigits - 1) / kWordDigits, 1));
  for (const CpuId cpu : cpus) {
    const auto word = static_cast<std::size_t>(cpu.value / kWordBits);
    if (word >= words.size()) words.resize(word + 1);
    words[word] |= std::uint32_t{1} << cpu.value % kWordBits;
  }
  const std::size_t whole = (words.size() - 1) * kWordDigits;
  std::string text = fmt::format("{:0{}x}", words.back(), digits > whole ? digits - whole : 1);
  for (std::size_t word = words.size() - 1; word > 0; --word) {
    text += fmt::format(",{:08x}", words[word - 1]);
  }
  return text;
}

}  // namespace corehold
