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

template <typename IdType, int Capacity>
std::string IdSet<IdType, Capacity>::str() const {
  std::string text;
  const auto append = [&text](int number) {
    char digits[12];
    const auto written = std::to_chars(std::begin(digits), std::end(digits), number);
    text.append(digits, written.ptr);
  };
  for (auto id = begin(); id != end();) {
    const int first = (*id).value;
    int last = first;
    for (++id; id != end() && (*id).value == last + 1; ++id) ++last;
    if (!text.empty()) text += ',';
    append(first);
    if (last > first) {
      text += '-';
      append(last);
    }
  }
  return text;
}

template class IdSet<CpuId, kMaxCpus>;
template class IdSet<NodeId, kMaxNodes>;

}  // namespace corehold
