// SPDX-License-Identifier: Apache-2.0
//
// Family cpuset: the kernel's list format, read and written. The texts of errors
// are information only.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cpuset/list_format.h"
#include "family.h"

namespace corehold::vectors {
namespace {

// Unsigned: "0-9223372036854775807" parses too.
std::uint64_t size_of(const std::vector<NumberRange>& ranges) {
  std::uint64_t size = 0;
  for (const NumberRange& range : ranges) {
    size += static_cast<std::uint64_t>(range.last - range.first) + 1;
  }
  return size;
}

// The ranges of an ascending list of numbers.
std::vector<NumberRange> ranges_of(const boost::json::array& numbers) {
  std::vector<NumberRange> ranges;
  for (const boost::json::value& value : numbers) {
    const std::int64_t number = value.as_int64();
    if (!ranges.empty() && ranges.back().last + 1 == number) {
      ranges.back().last = number;
    } else {
      ranges.push_back({number, number});
    }
  }
  return ranges;
}

std::string shown(std::string_view text, std::uint64_t size, const std::vector<NumberRange>& list) {
  return fmt::format("{:?}, {} CPUs, list {:?}", text, size, format_list(list));
}

}  // namespace

Result<Verdict> judge_cpuset(const boost::json::object& line, const Machines& /*machines*/) {
  const std::string_view text = line.at("in").as_string();
  const bool accepted = line.at("ok").as_bool();
  const auto ours = parse_list(text);
  if (!accepted) {
    if (!ours) return Verdict::passed();
    return Verdict::failed("an error", shown(format_list(*ours), size_of(*ours), *ours));
  }
  const std::string_view canonical = line.at("string").as_string();
  const auto size = line.at("size").to_number<std::uint64_t>();
  const std::vector<NumberRange> list = ranges_of(line.at("list").as_array());
  const std::string expected = shown(canonical, size, list);
  if (!ours) return Verdict::failed(expected, ours.error().message);
  const std::string actual = shown(format_list(*ours), size_of(*ours), *ours);
  return actual == expected && *ours == list ? Verdict::passed()
                                             : Verdict::failed(expected, actual);
}

}  // namespace corehold::vectors
