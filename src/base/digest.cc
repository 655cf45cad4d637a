// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

namespace corehold {
namespace {

constexpr std::uint64_t kFnvBasis = 14695981039346656037ULL;
constexpr std::uint64_t kFnvPrime = 1099511628211ULL;

void add(std::uint64_t& hash, unsigned char byte) {
  hash ^= byte;
  hash *= kFnvPrime;
}

// Digests are added up, so each bit has to depend on every other.
std::uint64_t mix(std::uint64_t hash) {
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccdULL;
  hash ^= hash >> 33U;
  hash *= 0xc4ceb9fe1a85ec53ULL;
  return hash ^ (hash >> 33U);
}

}  // namespace

std::uint64_t digest_of(std::initializer_list<std::string_view> texts) {
  std::uint64_t hash = kFnvBasis;
  for (const std::string_view text : texts) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      add(hash, static_cast<unsigned char>(text.size() >> shift));
    }
    for (const char each : text) add(hash, static_cast<unsigned char>(each));
  }
  return mix(hash);
}

}  // namespace corehold
