// SPDX-License-Identifier: Apache-2.0
#include "features/registry/registry.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pod/feature_name.h"
#include "pod/json_field.h"

namespace corehold {
namespace {

FeatureId id_at(std::size_t position) { return FeatureId(static_cast<int>(position)); }

// 64-bit FNV-1a over all names, each with its end.
std::uint64_t fingerprint_of(const std::vector<Feature>& features) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&hash](char c) {
    hash = (hash ^ static_cast<unsigned char>(c)) * std::uint64_t{1099511628211U};
  };
  for (const Feature& feature : features) {
    for (const char c : feature.name) add(c);
    add('\0');
  }
  return hash;
}

Error refused(const Feature& feature, std::string_view problem) {
  return Error{Code::kInvalid, fmt::format("feature {}: {}", feature.name, problem)};
}

Result<void> check_gates(const Feature& feature) {
  const auto& gates = feature.requirements.gates;
  if (gates.empty()) return refused(feature, "must have at least one feature gate");
  for (auto gate = gates.begin(); gate != gates.end(); ++gate) {
    if (!feature_name_problem(*gate).empty()) {
      return refused(feature, fmt::format("{} is no name of a gate", shown(*gate)));
    }
    if (std::find(gates.begin(), gate, *gate) != gate) {
      return refused(feature, fmt::format("gate {} is given twice", *gate));
    }
  }
  return {};
}

}  // namespace

Result<Registry> Registry::of(std::vector<Feature> features) {
  if (features.size() > FeatureSet::kCapacity) {
    return Error{Code::kInvalid, fmt::format("{} features, a registry holds at most {}",
                                             features.size(), FeatureSet::kCapacity)};
  }
  std::ranges::sort(features, {}, &Feature::name);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const Feature& feature = features[i];
    TRY(check_feature_name(feature.name));
    TRY(check_gates(feature));
    if (i > 0 && features[i - 1].name == feature.name) return refused(feature, "registered twice");
  }
  Registry registry;
  registry.fingerprint_ = fingerprint_of(features);
  registry.features_ = std::move(features);
  return registry;
}

std::optional<FeatureId> Registry::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(features_, name, {}, &Feature::name);
  if (found == features_.end() || found->name != name) return std::nullopt;
  return id_at(static_cast<std::size_t>(found - features_.begin()));
}

FeatureSet Registry::known(std::span<const std::string> names) const {
  FeatureSet set = none();
  // Lists are mostly sorted: the search goes on where the name before ended.
  std::size_t next = 0;
  for (const std::string& name : names) {
    if (next > 0 && name <= features_[next - 1].name) next = 0;
    while (next < features_.size() && features_[next].name < name) ++next;
    if (next < features_.size() && features_[next].name == name) set.insert(id_at(next));
  }
  return set;
}

Result<FeatureSet> Registry::set_of(std::span<const std::string> names) const {
  FeatureSet set = none();
  for (const std::string& name : names) {
    const auto id = find(name);
    if (!id) return Error{Code::kNotFound, fmt::format("unknown feature {}", name)};
    set.insert(*id);
  }
  return set;
}

Result<std::vector<std::string>> Registry::names(const FeatureSet& set) const {
  if (!owns(set)) {
    return Error{Code::kConflict, "the feature set is of another registry; build it from this one"};
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    if (set.contains(id_at(i))) names.push_back(features_[i].name);
  }
  return names;
}

FeatureSet Registry::discover(const NodeConfiguration& node) const {
  FeatureSet set = none();
  for (std::size_t i = 0; i < features_.size(); ++i) {
    if (features_[i].discover(node)) set.insert(id_at(i));
  }
  return set;
}

Result<FeatureSet> Registry::infer_for_scheduling(const Pod& pod,
                                                  const std::optional<Version>& target) const {
  if (!target) return Error{Code::kInvalid, "target version cannot be nil"};
  FeatureSet set = none();
  for (std::size_t i = 0; i < features_.size(); ++i) {
    const Feature& feature = features_[i];
    if (!feature.infer_for_scheduling || !feature.is_current(target)) continue;
    if (feature.infer_for_scheduling(pod)) set.insert(id_at(i));
  }
  return set;
}

Result<FeatureSet> Registry::infer_for_update(const Pod& old_pod, const Pod& new_pod,
                                              const std::optional<Version>& target) const {
  if (!target) return Error{Code::kInvalid, "target version cannot be nil"};
  FeatureSet set = none();
  for (std::size_t i = 0; i < features_.size(); ++i) {
    const Feature& feature = features_[i];
    if (!feature.infer_for_update || !feature.is_current(target)) continue;
    if (feature.infer_for_update(old_pod, new_pod)) set.insert(id_at(i));
  }
  return set;
}

Result<Requirements> Registry::requirements(std::string_view name) const {
  const auto id = find(name);
  if (!id) return Error{Code::kNotFound, fmt::format("feature '{}' not registered", name)};
  return feature(*id).requirements;
}

}  // namespace corehold
