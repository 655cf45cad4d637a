// SPDX-License-Identifier: Apache-2.0
//
// IdSet: a set of ids from 0 to kCapacity-1, held inline as a bit mask with a
// count of live words. Copies and operators touch only the live words, nothing
// allocates, and trailing zero words are trimmed, so equal sets compare equal.
// CpuSet and NodeSet are this template over two kinds of id.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/id.h"
#include "base/result.h"

namespace corehold {

template <typename IdType, int Capacity>
class IdSet {
 public:
  static constexpr int kCapacity = Capacity;
  class Iterator;

  IdSet() = default;
  IdSet(std::initializer_list<IdType> ids) {
    for (const IdType id : ids) insert(id);
  }
  IdSet(const IdSet& other) : live_(other.live_) { copy_words(other); }
  IdSet& operator=(const IdSet& other) {
    live_ = other.live_;
    copy_words(other);
    return *this;
  }

  // The ids 0 to 63 as the bits of one word, both ways, for code that tries many sets.
  static IdSet of_word(std::uint64_t word) {
    IdSet set;
    if (word == 0) return set;
    set.words_[0] = word;
    set.live_ = 1;
    return set;
  }
  std::uint64_t word() const { return live_ == 0 ? 0 : words_[0]; }

  // The kernel's list format (list_format.h): "0-3,8,10-11"; "" is the empty set.
  // Fails with kInvalid, naming the item, also for a number the set cannot hold.
  static Result<IdSet> parse(std::string_view text);

  // Canonical kernel list format: ascending, runs of two or more joined by "-".
  std::string str() const;
  // The same, after what `text` holds already.
  void append_to(std::string& text) const;

  static constexpr bool can_hold(int number) { return number >= 0 && number < kCapacity; }

  // REQUIRES: 0 <= id < kCapacity.
  void insert(IdType id) {
    CHECK(can_hold(id.value));
    const int word = id.value / kBits;
    for (; live_ <= word; ++live_) words_[index(live_)] = 0;
    words_[index(word)] |= bit(id.value);
  }
  // The ids first to last, both included. REQUIRES: first <= last, both can be held.
  void insert_range(IdType first, IdType last);
  void erase(IdType id) {
    const int word = id.value / kBits;
    if (id.value < 0 || word >= live_) return;
    words_[index(word)] &= ~bit(id.value);
    trim();
  }
  void clear() { live_ = 0; }

  bool contains(IdType id) const {
    const int word = id.value / kBits;
    return id.value >= 0 && word < live_ && (words_[index(word)] & bit(id.value)) != 0;
  }
  bool empty() const { return live_ == 0; }
  int size() const {
    int count = 0;
    for (int word = 0; word < live_; ++word) count += std::popcount(words_[index(word)]);
    return count;
  }
  // REQUIRES: !empty().
  IdType first() const { return *begin(); }
  IdType last() const {
    CHECK(!empty());
    return IdType(live_ * kBits - 1 - std::countl_zero(words_[index(live_ - 1)]));
  }

  bool is_subset_of(const IdSet& other) const {
    if (live_ > other.live_) return false;
    for (int word = 0; word < live_; ++word) {
      if ((words_[index(word)] & ~other.words_[index(word)]) != 0) return false;
    }
    return true;
  }
  bool intersects(const IdSet& other) const {
    for (int word = 0; word < std::min(live_, other.live_); ++word) {
      if ((words_[index(word)] & other.words_[index(word)]) != 0) return true;
    }
    return false;
  }
  // The size of the intersection, without making it.
  int count_common(const IdSet& other) const {
    int count = 0;
    for (int word = 0; word < std::min(live_, other.live_); ++word) {
      count += std::popcount(words_[index(word)] & other.words_[index(word)]);
    }
    return count;
  }

  IdSet& operator|=(const IdSet& other) {
    for (; live_ < other.live_; ++live_) words_[index(live_)] = 0;
    for (int word = 0; word < other.live_; ++word) words_[index(word)] |= other.words_[index(word)];
    return *this;
  }
  IdSet& operator&=(const IdSet& other) {
    live_ = std::min(live_, other.live_);
    for (int word = 0; word < live_; ++word) words_[index(word)] &= other.words_[index(word)];
    trim();
    return *this;
  }
  // Difference.
  IdSet& operator-=(const IdSet& other) {
    for (int word = 0; word < std::min(live_, other.live_); ++word) {
      words_[index(word)] &= ~other.words_[index(word)];
    }
    trim();
    return *this;
  }
  friend IdSet operator|(IdSet left, const IdSet& right) { return left |= right; }
  friend IdSet operator&(IdSet left, const IdSet& right) { return left &= right; }
  friend IdSet operator-(IdSet left, const IdSet& right) { return left -= right; }

  friend bool operator==(const IdSet& left, const IdSet& right) {
    return left.live_ == right.live_ &&
           std::equal(left.words_.begin(), left.words_.begin() + left.live_, right.words_.begin());
  }

  // Ascending ids.
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, live_); }

 private:
  static constexpr int kBits = 64;
  static constexpr int kWords = (Capacity + kBits - 1) / kBits;

  static constexpr std::size_t index(int word) { return static_cast<std::size_t>(word); }
  static constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << (number % kBits); }

  int run_end(int first) const;
  void copy_words(const IdSet& other) {
    std::copy_n(other.words_.begin(), other.live_, words_.begin());
  }
  void trim() {
    while (live_ > 0 && words_[index(live_ - 1)] == 0) --live_;
  }

  int live_ = 0;                             // words in use; the last of them is not zero
  std::array<std::uint64_t, kWords> words_;  // meaningful up to live_
};

// Forward iterator over the ids of a set. Invalidated by any change of the set.
template <typename IdType, int Capacity>
class IdSet<IdType, Capacity>::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = IdType;
  using difference_type = std::ptrdiff_t;
  using pointer = const IdType*;
  using reference = IdType;

  Iterator() = default;
  Iterator(const IdSet* set, int word) : set_(set), word_(word) { load(); }

  IdType operator*() const { return IdType(word_ * kBits + std::countr_zero(rest_)); }
  Iterator& operator++() {
    rest_ &= rest_ - 1;
    if (rest_ == 0) {
      ++word_;
      load();
    }
    return *this;
  }
  Iterator operator++(int) {
    Iterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Iterator& other) const {
    return word_ == other.word_ && rest_ == other.rest_;
  }

 private:
  void load() {
    rest_ = 0;
    for (; word_ < set_->live_; ++word_) {
      rest_ = set_->words_[index(word_)];
      if (rest_ != 0) return;
    }
  }

  const IdSet* set_ = nullptr;
  int word_ = 0;
  std::uint64_t rest_ = 0;
};

}  // namespace corehold
