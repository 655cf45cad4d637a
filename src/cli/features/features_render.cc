// SPDX-License-Identifier: Apache-2.0
#include "cli/features/features_render.h"

#include <map>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "features/declaring.h"

namespace corehold {
namespace {

namespace json = boost::json;

using Names = std::vector<std::string>;

constexpr const char* kByFeaturesOnly =
    "by features only: selectors, taints and resources are not looked at\n";

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

// Names come from files: what a terminal would obey is shown escaped.
std::string table(std::vector<Row> rows) {
  for (Row& row : rows) {
    for (std::string& cell : row) cell = on_one_line(cell);
  }
  return align(rows, rows.front().size());
}

std::string notes_text(const Names& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("\n{}\n", on_one_line(note));
  return text;
}

std::string lacking_text(const NeedAnswer& answer) {
  Names parts;
  for (const NodesLacking& lacking : answer.others) {
    parts.push_back(fmt::format("{}: {}", counted(lacking.nodes.size(), "node"),
                                fmt::join(lacking.features, ", ")));
  }
  return listed(parts, "; ");
}

// The features that some node lacks, or would lack, and some pod needs.
std::set<std::string> lacked(const FeaturePlan& plan) {
  std::set<std::string> names;
  const auto add = [&names](const NeedAnswer& answer) {
    for (const NodesLacking& lacking : answer.others) {
      names.insert(lacking.features.begin(), lacking.features.end());
    }
  };
  for (const FeatureNeed& need : plan.needs) {
    add(need.now);
    if (need.then) add(need.then->answer);
  }
  return names;
}

bool has_changes(const FeaturePlan& plan) {
  return !plan.needs.empty() && plan.needs.front().then.has_value();
}

Row header_of(const FeaturePlan& plan) {
  if (!has_changes(plan)) return {"POD", "NEEDS", "FITS", "THE OTHERS LACK"};
  return {"POD", "NEEDS", "FITS NOW", "FITS THEN", "GAINS", "LOSES", "THE OTHERS LACK THEN"};
}

Row row_of(const PodPlan& pod, const FeatureNeed& need, std::size_t nodes) {
  const auto share = [nodes](const NeedAnswer& answer) {
    return fmt::format("{}/{}", answer.fits.size(), nodes);
  };
  Row row{pod.pod, listed(need.features, ", "), share(need.now)};
  if (need.then) {
    row.push_back(share(need.then->answer));
    row.push_back(few(need.then->gains));
    row.push_back(few(need.then->losses));
  }
  row.push_back(lacking_text(need.then ? need.then->answer : need.now));
  return row;
}

// What every node lacks, by node; "-": it fits.
std::map<std::string, std::string> lacks_of(const NeedAnswer& answer) {
  std::map<std::string, std::string> lacks;
  for (const std::string& node : answer.fits) lacks.emplace(node, "-");
  for (const NodesLacking& lacking : answer.others) {
    const std::string names = listed(lacking.features, ", ");
    for (const std::string& node : lacking.nodes) lacks.emplace(node, names);
  }
  return lacks;
}

std::string requirements_table(const Registry& registry, const FeaturePlan& plan) {
  std::vector<Row> rows{{"TO DECLARE", "A NODE NEEDS"}};
  for (const std::string& name : lacked(plan)) {
    const auto requirements = registry.requirements(name);
    if (requirements) rows.push_back({name, requirements_text(*requirements)});
  }
  return rows.size() > 1 ? "\n" + table(rows) : "";
}

json::object json_of(const Requirements& requirements) {
  json::object config;
  for (const auto& [key, value] : requirements.static_config) config[key] = value;
  return {{"gates", array_of(requirements.gates)},
          {"staticConfig", std::move(config)},
          {"runtimeFeatures", array_of(requirements.runtime_features)}};
}

json::object json_of(const NeedAnswer& answer) {
  json::array others;
  for (const NodesLacking& lacking : answer.others) {
    others.push_back({{"lack", array_of(lacking.features)}, {"nodes", array_of(lacking.nodes)}});
  }
  return {{"fits", array_of(answer.fits)}, {"others", std::move(others)}};
}

json::object json_of(const FeatureNeed& need) {
  json::object object{{"features", array_of(need.features)}, {"now", json_of(need.now)}};
  if (need.then) {
    json::object then = json_of(need.then->answer);
    then["gains"] = array_of(need.then->gains);
    then["losses"] = array_of(need.then->losses);
    object["then"] = std::move(then);
  }
  return object;
}

}  // namespace

std::string render_discovered(const Registry& registry, const DiscoveredFeatures& discovered) {
  std::vector<Row> rows{{"FEATURE", "DECLARED", "WHY NOT"}};
  for (const Feature& feature : registry.features()) {
    const Names why = why_not_declared(feature, discovered.node);
    rows.push_back({feature.name, why.empty() ? "yes" : "no", listed(why, "; ")});
  }
  return table(rows) + notes_text(discovered.notes);
}

std::string render_discovered_json(const Registry& registry, const DiscoveredFeatures& discovered) {
  json::array declared;
  json::object obstacle_lists;
  for (const Feature& feature : registry.features()) {
    const Names why = why_not_declared(feature, discovered.node);
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
  if (needs.empty()) return "no pods\n";
  std::vector<Row> rows{{"POD", "NEEDS"}};
  for (const auto& [pod, features] : needs) rows.push_back({pod, listed(features, ", ")});
  return table(rows);
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
  std::string text = rows.size() > 1 ? table(rows) + "\n" : "";
  if (without_needs > 0) {
    text += fmt::format("{} {} no feature\n", counted(without_needs, "pod"),
                        without_needs == 1 ? "needs" : "need");
  }
  if (plan.nodes == 0) text += "no nodes\n";
  text += plan.pods.empty() ? "no pods\n" : kByFeaturesOnly;
  return text + requirements_table(registry, plan) + notes_text(plan.notes);
}

std::string render_pod_plan(const Registry& registry, const FeaturePlan& plan) {
  const FeatureNeed& need = plan.needs[plan.pods.front().need];
  const auto fits = [](const std::string& lacks) { return lacks == "-" ? "yes" : "no"; };
  const auto now = lacks_of(need.now);
  std::vector<Row> rows{{"NODE", "FITS", "LACKS"}};
  if (need.then) rows.front() = {"NODE", "FITS NOW", "LACKS NOW", "FITS THEN", "LACKS THEN"};
  const auto then = need.then ? lacks_of(need.then->answer) : now;
  for (const auto& [node, lacks] : now) {
    Row row{node, fits(lacks), lacks};
    if (need.then) row.insert(row.end(), {fits(then.at(node)), then.at(node)});
    rows.push_back(std::move(row));
  }
  return fmt::format("pod {} needs {}\n\n{}\n{}{}{}", plan.pods.front().pod,
                     need.features.empty() ? "no feature" : listed(need.features, ", "),
                     table(rows), kByFeaturesOnly, requirements_table(registry, plan),
                     notes_text(plan.notes));
}

std::string render_feature_plan_json(const Registry& registry, const FeaturePlan& plan) {
  json::array needs;
  for (const FeatureNeed& need : plan.needs) needs.push_back(json_of(need));
  json::array pods;
  for (const PodPlan& pod : plan.pods) {
    pods.push_back({{"pod", pod.pod}, {"node", pod.node}, {"need", pod.need}});
  }
  json::object requirements;
  for (const std::string& name : lacked(plan)) {
    const auto found = registry.requirements(name);
    if (found) requirements[name] = json_of(*found);
  }
  return json_text(json::object{{"nodes", plan.nodes},
                                {"needs", std::move(needs)},
                                {"pods", std::move(pods)},
                                {"requirements", std::move(requirements)},
                                {"notes", array_of(plan.notes)}});
}

}  // namespace corehold
