// SPDX-License-Identifier: Apache-2.0
#include "cli/features_render.h"

#include <algorithm>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/json_text.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

namespace json = boost::json;

using Names = std::vector<std::string>;

std::string listed(const Names& names, std::string_view separator) {
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, separator));
}

// As many names as a column holds, and how many there are besides.
std::string few(const Names& names) {
  constexpr std::size_t kShown = 3;
  if (names.size() <= kShown) return listed(names, ", ");
  const Names first(names.begin(), names.begin() + kShown);
  return fmt::format("{} and {} more", fmt::join(first, ", "), names.size() - kShown);
}

json::array array_of(const Names& names) { return json::array(names.begin(), names.end()); }

// What keeps the node from declaring the feature, the gate of declaring as such included.
Names why_not(const Feature& feature, const NodeConfiguration& node) {
  Names why = obstacles(feature, node);
  const auto whole = node.gates.find(kNodeDeclaredFeaturesGate);
  if (whole != node.gates.end() && !whole->second) {
    why.insert(why.begin(), fmt::format("gate {} is off", kNodeDeclaredFeaturesGate));
  }
  return why;
}

std::string lacking_text(const FeatureNeed& need) {
  Names parts;
  for (const NodesLacking& lacking : need.others) {
    parts.push_back(fmt::format("{}: {}", counted(lacking.nodes.size(), "node"),
                                fmt::join(lacking.features, ", ")));
  }
  return listed(parts, "; ");
}

// The features that some node lacks and some pod needs.
std::set<std::string> lacked(const FeaturePlan& plan) {
  std::set<std::string> names;
  for (const FeatureNeed& need : plan.needs) {
    for (const NodesLacking& lacking : need.others) {
      names.insert(lacking.features.begin(), lacking.features.end());
    }
    if (need.after && !need.after->losses.empty()) {
      names.insert(need.features.begin(), need.features.end());
    }
  }
  return names;
}

bool has_changes(const FeaturePlan& plan) {
  return !plan.needs.empty() && plan.needs.front().after.has_value();
}

Row header_of(const FeaturePlan& plan) {
  if (has_changes(plan)) return {"POD", "NEEDS", "FITS NOW", "FITS THEN", "GAINS", "LOSES"};
  return {"POD", "NEEDS", "FITS", "THE OTHERS LACK"};
}

Row row_of(const PodPlan& pod, const FeatureNeed& need, std::size_t nodes) {
  Row row{pod.pod, listed(need.features, ", "), fmt::format("{}/{}", need.fitting, nodes)};
  if (need.after) {
    row.push_back(fmt::format("{}/{}", need.after->fitting, nodes));
    row.push_back(few(need.after->gains));
    row.push_back(few(need.after->losses));
  } else {
    row.push_back(lacking_text(need));
  }
  return row;
}

std::string notes_text(const Names& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("\n{}\n", note);
  return text;
}

json::object json_of(const Requirements& requirements) {
  json::object config;
  for (const auto& [key, value] : requirements.static_config) config[key] = value;
  return {{"gates", array_of(requirements.gates)},
          {"staticConfig", std::move(config)},
          {"runtimeFeatures", array_of(requirements.runtime_features)}};
}

json::object json_of(const FeatureNeed& need, const PodPlan& pod) {
  json::array others;
  for (const NodesLacking& lacking : need.others) {
    others.push_back({{"lack", array_of(lacking.features)}, {"nodes", array_of(lacking.nodes)}});
  }
  json::object object{{"pod", pod.pod},
                      {"node", pod.node},
                      {"needs", array_of(need.features)},
                      {"fits", need.fitting},
                      {"others", std::move(others)}};
  if (need.after) {
    object["after"] = {{"fits", need.after->fitting},
                       {"gains", array_of(need.after->gains)},
                       {"losses", array_of(need.after->losses)}};
  }
  return object;
}

}  // namespace

