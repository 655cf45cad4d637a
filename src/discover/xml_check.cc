// SPDX-License-Identifier: Apache-2.0
#include "discover/xml_check.h"

#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hwloc.h>

#include "discover/numa_placement.h"

namespace corehold {
namespace {

using Attributes = std::map<std::string_view, std::string_view>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads name="value" pairs from the front of `rest` up to the end of the tag.
Attributes take_attributes(std::string_view& rest) {
  Attributes attributes;
  while (true) {
    while (!rest.empty() && is_space(rest[0])) rest.remove_prefix(1);
    const auto equals = rest.find('=');
    const auto close = rest.find('>');
    if (equals == std::string_view::npos || close < equals) return attributes;
    const std::string_view name = rest.substr(0, equals);
    rest.remove_prefix(equals + 1);
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return attributes;
    const auto end = rest.find(rest[0], 1);
    if (end == std::string_view::npos) return attributes;
    attributes.emplace(name, rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  }
}

// A whole number from 0, or -1.
int number_of(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return -1;
  const std::string_view text = found->second;
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

std::string_view value_of(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? std::string_view() : found->second;
}

// hwloc's bitmap text, as far as a CpuSet can hold it.
CpuSet cpus_in_text(std::string_view text) {
  struct Free {
    void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
  };
  CpuSet cpus;
  const std::unique_ptr<hwloc_bitmap_s, Free> bitmap(hwloc_bitmap_alloc());
  const bool short_enough = text.size() <= kMaxCpus;  // four CPUs to a digit, plus separators
  if (bitmap == nullptr || !short_enough ||
      hwloc_bitmap_sscanf(bitmap.get(), std::string(text).c_str()) != 0) {
    return cpus;
  }
  for (int i = hwloc_bitmap_first(bitmap.get()); i >= 0 && i < kMaxCpus;
       i = hwloc_bitmap_next(bitmap.get(), i)) {
    cpus.insert(CpuId(i));
  }
  return cpus;
}

}  // namespace

Result<void> check_xml(std::string_view text) {
  constexpr std::string_view kTag = "<object";
  CpuSet seen;
  std::vector<LocalNode> nodes;
  while (true) {
    const auto at = text.find(kTag);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + kTag.size());
    const Attributes attributes = take_attributes(text);
    const std::string_view type = value_of(attributes, "type");
    const int number = number_of(attributes, "os_index");
    if (type == "PU" && CpuSet::can_hold(number)) {
      if (seen.contains(CpuId(number))) {
        return Error{Code::kInvalid, fmt::format("CPU {} appears twice", number)};
      }
      seen.insert(CpuId(number));
    }
    if (type == "NUMANode" && NodeSet::can_hold(number)) {
      const std::string_view subtype = value_of(attributes, "subtype");
      nodes.push_back({.id = NodeId(number),
                       .cpus = cpus_in_text(value_of(attributes, "cpuset")),
                       .memory = memory_named(subtype)});
    }
  }
  const auto placement = place_in_nodes(nodes);
  if (!placement) return placement.error();
  return {};
}

}  // namespace corehold
