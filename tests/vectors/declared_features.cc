// SPDX-License-Identifier: Apache-2.0
//
// Family declared_features: what nodes declare, what pods and their updates need, and
// who fits whom.
//
// Skipped: "unsorted feature list" where the kubelet's walk over a list that is not
// sorted loses features (ours is a set: the answer must be the one for the sorted list),
// and "panic" where it crashes (ours must answer).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "family.h"
#include "features/known_features.h"
#include "features/match.h"
#include "fields.h"
#include "pod/pod_json.h"

namespace corehold::vectors {
namespace {

namespace json = boost::json;

using Names = std::vector<std::string>;

Result<Names> names_of(const json::object& line, std::string_view field) {
  Names names;
  const json::value* found = find(line, field);
  if (found == nullptr) return names;
  if (!found->is_array()) {
    return Error{Code::kInvalid, fmt::format("{} is not a list", field)};
  }
  for (const json::value& item : found->get_array()) {
    if (!item.is_string()) return Error{Code::kInvalid, fmt::format("{}: not a string", field)};
    names.emplace_back(item.get_string());
  }
  return names;
}

Result<std::optional<Version>> version_of(const json::object& line, std::string_view field) {
  const std::string text = TRY(text_of(line, field));
  if (text.empty()) return std::optional<Version>();
  return std::optional<Version>(TRY(Version::parse(text)));
}

std::string shown_names(const Names& names) { return fmt::format("{}", fmt::join(names, " ")); }

// An answer as text: the names and, as the vectors write them, the bits.
std::string shown_set(const Registry& registry, const FeatureSet& set) {
  std::string bits;
  for (const Feature& feature : registry.features()) {
    bits.push_back(set.contains(*registry.find(feature.name)) ? '1' : '0');
  }
  return fmt::format("{} [{}]", bits, shown_names(*registry.names(set)));
}

Verdict compared(const std::string& expected, const std::string& actual) {
  return expected == actual ? Verdict::passed() : Verdict::failed(expected, actual);
}

Verdict compared_error(const std::string& expected, const std::optional<std::string>& actual) {
  return compared("error: " + expected, actual ? "error: " + *actual : "no error");
}

template <typename T>
std::optional<std::string> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().message);
}

// A line with `required` and `bits`, or with an error.
Result<Verdict> judge_set(const json::object& line, const Registry& registry,
                          const Result<FeatureSet>& ours) {
  const std::string error = TRY(text_of(line, "error"));
  if (!error.empty()) return compared_error(error, error_of(ours));
  const std::string expected = fmt::format("{} [{}]", TRY(text_of(line, "bits")),
                                           shown_names(TRY(names_of(line, "required"))));
  return compared(expected, ours ? shown_set(registry, *ours) : "error: " + ours.error().message);
}

Result<Verdict> judge_discover(const json::object& line) {
  NodeConfiguration node;
  for (const auto& [gate, value] : TRY(object_of(line, "gates"))) {
    node.gates.emplace(gate, value.is_bool() && value.get_bool());
  }
  if (TRY(flag_of(line, "runtimeMountOptions")))
    node.runtime_features.emplace(kRuntimeMountOptions);
  if (TRY(flag_of(line, "runtimeUserNamespacesHostNetwork"))) {
    node.runtime_features.emplace(kRuntimeUserNamespacesHostNetwork);
  }
  node.version = TRY(version_of(line, "version"));
  const Registry& registry = kubernetes_registry();
  return compared(shown_names(TRY(names_of(line, "features"))),
                  shown_names(TRY(registry.names(registry.discover(node)))));
}

// How the runtime features of a requirement are written is not shown by the public
// lines: names in a list, or flags in an object.
Result<Names> runtime_names(const json::object& line) {
  const json::value* found = find(line, "requirementRuntime");
  Names names;
  if (found == nullptr) return names;
  if (found->is_array()) return names_of(line, "requirementRuntime");
  if (found->is_string()) return Names{std::string(found->get_string())};
  for (const auto& [name, value] : TRY(object_of(line, "requirementRuntime"))) {
    if (value.is_bool() && value.get_bool()) names.emplace_back(name);
  }
  return names;
}

Result<Verdict> judge_requirements(const json::object& line) {
  const auto ours = kubernetes_registry().requirements(TRY(text_of(line, "name")));
  const std::string error = TRY(text_of(line, "error"));
  if (!error.empty()) return compared_error(error, error_of(ours));
  const std::string expected =
      fmt::format("gates {}; runtime {}", shown_names(TRY(names_of(line, "requirementGates"))),
                  shown_names(TRY(runtime_names(line))));
  if (!ours) return Verdict::failed(expected, ours.error().message);
  return compared(expected, fmt::format("gates {}; runtime {}", shown_names(ours->gates),
                                        shown_names(ours->runtime_features)));
}

Result<Verdict> judge_scheduling(const json::object& line) {
  const Pod pod = TRY(pod_from_json(TRY(object_of(line, "pod"))));
  const Registry& registry = kubernetes_registry();
  return judge_set(line, registry,
                   registry.infer_for_scheduling(pod, TRY(version_of(line, "version"))));
}

