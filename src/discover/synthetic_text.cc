// SPDX-License-Identifier: Apache-2.0
#include "discover/synthetic_text.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hwloc.h>

#include "cpuset/cpu_set.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxText = 1U << 16U;
constexpr std::size_t kMaxLevels = 32;
constexpr std::size_t kQuoted = 60;

Error invalid(std::string_view item, std::string_view why) {
  return Error{Code::kInvalid, fmt::format("\"{}\": {}", item.substr(0, kQuoted), why)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

// A decimal number from 0 to `most`; -1 for anything else.
int number_in(std::string_view text, int most) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool plain = !text.empty() && is_digit(text[0]) && (text[0] != '0' || text.size() == 1);
  if (!plain || error != std::errc() || end != text.data() + text.size()) return -1;
  return number <= most ? number : -1;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  while (true) {
    const auto at = text.find(separator);
    items.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return items;
    text.remove_prefix(at + 1);
  }
}

// hwloc's kind of object by that name, or -1.
int kind_of(std::string_view name) {
  hwloc_obj_type_t type{};
  const bool simple = !name.empty() && name.size() <= 16 && is_letter(name[0]) &&
                      std::all_of(name.begin(), name.end(), is_word);
  if (!simple || hwloc_type_sscanf(std::string(name).c_str(), &type, nullptr, 0) != 0) return -1;
  return static_cast<int>(type);
}

class Checker {
 public:
  explicit Checker(std::string_view text) : rest_(text) {}

  Result<void> run() {
    if (rest_.starts_with('(')) TRY(attributes(1));
    while (true) {
      while (rest_.starts_with(' ')) rest_.remove_prefix(1);
      if (rest_.empty()) break;
      if (rest_.starts_with('[')) {
        TRY(attached());
      } else {
        TRY(level());
      }
    }
    if (kinds_.empty()) return Error{Code::kInvalid, "no level is described"};
    return {};
  }

 private:
  template <typename Is>
  std::string_view take_while(Is is) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is);
    const auto taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  Result<void> add_nodes() {
    nodes_ += width_;
    if (nodes_ <= kMaxNodes) return {};
    return Error{Code::kUnsupported,
                 fmt::format("describes {} NUMA nodes or more; the most supported is {}", nodes_,
                             kMaxNodes)};
  }

  // "[numa]" or "[numa(memory=1GB)]": one more node beside each object of the level.
  Result<void> attached() {
    const std::string_view item = rest_;
    rest_.remove_prefix(1);
    const std::string_view name = take_while(is_word);
    if (kind_of(name) != static_cast<int>(HWLOC_OBJ_NUMANODE)) {
      return invalid(item, "only NUMA nodes can stand in brackets");
    }
    TRY(add_nodes());
    if (rest_.starts_with('(')) TRY(attributes(width_));
    if (!rest_.starts_with(']')) return invalid(item, "a bracket is not closed");
    rest_.remove_prefix(1);
    return {};
  }

  Result<void> level() {
    const std::string_view item = rest_;
    int kind = -1;
    if (!is_digit(rest_[0])) {
      const std::string_view name = take_while(is_word);
      kind = kind_of(name);
      if (kind < 0 || !rest_.starts_with(':')) {
        return invalid(item, "not a level; write name:count, as in core:4");
      }
      rest_.remove_prefix(1);
    }
    const std::string_view digits = take_while(is_digit);
    if (digits.empty() || digits[0] == '0') {
      return invalid(item, "the count must be a decimal number from 1");
    }
    const int count = number_in(digits, kMaxCpus);
    if (count < 0 || width_ * count > kMaxCpus) {
      return Error{Code::kUnsupported, fmt::format("\"{}\": that makes more than {} CPUs, the most supported",
                                                   item.substr(0, kQuoted), kMaxCpus)};
    }
    width_ *= count;
    kinds_.push_back(kind);
    if (kinds_.size() > kMaxLevels) return invalid(item, "too many levels");
    if (kind == static_cast<int>(HWLOC_OBJ_NUMANODE)) TRY(add_nodes());
    if (rest_.starts_with('(')) TRY(attributes(width_));
    if (!rest_.empty() && rest_[0] != ' ' && rest_[0] != '[') {
      return invalid(item, "a space must follow a level");
    }
    return {};
  }

  Result<void> attributes(int width) {
    const std::string_view item = rest_;
    const auto close = rest_.find(')');
    if (close == std::string_view::npos) return invalid(item, "a parenthesis is not closed");
    const std::string_view inside = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    for (const std::string_view attribute : split(inside, ' ')) {
      const auto equals = attribute.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        return invalid(item, "attributes are written key=value, separated by one space");
      }
      const std::string_view value = attribute.substr(equals + 1);
      if (attribute.substr(0, equals) == "indexes") {
        TRY(indexes(value, width));
      } else if (value.empty() || !std::all_of(value.begin(), value.end(), is_word)) {
        return invalid(attribute, "not a value");
      }
    }
    return {};
  }

  Result<void> indexes(std::string_view value, int width) const {
    if (!value.empty() && is_letter(value[0])) return index_names(value);
    if (value.find('*') != std::string_view::npos) return index_loops(value, width);
    const auto items = split(value, ',');
    std::set<int> seen;
    for (const std::string_view item : items) {
      const int number = number_in(item, kMaxCpus - 1);
      if (number < 0) return invalid(item, fmt::format("an index is a number from 0 to {}", kMaxCpus - 1));
      if (!seen.insert(number).second) return invalid(item, "the index appears twice");
    }
    if (static_cast<int>(items.size()) != width) {
      return invalid(value, fmt::format("{} indexes for {} objects", items.size(), width));
    }
    return {};
  }

  // "core:pu": every name must be a level already described, once. NUMA nodes are no
  // levels to hwloc, which would then ignore the whole attribute.
  Result<void> index_names(std::string_view value) const {
    std::set<int> seen;
    for (const std::string_view name : split(value, ':')) {
      const int kind = kind_of(name);
      const bool known = kind >= 0 && kind != static_cast<int>(HWLOC_OBJ_NUMANODE) &&
                         std::count(kinds_.begin(), kinds_.end(), kind) == 1;
      if (!known) return invalid(name, "indexes can name only levels described before, not NUMA nodes");
      if (!seen.insert(kind).second) return invalid(name, "the level appears twice in indexes");
    }
    return {};
  }

  // "2*4:1*2": loops of step * count that must give every object its own number.
  Result<void> index_loops(std::string_view value, int width) const {
    std::vector<int> numbers(static_cast<std::size_t>(width));
    int product = 1;
    for (const std::string_view loop : split(value, ':')) {
      const auto star = loop.find('*');
      if (star == std::string_view::npos) return invalid(loop, "a loop is written step*count");
      const int step = number_in(loop.substr(0, star), kMaxCpus);
      const int count = number_in(loop.substr(star + 1), kMaxCpus);
      if (step < 1 || count < 2 || product * count > width) {
        return invalid(loop, fmt::format("not a loop over {} objects", width));
      }
      for (int i = 0; i < width; ++i) {
        numbers[static_cast<std::size_t>(i)] += ((i / step) % count) * product;
      }
      product *= count;
    }
    std::sort(numbers.begin(), numbers.end());
    const bool distinct = std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
    if (product != width || !distinct) {
      return invalid(value, fmt::format("the loops do not number {} objects from 0 to {}", width, width - 1));
    }
    return {};
  }

  std::string_view rest_;
  std::vector<int> kinds_;  // of the levels so far, -1 where no name was given
  int width_ = 1;           // objects of the last level over the whole machine
  int nodes_ = 0;
};

}  // namespace

Result<void> check_synthetic(std::string_view text) {
  if (text.size() > kMaxText) return Error{Code::kInvalid, fmt::format("longer than {} bytes", kMaxText)};
  const auto odd = std::find_if_not(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (odd != text.end()) {
    return Error{Code::kInvalid, fmt::format("byte {} is not printable ASCII", odd - text.begin())};
  }
  return Checker(text).run();
}

}  // namespace corehold
