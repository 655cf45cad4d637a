// SPDX-License-Identifier: Apache-2.0
//
// Family merge: lists of hints of several providers, merged under a topology manager
// policy.
#include "hints/merge.h"

#include <fmt/format.h>

#include "family.h"
#include "fields.h"

namespace corehold::vectors {
namespace {

namespace json = boost::json;

Error bad(std::string_view member) {
  return {Code::kInvalid, fmt::format("member {} has not the expected shape", member)};
}

Result<HintFamily> family_of(const json::array& hints) {
  HintFamily family;
  for (const json::value& hint : hints) {
    if (!hint.is_object()) return bad("providers");
    family.listed.push_back({.nodes = TRY(affinity_of(hint.get_object())),
                             .preferred = TRY(flag_of(hint.get_object(), "preferred"))});
  }
  return family;
}

Result<std::vector<ResourceHints>> resources_of(const json::object& line) {
  std::vector<ResourceHints> resources;
  const json::value* providers = find(line, "providers");
  if (providers == nullptr || !providers->is_array()) return bad("providers");
  for (const json::value& provider : providers->get_array()) {
    if (provider.is_null()) continue;
    if (!provider.is_object()) return bad("providers");
    for (const auto& [resource, hints] : provider.get_object()) {
      if (hints.is_null()) continue;
      if (!hints.is_array()) return bad("providers");
      resources.push_back({.resource = resource, .family = TRY(family_of(hints.get_array()))});
    }
  }
  return resources;
}

Result<NumaMap> map_of(const json::object& line) {
  NumaMap map;
  map.nodes = TRY(affinity_of({{"affinity", line.at("numaNodes")}})).value_or(NodeSet{});
  for (const auto& [id, row] : TRY(object_of(line, "distances"))) {
    if (!row.is_array()) return bad("distances");
    const auto from = static_cast<std::size_t>(std::stoi(std::string(id)));
    if (map.distances.size() <= from) map.distances.resize(from + 1);
    for (const json::value& to : row.get_array()) {
      map.distances[from].push_back(to.to_number<std::int64_t>());
    }
  }
  return map;
}

std::string shown(const std::optional<NodeSet>& nodes, bool preferred, bool admit) {
  return fmt::format("{}{}{}", nodes ? "{" + nodes->str() + "}" : "any",
                     preferred ? ", preferred" : "", admit ? ", admitted" : ", refused");
}

}  // namespace

Result<Verdict> judge_merge(const json::object& line, const Machines&) {
  const TopologyOptions options{.policy = TRY(parse_topology_policy(TRY(text_of(line, "policy")))),
                                .prefer_closest_numa = TRY(flag_of(line, "preferClosestNUMA"))};
  const Merged merged = merge(TRY(map_of(line)), TRY(resources_of(line)), options);
  const json::object want = TRY(object_of(line, "want"));
  const std::string expected =
      shown(TRY(affinity_of(want)), TRY(flag_of(want, "preferred")), TRY(flag_of(line, "admit")));
  const std::string actual = shown(merged.hint.nodes, merged.hint.preferred, merged.admit);
  if (!merged.exact) return Verdict::failed(expected, actual + " (not exact)");
  return expected == actual ? Verdict::passed() : Verdict::failed(expected, actual);
}

}  // namespace corehold::vectors
