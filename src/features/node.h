// SPDX-License-Identifier: Apache-2.0
//
// FeatureNode: what declared features need to know of a Kubernetes node, and how it is
// read from the node's JSON. Reading checks shapes only; names that no node may declare
// are dropped and told.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "features/registry/registry.h"

namespace corehold {

// Comma-separated features of a node whose kubelet owns status.declaredFeatures.
inline constexpr std::string_view kDeclaredFeaturesAnnotation = "corehold.dev/declared-features";
// "static" on a node whose containers may have CPUs for themselves.
inline constexpr std::string_view kCpuManagerPolicyAnnotation = "corehold.dev/cpu-manager-policy";

struct FeatureNode {
  std::string name{};
  std::vector<std::string> declared_features{};  // status.declaredFeatures, as given
  std::map<std::string, std::string, std::less<>> annotations{};
  std::string kubelet_version{};  // status.nodeInfo.kubeletVersion; "" when not said
};

// What the node declares, in its status and by annotation: sorted, each once.
struct DeclaredNames {
  std::vector<std::string> names{};
  std::vector<std::string> dropped{};  // why each other one is not among them
};
DeclaredNames declared_names(const FeatureNode& node);
// The features that the registry knows of those.
FeatureSet declared_set(const Registry& registry, const FeatureNode& node);

// What it declares by annotation, as given.
std::vector<std::string> annotated_features(const FeatureNode& node);
// Whether Corehold's agent runs there, which writes the annotations.
bool has_agent(const FeatureNode& node);

// The version of its kubelet. No value: it says none, or one that is not of Kubernetes.
std::optional<Version> kubernetes_version(const FeatureNode& node);

// Whether its containers may have CPUs for themselves.
bool pins_cpus(const FeatureNode& node);

// Fails with kInvalid and "field path: what is wrong"; a missing kind is taken for Node.
Result<FeatureNode> node_from_json(const boost::json::object& object);

// The nodes of a document: a Node, or a List or NodeList of them in its order.
Result<std::vector<FeatureNode>> nodes_from_json(const boost::json::value& document);
// parse_json, then nodes_from_json.
Result<std::vector<FeatureNode>> parse_nodes_json(std::string_view text);
// The nodes of a text that a person hands over, JSON or all documents of YAML.
Result<std::vector<FeatureNode>> read_nodes(std::string_view text);

}  // namespace corehold