std::string render_discovered(const Registry& registry, const DiscoveredFeatures& discovered) {
  std::vector<Row> rows{{"FEATURE", "DECLARED", "WHY NOT"}};
  for (const Feature& feature : registry.features()) {
    const Names why = why_not(feature, discovered.node);
    rows.push_back({feature.name, why.empty() ? "yes" : "no", listed(why, "; ")});
  }
  return align(rows, 3) + notes_text(discovered.notes);
}

std::string render_discovered_json(const Registry& registry, const DiscoveredFeatures& discovered) {
  json::array declared;
  json::object obstacle_lists;
  for (const Feature& feature : registry.features()) {
    const Names why = why_not(feature, discovered.node);
    if (why.empty()) {
      declared.emplace_back(feature.name);
    } else {
      obstacle_lists[feature.name] = array_of(why);
    }
  }
  return json_text(json::object{{"declaredFeatures", std::move(declared)},
                                {"obstacles", std::move(obstacle_lists)},
                                {"notes", array_of(discovered.notes)}});
}

std::string render_needs(const PodNeeds& needs) {
  std::vector<Row> rows{{"POD", "NEEDS"}};
  for (const auto& [pod, features] : needs) rows.push_back({pod, listed(features, ", ")});
  return align(rows, 2);
}

std::string render_needs_json(const PodNeeds& needs) {
  json::array pods;
  for (const auto& [pod, features] : needs) {
    pods.push_back({{"pod", pod}, {"needs", array_of(features)}});
  }
  return json_text(json::object{{"pods", std::move(pods)}});
}

std::string render_requirements(const Feature& feature) {
  Names config;
  for (const auto& [key, value] : feature.requirements.static_config) {
    config.push_back(fmt::format("{}: {}", key, value));
  }
  return align({{"feature", feature.name},
                {"gates", listed(feature.requirements.gates, ", ")},
                {"configuration", listed(config, ", ")},
                {"runtime", listed(feature.requirements.runtime_features, ", ")},
                {"last version", feature.max_version ? feature.max_version->str() : "-"}},
               2);
}

std::string render_requirements_json(const Feature& feature) {
  json::object object = json_of(feature.requirements);
  object["feature"] = feature.name;
  if (feature.max_version) object["maxVersion"] = feature.max_version->str();
  return json_text(object);
}

std::string render_feature_plan(const Registry& registry, const FeaturePlan& plan) {
  std::vector<Row> rows{header_of(plan)};
  std::size_t without_needs = 0;
  for (const PodPlan& pod : plan.pods) {
    const FeatureNeed& need = plan.needs[pod.need];
    if (need.features.empty()) {
      ++without_needs;
    } else {
      rows.push_back(row_of(pod, need, plan.nodes));
    }
  }
  std::string text = rows.size() > 1 ? align(rows, rows.front().size()) : "";
  if (without_needs > 0) {
    text += fmt::format("{}{} {} no feature: any of the {} will do\n", text.empty() ? "" : "\n",
                        counted(without_needs, "pod"), without_needs == 1 ? "needs" : "need",
                        counted(plan.nodes, "node"));
  }
  if (plan.pods.empty()) text += "no pods\n";
  std::vector<Row> gates{{"TO DECLARE", "A NODE NEEDS"}};
  for (const std::string& name : lacked(plan)) {
    const auto requirements = registry.requirements(name);
    if (requirements) gates.push_back({name, requirements_text(*requirements)});
  }
  if (gates.size() > 1) text += "\n" + align(gates, 2);
  return text + notes_text(plan.notes);
}

std::string render_feature_plan_json(const Registry& registry, const FeaturePlan& plan) {
  json::array pods;
  for (const PodPlan& pod : plan.pods) pods.push_back(json_of(plan.needs[pod.need], pod));
  json::object requirements;
  for (const std::string& name : lacked(plan)) {
    const auto found = registry.requirements(name);
    if (found) requirements[name] = json_of(*found);
  }
  return json_text(json::object{{"nodes", plan.nodes},
                                {"pods", std::move(pods)},
                                {"requirements", std::move(requirements)},
                                {"notes", array_of(plan.notes)}});
}

}  // namespace corehold
