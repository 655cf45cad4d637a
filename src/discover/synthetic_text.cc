// SPDX-License-Identifier: Apache-2.0
#include "discover/synthetic_text.h"

#include <algorithm>
#include <charconv>
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

constexpr int kUnnamed = -1;
constexpr int kPu = HWLOC_OBJ_PU;
constexpr int kNuma = HWLOC_OBJ_NUMANODE;
constexpr int kGroup = HWLOC_OBJ_GROUP;

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

// A level of the description: its hwloc kind, or kUnnamed, and how many
// of its objects the whole machine has.
struct Level {
  int kind;
  int width;
};

// For i below width: the loop adds (i / step % count) times what came before it.
struct Loop {
  int step;
  int count;
};

class Normalizer {
 public:
  explicit Normalizer(std::string_view text) : rest_(text) {}

  Result<std::string> run() {
    if (rest_.starts_with('(')) TRY(attributes(1));
    while (true) {
      while (rest_.starts_with(' ')) rest_.remove_prefix(1);
      if (rest_.empty()) break;
      if (!out_.empty()) out_ += ' ';
      if (rest_.starts_with('[')) {
        TRY(attached());
      } else {
        TRY(level());
      }
    }
    if (levels_.empty()) return Error{Code::kInvalid, "no level is described"};
    if (levels_.back().kind != kPu && levels_.back().kind != kUnnamed) {
      return Error{Code::kInvalid, "the last level must be pu, the CPUs"};
    }
    return out_;
  }

 private:
  int width() const { return levels_.empty() ? 1 : levels_.back().width; }