Result<Verdict> judge_update(const json::object& line) {
  const Pod old_pod = TRY(pod_from_json(TRY(object_of(line, "oldPod"))));
  const Pod new_pod = TRY(pod_from_json(TRY(object_of(line, "newPod"))));
  const Registry& registry = kubernetes_registry();
  const auto version = TRY(version_of(line, "version"));
  const auto ours = registry.infer_for_update(old_pod, new_pod, version);
  if (find(line, "panic") == nullptr) return judge_set(line, registry, ours);
  if (ours.has_value() != version.has_value()) {
    return Verdict::failed("an answer", ours ? "one without a version" : ours.error().message);
  }
  return Verdict::skipped("panic");
}

Result<Verdict> judge_match(const json::object& line) {
  const Registry& registry = kubernetes_registry();
  const FeatureSet required = TRY(registry.set_of(TRY(names_of(line, "required"))));
  FeatureNode node{.name = "n", .declared_features = TRY(names_of(line, "nodeFeatures"))};
  const bool is_nil = TRY(flag_of(line, "nilNode"));
  const auto ours = match_node(registry, required, is_nil ? nullptr : &node);
  const std::string error = TRY(text_of(line, "error"));
  if (!error.empty()) return compared_error(error, error_of(ours));
  const auto shown_match = [](bool fits, const Names& missing) {
    return fmt::format("{}, missing {}", fits ? "fits" : "does not fit", shown_names(missing));
  };
  const std::string expected =
      shown_match(TRY(flag_of(line, "isMatch")), TRY(names_of(line, "unsatisfied")));
  if (!ours) return Verdict::failed(expected, ours.error().message);
  const std::string actual = shown_match(ours->fits, TRY(registry.names(ours->missing)));
  if (actual == expected || std::ranges::is_sorted(node.declared_features)) {
    return compared(expected, actual);
  }
  std::ranges::sort(node.declared_features);
  const Match sorted = TRY(match_node(registry, required, &node));
  if (sorted.missing != ours->missing)
    return Verdict::failed("the answer for the sorted list", actual);
  return Verdict::skipped("unsorted feature list");
}

Result<Verdict> judge_map(const json::object& line) {
  const Registry& registry = kubernetes_registry();
  Names names = TRY(names_of(line, "features"));
  const auto ours = registry.set_of(names);
  const Verdict verdict = TRY(judge_set(line, registry, ours));
  if (verdict.kind == Verdict::Kind::kPassed || std::ranges::is_sorted(names)) return verdict;
  std::ranges::sort(names);
  const auto sorted = registry.set_of(names);
  if (ours.has_value() != sorted.has_value() || (ours && *ours != *sorted)) {
    return Verdict::failed("the answer for the sorted list", verdict.actual);
  }
  return Verdict::skipped("unsorted feature list");
}

// A registry of features that answer what the line says.
Result<Verdict> judge_mock(const json::object& line) {
  const json::value* registered = find(line, "registry");
  if (registered == nullptr || !registered->is_array()) {
    return Error{Code::kInvalid, "the line has no list registry"};
  }
  std::vector<Feature> features;
  NodeConfiguration node;
  for (const json::value& item : registered->get_array()) {
    if (!item.is_object()) return Error{Code::kInvalid, "registry: not an object"};
    const json::object& mock = item.get_object();
    const std::string name = TRY(text_of(mock, "name"));
    node.gates[name] = TRY(flag_of(mock, "discover"));
    const bool scheduling = TRY(flag_of(mock, "inferForScheduling"));
    const bool update = TRY(flag_of(mock, "inferForUpdate"));
    features.push_back({.name = name,
                        .requirements = {.gates = {name}},
                        .max_version = TRY(version_of(mock, "maxVersion")),
                        .infer_for_scheduling = [scheduling](const Pod&) { return scheduling; },
                        .infer_for_update = [update](const Pod&, const Pod&) { return update; }});
  }
  const Registry registry = TRY(Registry::of(std::move(features)));
  const auto version = TRY(version_of(line, "version"));
  node.version = version;
  const auto shown_all = [](const Names& discovered, const Names& scheduling, const Names& update) {
    return fmt::format("declares {}; scheduling {}; update {}", shown_names(discovered),
                       shown_names(scheduling), shown_names(update));
  };
  const Pod pod;
  return compared(
      shown_all(TRY(names_of(line, "discovered")), TRY(names_of(line, "requiredForScheduling")),
                TRY(names_of(line, "requiredForUpdate"))),
      shown_all(TRY(registry.names(registry.discover(node))),
                TRY(registry.names(TRY(registry.infer_for_scheduling(pod, version)))),
                TRY(registry.names(TRY(registry.infer_for_update(pod, pod, version))))));
}

}  // namespace

Result<Verdict> judge_declared_features(const json::object& line, const Machines& /*machines*/) {
  const std::string op = TRY(text_of(line, "op"));
  if (op == "requirements") return judge_requirements(line);
  if (op == "discover") return judge_discover(line);
  if (op == "inferScheduling") return judge_scheduling(line);
  if (op == "inferUpdate") return judge_update(line);
  if (op == "match") return judge_match(line);
  if (op == "mapSorted") return judge_map(line);
  if (op == "mock") return judge_mock(line);
  return Error{Code::kInvalid, fmt::format("op {:?} is not known", op)};
}

}  // namespace corehold::vectors
