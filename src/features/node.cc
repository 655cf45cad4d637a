// SPDX-License-Identifier: Apache-2.0
#include "features/node.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "pod/yaml_document.h"

namespace corehold {
namespace {

namespace json = boost::json;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// The items of a comma-separated list; an empty text has none.
std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> items;
  if (trimmed(list).empty()) return items;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    items.emplace_back(trimmed(list.substr(at, end - at)));
    at = end + 1;
  }
  return items;
}

Result<std::vector<std::string>> strings_at(const json::object& object, const Path& path,
                                            std::string_view key) {
  std::vector<std::string> strings;
  const json::array* list = TRY(array_field(object, path, key));
  if (list == nullptr) return strings;
  strings.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::string* text = (*list)[i].if_string();
    if (text == nullptr) return (path / key / i).error("must be a string");
    strings.emplace_back(*text);
  }
  return strings;
}

Result<void> read_metadata(const json::object& object, const Path& path, FeatureNode& node) {
  const json::object* metadata = TRY(object_field(object, path, "metadata"));
  if (metadata == nullptr) return {};
  const Path here = path / "metadata";
  node.name = TRY(string_field(*metadata, here, "name"));
  const json::object* annotations = TRY(object_field(*metadata, here, "annotations"));
  if (annotations == nullptr) return {};
  for (const auto& [name, unused] : *annotations) {
    node.annotations.emplace(name, TRY(string_field(*annotations, here / "annotations", name)));
  }
  return {};
}

Result<void> read_status(const json::object& object, const Path& path, FeatureNode& node) {
  const json::object* status = TRY(object_field(object, path, "status"));
  if (status == nullptr) return {};
  const Path here = path / "status";
  node.declared_features = TRY(strings_at(*status, here, "declaredFeatures"));
  const json::object* info = TRY(object_field(*status, here, "nodeInfo"));
  if (info == nullptr) return {};
  node.kubelet_version = TRY(string_field(*info, here / "nodeInfo", "kubeletVersion"));
  return {};
}

Result<FeatureNode> node_at(const json::object& object, const Path& path) {
  const std::string kind = TRY(string_field(object, path, "kind"));
  if (!kind.empty() && kind != "Node") {
    return (path / "kind").error(fmt::format("{} is not a Node", shown(kind)));
  }
  FeatureNode node;
  TRY(read_metadata(object, path, node));
  if (node.name.empty()) return (path / "metadata" / "name").error("required");
  TRY(read_status(object, path, node));
  return node;
}

}  // namespace

DeclaredNames declared_names(const FeatureNode& node) {
  DeclaredNames result;
  const auto add = [&result](const std::string& name) {
    const auto checked = check_feature_name(name);
    if (!checked) {
      result.dropped.push_back(checked.error().message);
    } else {
      result.names.push_back(name);
    }
  };
  std::ranges::for_each(node.declared_features, add);
  std::ranges::for_each(annotated_features(node), add);
  std::ranges::sort(result.names);
  // Not that of ranges: clang 14 does not compile what it returns.
  result.names.erase(std::unique(result.names.begin(), result.names.end()), result.names.end());
  return result;
}

FeatureSet declared_set(const Registry& registry, const FeatureNode& node) {
  const auto found = node.annotations.find(kDeclaredFeaturesAnnotation);
  if (found == node.annotations.end()) return registry.known(node.declared_features);
  return registry.known(declared_names(node).names);
}

std::vector<std::string> annotated_features(const FeatureNode& node) {
  const auto found = node.annotations.find(kDeclaredFeaturesAnnotation);
  if (found == node.annotations.end()) return {};
  return items_of(found->second);
}

bool has_agent(const FeatureNode& node) {
  return node.annotations.contains(kDeclaredFeaturesAnnotation) ||
         node.annotations.contains(kCpuManagerPolicyAnnotation);
}

std::optional<Version> kubernetes_version(const FeatureNode& node) {
  auto version = Version::parse(node.kubelet_version);
  if (!version) return std::nullopt;
  return *std::move(version);
}

bool pins_cpus(const FeatureNode& node) {
  const auto found = node.annotations.find(kCpuManagerPolicyAnnotation);
  return found != node.annotations.end() && found->second == "static";
}

Result<FeatureNode> node_from_json(const json::object& object) { return node_at(object, Path()); }

Result<std::vector<FeatureNode>> nodes_from_json(const json::value& document) {
  const json::object* object = document.if_object();
  if (object == nullptr) {
    return Error{Code::kInvalid,
                 "must be a Node or a list of them, as kubectl get nodes -o json prints"};
  }
  const std::string kind = TRY(string_field(*object, Path(), "kind"));
  std::vector<FeatureNode> nodes;
  if (kind != "List" && kind != "NodeList") {
    nodes.push_back(TRY(node_at(*object, Path())));
    return nodes;
  }
  const json::array* items = TRY(array_field(*object, Path(), "items"));
  if (items == nullptr) return nodes;
  nodes.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Path path = Path() / "items" / i;
    const json::object* item = (*items)[i].if_object();
    if (item == nullptr) return path.error("must be an object");
    nodes.push_back(TRY(node_at(*item, path)));
  }
  return nodes;
}

Result<std::vector<FeatureNode>> parse_nodes_json(std::string_view text) {
  return nodes_from_json(TRY(parse_json(text)));
}

Result<std::vector<FeatureNode>> read_nodes(std::string_view text) {
  if (trimmed(text).starts_with('{')) return parse_nodes_json(text);
  const std::vector<json::value> documents = TRY(parse_yaml(text));
  if (documents.empty()) return Error{Code::kInvalid, "no node in the text"};
  std::vector<FeatureNode> nodes;
  for (const json::value& document : documents) {
    std::ranges::move(TRY(nodes_from_json(document)), std::back_inserter(nodes));
  }
  return nodes;
}

}  // namespace corehold
