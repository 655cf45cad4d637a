// SPDX-License-Identifier: Apache-2.0
#include "hints/topology_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr std::array<std::string_view, 4> kPolicies{"none", "best-effort", "restricted",
                                                    "single-numa-node"};
constexpr std::array<std::string_view, 2> kScopes{"container", "pod"};

constexpr std::string_view kPreferClosest = "prefer-closest-numa-nodes";
constexpr std::string_view kMaxNumaNodes = "max-allowable-numa-nodes";
constexpr int kLeastMaxNumaNodes = 8;

constexpr std::array<OptionInfo, 2> kOptions{{
    {kPreferClosest, OptionStage::kStable, "true or false", "false",
     "where several NUMA nodes are needed, prefer those at the least distance from each other"},
    {kMaxNumaNodes, OptionStage::kStable, "a whole number from 8", "8",
     "work on machines with up to this many NUMA nodes"},
}};

Error invalid(std::string message) { return Error{Code::kInvalid, std::move(message)}; }

// The position of `text` among `names`.
template <std::size_t N>
Result<std::size_t> find_name(const std::array<std::string_view, N>& names, std::string_view text,
                              std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    return invalid(fmt::format("{:?} is not a topology manager {}; there are {}",
                               text.substr(0, 64), what, fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

// What Go's strconv.ParseBool accepts.
Result<bool> parse_switch(std::string_view name, std::string_view text) {
  for (const std::string_view word : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == word) return false;
  }
  return invalid(fmt::format(
      "bad value for option \"{}\": strconv.ParseBool: parsing {:?}: invalid syntax", name, text));
}

// What Go's strconv.Atoi accepts. A number beyond 32 bits becomes the largest: no machine
// has so many NUMA nodes.
Result<int> parse_max_nodes(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return invalid(
        fmt::format("unable to convert policy option to integer \"{}\": strconv.Atoi: parsing "
                    "{:?}: {}",
                    kMaxNumaNodes, text, why));
  };
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  std::int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  const bool has_two_signs = digits.size() < text.size() && digits.starts_with('-');
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end || has_two_signs) {
    return bad("invalid syntax");
  }
  if (parsed.ec != std::errc()) return bad("value out of range");
  if (number < kLeastMaxNumaNodes) {
    return invalid(fmt::format("the minimum value of \"{}\" should not be less than {}",
                               kMaxNumaNodes, kLeastMaxNumaNodes));
  }
  return static_cast<int>(std::min<std::int64_t>(number, std::numeric_limits<int>::max()));
}

Result<void> check_available(std::string_view name, const TopologyGates& gates) {
  const auto option = std::find_if(kOptions.begin(), kOptions.end(),
                                   [name](const OptionInfo& row) { return row.name == name; });
  if (option == kOptions.end()) {
    return invalid(fmt::format("unknown Topology Manager Policy option: {:?}", name));
  }
  const auto off = [name](const char* level) {
    return invalid(fmt::format(
        "Topology Manager Policy {}-level Options not enabled, but option \"{}\" provided", level,
        name));
  };
  if (option->stage == OptionStage::kAlpha && !gates.alpha_options) return off("Alpha");
  if (option->stage == OptionStage::kBeta && !gates.beta_options) return off("Beta");
  return {};
}

}  // namespace

std::string_view name_of(TopologyPolicy policy) {
  return kPolicies[static_cast<std::size_t>(policy)];
}

std::string_view name_of(TopologyScope scope) { return kScopes[static_cast<std::size_t>(scope)]; }

Result<TopologyPolicy> parse_topology_policy(std::string_view text) {
  return static_cast<TopologyPolicy>(TRY(find_name(kPolicies, text, "policy")));
}

Result<TopologyScope> parse_topology_scope(std::string_view text) {
  return static_cast<TopologyScope>(TRY(find_name(kScopes, text, "scope")));
}

std::string_view name_of(OptionStage stage) {
  constexpr std::array<std::string_view, 3> kNames{"stable", "beta", "alpha"};
  return kNames[static_cast<std::size_t>(stage)];
}

std::span<const OptionInfo> topology_option_table() { return kOptions; }

Result<TopologyOptions> parse_topology_options(TopologyOptions options,
                                               const std::map<std::string, std::string>& text,
                                               const TopologyGates& gates) {
  for (const auto& [name, value] : text) {
    TRY(check_available(name, gates));
    if (name == kPreferClosest) {
      options.prefer_closest_numa = TRY(parse_switch(name, value));
    } else {
      options.max_numa_nodes = TRY(parse_max_nodes(value));
    }
  }
  return options;
}

Result<void> check_topology_options(const TopologyOptions& options, const Topology& topology) {
  if (options.policy == TopologyPolicy::kNone) return {};
  if (static_cast<int>(topology.nodes().size()) <= options.max_numa_nodes) return {};
  return invalid(
      fmt::format("unsupported on machines with more than {} NUMA Nodes", options.max_numa_nodes));
}

}  // namespace corehold
