// SPDX-License-Identifier: Apache-2.0
//
// NodeMask: some of the nodes of a Fleet, one bit for each place. A value; it means
// something only together with its fleet, and only until that one changes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace corehold {

class NodeMask {
 public:
  static constexpr std::size_t kWordBits = 64;

  NodeMask() = default;
  explicit NodeMask(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

  // How many nodes: a walk over all words.
  std::size_t count() const;

  bool contains(std::size_t place) const {
    return place / kWordBits < words_.size() &&
           ((words_[place / kWordBits] >> (place % kWordBits)) & 1U) != 0;
  }
  // REQUIRES: place < kWordBits * words().size().
  void insert(std::size_t place) { words_[place / kWordBits] |= bit(place); }
  void erase(std::size_t place) { words_[place / kWordBits] &= ~bit(place); }
  // Room for more places, without nodes.
  void grow(std::size_t words) { words_.resize(words, 0); }

  const std::vector<std::uint64_t>& words() const { return words_; }

  // Calls visit(place) in ascending order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(i * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
  }

  bool operator==(const NodeMask&) const = default;

 private:
  static std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << (place % kWordBits); }

  std::vector<std::uint64_t> words_{};
};

}  // namespace corehold
