// SPDX-License-Identifier: Apache-2.0
#include "api/object/line_diff.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace corehold {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kContext = 3;

// Equal lines: before[a, a + size) and after[b, b + size).
struct Block {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t size = 0;
};

// A part of both texts.
struct Window {
  std::size_t a_begin;
  std::size_t a_end;
  std::size_t b_begin;
  std::size_t b_end;
};

class Matcher {
 public:
  Matcher(const Lines& before, const Lines& after) : before_(before), after_(after) {
    for (std::size_t j = 0; j < after.size(); ++j) places_[after[j]].push_back(j);
    // In long texts a line that is everywhere says nothing about what belongs together.
    constexpr std::size_t kLong = 200;
    if (after.size() < kLong) return;
    const std::size_t most = after.size() / 100 + 1;
    std::erase_if(places_, [&](const auto& entry) { return entry.second.size() > most; });
  }

  // All blocks in order, those that touch joined, and an empty one at the end.
  std::vector<Block> blocks() const {
    std::vector<Block> found;
    std::vector<Window> open{{0, before_.size(), 0, after_.size()}};
    while (!open.empty()) {
      const Window window = open.back();
      open.pop_back();
      const Block best = longest(window);
      if (best.size == 0) continue;
      found.push_back(best);
      open.push_back({window.a_begin, best.a, window.b_begin, best.b});
      open.push_back({best.a + best.size, window.a_end, best.b + best.size, window.b_end});
    }
    std::sort(found.begin(), found.end(),
              [](const Block& left, const Block& right) { return left.a < right.a; });
    std::vector<Block> joined;
    for (const Block& block : found) {
      Block* last = joined.empty() ? nullptr : &joined.back();
      if (last != nullptr && last->a + last->size == block.a && last->b + last->size == block.b) {
        last->size += block.size;
      } else {
        joined.push_back(block);
      }
    }
    joined.push_back({before_.size(), after_.size(), 0});
    return joined;
  }

 private:
  // Of the longest, the one that begins first.
  Block longest(const Window& window) const {
    Block best{window.a_begin, window.b_begin, 0};
    std::map<std::size_t, std::size_t> ending;  // by the place in `after` before this line
    for (std::size_t i = window.a_begin; i < window.a_end; ++i) {
      std::map<std::size_t, std::size_t> here;
      const auto places = places_.find(before_[i]);
      if (places != places_.end()) {
        for (const std::size_t j : places->second) {
          if (j < window.b_begin) continue;
          if (j >= window.b_end) break;
          const auto previous = j == 0 ? ending.end() : ending.find(j - 1);
          const std::size_t size = (previous == ending.end() ? 0 : previous->second) + 1;
          here[j] = size;
          if (size > best.size) best = {i + 1 - size, j + 1 - size, size};
        }
      }
      ending = std::move(here);
    }
    // Lines that were left out above may still stand beside it.
    while (best.a > window.a_begin && best.b > window.b_begin &&
           before_[best.a - 1] == after_[best.b - 1]) {
      --best.a, --best.b, ++best.size;
    }
    while (best.a + best.size < window.a_end && best.b + best.size < window.b_end &&
           before_[best.a + best.size] == after_[best.b + best.size]) {
      ++best.size;
    }
    return best;
  }

  const Lines& before_;
  const Lines& after_;
  std::map<std::string_view, std::vector<std::size_t>> places_{};
};

// What is equal at the beginning and at the end.
std::vector<Block> ends(const Lines& before, const Lines& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  std::vector<Block> blocks;
  if (head > 0) blocks.push_back({0, 0, head});
  if (tail > 0) blocks.push_back({before.size() - tail, after.size() - tail, tail});
  blocks.push_back({before.size(), after.size(), 0});
  return blocks;
}

std::string range(std::size_t begin, std::size_t end) {
  const std::size_t length = end - begin;
  if (length == 1) return fmt::to_string(begin + 1);
  return fmt::format("{},{}", length == 0 ? begin : begin + 1, length);
}

void write_hunk(const Lines& before, const Lines& after, const std::vector<Window>& changes,
                std::string& out) {
  const Window& first = changes.front();
  const Window& last = changes.back();
  const std::size_t lead = std::min({kContext, first.a_begin, first.b_begin});
  const std::size_t trail =
      std::min({kContext, before.size() - last.a_end, after.size() - last.b_end});
  out += fmt::format("@@ -{} +{} @@\n", range(first.a_begin - lead, last.a_end + trail),
                     range(first.b_begin - lead, last.b_end + trail));
  std::size_t at = first.a_begin - lead;
  const auto write = [&](char mark, const std::string& line) {
    out += mark;
    out += line;
    out += '\n';
  };
  for (const Window& change : changes) {
    for (; at < change.a_begin; ++at) write(' ', before[at]);
    for (; at < change.a_end; ++at) write('-', before[at]);
    for (std::size_t j = change.b_begin; j < change.b_end; ++j) write('+', after[j]);
  }
  for (; at < last.a_end + trail; ++at) write(' ', before[at]);
}

}  // namespace

std::string unified_diff(const Lines& before, const Lines& after) {
  const bool is_long = std::max(before.size(), after.size()) > kMaxDiffLines;
  const std::vector<Block> blocks = is_long ? ends(before, after) : Matcher(before, after).blocks();
  std::vector<std::vector<Window>> hunks;
  std::size_t a = 0;
  std::size_t b = 0;
  for (const Block& block : blocks) {
    if (a < block.a || b < block.b) {
      const Window window{a, block.a, b, block.b};
      const bool is_near =
          !hunks.empty() && window.a_begin - hunks.back().back().a_end <= 2 * kContext;
      if (!is_near) hunks.emplace_back();
      hunks.back().push_back(window);
    }
    a = block.a + block.size;
    b = block.b + block.size;
  }
  std::string out;
  for (const std::vector<Window>& changes : hunks) write_hunk(before, after, changes, out);
  return out;
}

}  // namespace corehold
