// SPDX-License-Identifier: Apache-2.0
#include "api/serve/discovery.h"

#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/serve/resource.h"
#include "state/checkpoint_checksum.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 1> kOwnRead{"get"};
constexpr std::array<std::string_view, 1> kOwnRun{"create"};

// Neither can be listed: the map is one object, and a run is asked for and then over.
constexpr std::array<ResourceInfo, 2> kOwnResources{
    {{.name = "cpus", .singular = "cpumap", .kind = "CpuMap", .verbs = kOwnRead},
     {.name = "run", .singular = "run", .kind = "Run", .verbs = kOwnRun}}};

json::array words_json(Words words) {
  json::array list;
  for (const std::string_view word : words) list.push_back(json::string(word));
  return list;
}

void add_names(const ResourceInfo& info, json::object& object) {
  if (!info.short_name.empty()) object["shortNames"] = json::array{info.short_name};
  if (!info.categories.empty()) object["categories"] = words_json(info.categories);
}

json::array plain_resources(std::span<const ResourceInfo> resources) {
  json::array list;
  for (const ResourceInfo& info : resources) {
    json::object object{{"name", info.name},
                        {"singularName", info.singular},
                        {"namespaced", info.namespaced},
                        {"kind", info.kind},
                        {"verbs", words_json(info.verbs)}};
    add_names(info, object);
    list.push_back(std::move(object));
    for (const SubresourceInfo& part : info.subresources) {
      list.push_back(json::object{{"name", fmt::format("{}/{}", info.name, part.name)},
                                  {"singularName", ""},
                                  {"namespaced", info.namespaced},
                                  {"kind", part.kind},
                                  {"verbs", words_json(part.verbs)}});
    }
  }
  return list;
}

json::object response_kind(std::string_view kind) {
  return {{"group", ""}, {"version", ""}, {"kind", kind}};
}

json::object aggregated_resource(const ResourceInfo& info) {
  json::object object{{"resource", info.name},
                      {"responseKind", response_kind(info.kind)},
                      {"scope", info.namespaced ? "Namespaced" : "Cluster"},
                      {"singularResource", info.singular},
                      {"verbs", words_json(info.verbs)}};
  add_names(info, object);
  json::array parts;
  for (const SubresourceInfo& part : info.subresources) {
    parts.push_back(json::object{{"subresource", part.name},
                                 {"responseKind", response_kind(part.kind)},
                                 {"verbs", words_json(part.verbs)}});
  }
  if (!parts.empty()) object["subresources"] = std::move(parts);
  return object;
}

json::object aggregated_list(std::string_view version, json::object group_metadata,
                             std::string_view group_version,
                             std::span<const ResourceInfo> resources) {
  json::array list;
  for (const ResourceInfo& info : resources) list.push_back(aggregated_resource(info));
  json::array versions;
  versions.push_back(json::object{
      {"version", group_version}, {"resources", std::move(list)}, {"freshness", "Current"}});
  json::array items;
  items.push_back(
      json::object{{"metadata", std::move(group_metadata)}, {"versions", std::move(versions)}});
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", fmt::format("apidiscovery.k8s.io/{}", version)},
          {"metadata", json::object()},
          {"items", std::move(items)}};
}

std::string own_group_version() { return fmt::format("{}/{}", kOwnGroup, kOwnVersion); }

json::object own_group_fields() {
  const json::object version{{"groupVersion", own_group_version()}, {"version", kOwnVersion}};
  json::array versions;
  versions.push_back(version);
  return {{"name", kOwnGroup}, {"versions", std::move(versions)}, {"preferredVersion", version}};
}

}  // namespace

json::object version_json(const ServerVersion& version) {
  return {{"major", "1"},
          {"minor", "37"},
          {"emulationMajor", "1"},
          {"emulationMinor", "37"},
          {"minCompatibilityMajor", "1"},
          {"minCompatibilityMinor", "36"},
          {"gitVersion", fmt::format("v{}+corehold.{}", kKubernetesVersion, version.corehold)},
          {"gitCommit", ""},
          {"gitTreeState", ""},
          {"buildDate", ""},
          {"goVersion", ""},
          {"compiler", ""},
          {"platform", version.platform}};
}

json::object api_versions_json(std::string_view address) {
  json::array addresses;
  addresses.push_back(json::object{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}});
  return {{"kind", "APIVersions"},
          {"versions", json::array{"v1"}},
          {"serverAddressByClientCIDRs", std::move(addresses)}};
}

json::object api_group_list_json() {
  json::array groups;
  groups.push_back(own_group_fields());
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

json::object own_group_json() {
  json::object group{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
  for (auto& field : own_group_fields()) group[field.key()] = field.value();
  return group;
}

json::object core_resource_list_json() {
  return {{"kind", "APIResourceList"},
          {"groupVersion", "v1"},
          {"resources", plain_resources(served_resources())}};
}

json::object own_resource_list_json() {
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", own_group_version()},
          {"resources", plain_resources(kOwnResources)}};
}

json::object aggregated_core_json(std::string_view version) {
  return aggregated_list(version, {}, "v1", served_resources());
}

json::object aggregated_groups_json(std::string_view version) {
  return aggregated_list(version, {{"name", kOwnGroup}}, kOwnVersion, kOwnResources);
}

std::string etag_of(std::string_view body) {
  constexpr std::uint32_t kOtherBasis = 0x9E3779B9;
  return fmt::format("\"{:08X}{:08X}{:X}\"", fnv1a(body), fnv1a(body, kOtherBasis), body.size());
}

bool etag_matches(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    const std::size_t comma = if_none_match.find(',');
    std::string_view one = if_none_match.substr(0, comma);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag || one == "*") return true;
    if (comma == std::string_view::npos) return false;
    if_none_match.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace corehold
