// SPDX-License-Identifier: Apache-2.0
#include "cpuset/cpu_set.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "cpuset/list_format.h"

namespace corehold {

template <typename IdType, int Capacity>
void IdSet<IdType, Capacity>::insert_range(IdType first, IdType last) {
  CHECK(can_hold(first.value) && can_hold(last.value) && first <= last);
  const int last_word = last.value / kBits;
  for (; live_ <= last_word; ++live_) words_[index(live_)] = 0;
  for (int word = first.value / kBits; word <= last_word; ++word) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (word == first.value / kBits) mask &= ~std::uint64_t{0} << (first.value % kBits);
    if (word == last_word) mask &= ~std::uint64_t{0} >> (kBits - 1 - last.value % kBits);
    words_[index(word)] |= mask;
  }
}

template <typename IdType, int Capacity>
Result<IdSet<IdType, Capacity>> IdSet<IdType, Capacity>::parse(std::string_view text) {
  IdSet set;
  const std::vector<NumberRange> ranges = TRY(parse_list(text));
  for (const NumberRange& range : ranges) {
    if (range.first < 0 || range.last >= kCapacity) {
      return Error{Code::kInvalid,
                   fmt::format("{} is outside 0 to {}", format_list({range}), kCapacity - 1)};
    }
    set.insert_range(IdType(static_cast<int>(range.first)), IdType(static_cast<int>(range.last)));
  }
  return set;
}

// The end of the run of members that starts at `first`: the first number after it that
// is not in the set.
template <typename IdType, int Capacity>
int IdSet<IdType, Capacity>::run_end(int first) const {
  int word = first / kBits;
  const int bit = first % kBits;
  const int members = std::countr_one(words_[index(word)] >> bit);
  if (bit + members < kBits) return first + members;
  for (++word; word < live_; ++word) {
    if (~words_[index(word)] != 0) return word * kBits + std::countr_one(words_[index(word)]);
  }
  return word * kBits;
}

template <typename IdType, int Capacity>
void IdSet<IdType, Capacity>::append_to(std::string& text) const {
  constexpr std::size_t kLongestItem = 16;  // ",1234-1234" and some room
  bool is_first = true;
  for (int word = 0; word < live_;) {
    // Members of this word that no run has covered yet.
    const std::uint64_t rest = words_[index(word)];
    if (rest == 0) {
      ++word;
      continue;
    }
    int next = word * kBits + std::countr_zero(rest);
    while (true) {
      const int end = run_end(next);
      char item[kLongestItem];
      char* out = item;
      if (!is_first) *out++ = ',';
      is_first = false;
      out = std::to_chars(out, std::end(item), next).ptr;
      if (end > next + 1) {
        *out++ = '-';
        out = std::to_chars(out, std::end(item), end - 1).ptr;
      }
      text.append(item, out);
      word = end / kBits;
      if (word >= live_) return;
      const std::uint64_t after = words_[index(word)] & (~std::uint64_t{0} << (end % kBits));
      if (after == 0) break;
      next = word * kBits + std::countr_zero(after);
    }
    ++word;
  }
}

template <typename IdType, int Capacity>
std::string IdSet<IdType, Capacity>::str() const {
  std::string text;
  append_to(text);
  return text;
}

template class IdSet<CpuId, kMaxCpus>;
template class IdSet<NodeId, kMaxNodes>;

}  // namespace corehold