  template <typename Is>
  std::string_view take_while(Is is) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is);
    const auto taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  Result<void> add_nodes() {
    nodes_ += width();
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
    if (kind_of(name) != kNuma) {
      return invalid(item, "only NUMA nodes can stand in brackets");
    }
    TRY(add_nodes());
    out_ += fmt::format("[{}", name);
    if (rest_.starts_with('(')) TRY(attributes(width()));
    if (!rest_.starts_with(']')) return invalid(item, "a bracket is not closed");
    rest_.remove_prefix(1);
    out_ += ']';
    return {};
  }

  Result<void> level() {
    const std::string_view item = rest_;
    int kind = kUnnamed;
    if (!is_digit(rest_[0])) {
      const std::string_view name = take_while(is_word);
      kind = kind_of(name);
      if (kind < 0 || !rest_.starts_with(':')) {
        return invalid(item, "not a level; write name:count, as in core:4");
      }
      rest_.remove_prefix(1);
      out_ += fmt::format("{}:", name);
    }
    const std::string_view digits = take_while(is_digit);
    if (digits.empty() || digits[0] == '0') {
      return invalid(item, "the count must be a decimal number from 1");
    }
    const int count = number_in(digits, kMaxCpus);
    if (count < 0 || width() * count > kMaxCpus) {
      return Error{Code::kUnsupported,
                   fmt::format("\"{}\": that makes more than {} CPUs, the most supported",
                               item.substr(0, kQuoted), kMaxCpus)};
    }
    const bool again = std::any_of(levels_.begin(), levels_.end(), [&](const Level& other) {
      return other.kind == kPu || (other.kind == kind && kind != kUnnamed && kind != kGroup);
    });
    if (again) return invalid(item, "a level repeats, or stands inside pu");
    out_ += digits;
    levels_.push_back({.kind = kind, .width = width() * count});
    if (levels_.size() > kMaxLevels) return invalid(item, "too many levels");
    if (kind == kNuma) TRY(add_nodes());
    if (rest_.starts_with('(')) TRY(attributes(width()));
    if (!rest_.empty() && rest_[0] != ' ' && rest_[0] != '[') {
      return invalid(item, "a space must follow a level");
    }
    return {};
  }

  Result<void> attributes(int objects) {
    const std::string_view item = rest_;
    const auto close = rest_.find(')');
    if (close == std::string_view::npos) return invalid(item, "a parenthesis is not closed");
    const std::string_view inside = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    std::string separator = "(";
    for (const std::string_view attribute : split(inside, ' ')) {
      const auto equals = attribute.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        return invalid(item, "attributes are written key=value, separated by one space");
      }
      const std::string_view value = attribute.substr(equals + 1);
      if (value.empty()) return invalid(attribute, "the value is missing");
      if (attribute.substr(0, equals) == "indexes") {
        const auto numbers = TRY(indexes(value, objects));
        out_ += fmt::format("{}indexes={}", separator, fmt::join(numbers, ","));
      } else if (std::all_of(value.begin(), value.end(), is_word)) {
        out_ += fmt::format("{}{}", separator, attribute);
      } else {
        return invalid(attribute, "not a value");
      }
      separator = " ";
    }
    out_ += ')';
    return {};
  }

  Result<std::vector<int>> indexes(std::string_view value, int objects) const {
    if (is_letter(value[0])) return unroll(value, TRY(loops_by_name(value, objects)), objects);
    if (value.find('*') != std::string_view::npos) {
      return unroll(value, TRY(loops_by_number(value)), objects);
    }
    std::vector<int> numbers;
    for (const std::string_view item : split(value, ',')) {
      numbers.push_back(number_in(item, kMaxCpus - 1));
      if (numbers.back() < 0) {
        return invalid(item, fmt::format("an index is a number from 0 to {}", kMaxCpus - 1));
      }
    }
    if (static_cast<int>(numbers.size()) != objects) {
      return invalid(value, fmt::format("{} indexes for {} objects", numbers.size(), objects));
    }
    if (!distinct(numbers)) return invalid(value, "an index appears twice");
    return numbers;
  }

  static bool distinct(std::vector<int> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
  }

  // "core:pu": a loop over the objects of each level inside the next level out that is
  // named too.
  Result<std::vector<Loop>> loops_by_name(std::string_view value, int objects) const {
    std::vector<std::size_t> depths;
    for (const std::string_view name : split(value, ':')) {
      const int kind = kind_of(name);
      std::size_t depth = 0;
      while (depth < levels_.size() && levels_[depth].kind != kind) ++depth;
      if (kind < 0 || depth == levels_.size()) {
        return invalid(name, "indexes can name only levels described so far");
      }
      if (std::find(depths.begin(), depths.end(), depth) != depths.end()) {
        return invalid(name, "the level appears twice in indexes");
      }
      depths.push_back(depth);
    }
    std::vector<Loop> loops;
    for (const std::size_t depth : depths) {
      int outer = 1;
      for (const std::size_t other : depths) {
        if (other < depth) outer = std::max(outer, levels_[other].width);
      }
      loops.push_back(
          {.step = objects / levels_[depth].width, .count = levels_[depth].width / outer});
    }
    return loops;
  }

  // "2*4:1*2"
  static Result<std::vector<Loop>> loops_by_number(std::string_view value) {
    std::vector<Loop> loops;
    for (const std::string_view loop : split(value, ':')) {
      const auto star = loop.find('*');
      const bool pair = star != std::string_view::npos;
      const int step = pair ? number_in(loop.substr(0, star), kMaxCpus) : -1;
      const int count = pair ? number_in(loop.substr(star + 1), kMaxCpus) : -1;
      if (step < 1 || count < 1) return invalid(loop, "a loop is written step*count");
      loops.push_back({.step = step, .count = count});
      if (loops.size() > kMaxLevels) return invalid(value, "too many loops");
    }
    return loops;
  }

  // The number of each object; a last loop over what the given ones leave is implied.
  static Result<std::vector<int>> unroll(std::string_view value, std::vector<Loop> loops,
                                         int objects) {
    const Error bad = invalid(
        value, fmt::format("does not number {} objects from 0 to {}", objects, objects - 1));
    int product = 1;
    for (const Loop& loop : loops) {
      if (product * loop.count > objects) return bad;
      product *= loop.count;
    }
    if (objects % product != 0) return bad;
    if (product < objects) loops.push_back({.step = 1, .count = objects / product});
    std::vector<int> numbers(static_cast<std::size_t>(objects));
    int scale = 1;
    for (const Loop& loop : loops) {
      for (int i = 0; i < objects; ++i) {
        numbers[static_cast<std::size_t>(i)] += (i / loop.step) % loop.count * scale;
      }
      scale *= loop.count;
    }
    if (!distinct(numbers)) return bad;
    return numbers;
  }

  std::string_view rest_;
  std::string out_;
  std::vector<Level> levels_;  // from the outside in
  int nodes_ = 0;
};

}  // namespace

Result<std::string> normalize_synthetic(std::string_view text) {
  if (text.size() > kMaxText) {
    return Error{Code::kInvalid, fmt::format("longer than {} bytes", kMaxText)};
  }
  const auto odd =
      std::find_if_not(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (odd != text.end()) {
    return Error{Code::kInvalid, fmt::format("byte {} is not printable ASCII", odd - text.begin())};
  }
  return Normalizer(text).run();
}

}  // namespace corehold
