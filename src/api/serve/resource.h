// SPDX-License-Identifier: Apache-2.0
//
// The resources of the Kubernetes API that one node serves, in one table: what discovery
// tells of them, and what lists, tables and watches are made of.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <boost/json/object.hpp>

namespace corehold {

enum class Resource { kEvents, kNamespaces, kNodes, kPods };

using Words = std::span<const std::string_view>;

// A part of an object with a path of its own: "pods/status".
struct SubresourceInfo {
  std::string_view name{};
  std::string_view kind{};  // of what it gives
  Words verbs{};
};

struct ResourceInfo {
  Resource resource{};
  std::string_view name{};      // "pods"
  std::string_view singular{};  // "pod"
  std::string_view kind{};      // "Pod"
  std::string_view short_name{};
  Words categories{};
  bool namespaced = false;
  Words verbs{};
  std::span<const SubresourceInfo> subresources{};  // by name
  // What a field selector may ask for, in the order of Selectable::fields.
  Words field_labels{};
};

// Of group "" version v1, by name.
std::span<const ResourceInfo> served_resources();
const ResourceInfo& info_of(Resource resource);
// By its plural name.
std::optional<Resource> resource_named(std::string_view name);

// An object of that kind without contents, but for those fields that are always there:
// what bookmarks carry.
boost::json::object empty_object(Resource resource);

}  // namespace corehold
