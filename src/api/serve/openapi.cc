// SPDX-License-Identifier: Apache-2.0
#include "api/serve/openapi.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/serve/discovery.h"
#include "api/serve/resource.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::array kind_names(const ResourceInfo& info) {
  json::array list;
  list.push_back(json::object{{"group", ""}, {"kind", info.kind}, {"version", "v1"}});
  return list;
}

json::object string_parameter(std::string_view name, std::string_view where) {
  json::object parameter{
      {"name", name}, {"in", where}, {"schema", json::object{{"type", "string"}}}};
  if (where == "path") parameter["required"] = true;
  return parameter;
}

json::object ok_responses() { return {{"200", json::object{{"description", "OK"}}}}; }

// kubectl looks for a PATCH of the kind with that parameter, and for nothing else. A body of
// type strategic-merge-patch is left out on purpose: kubectl would then take merge keys from
// a schema instead of from what it knows itself.
json::object operation(const ResourceInfo& info, std::string_view action) {
  json::array parameters;
  for (const std::string_view name : {"dryRun", "fieldManager", "fieldValidation"}) {
    parameters.push_back(string_parameter(name, "query"));
  }
  return {{"operationId",
           fmt::format("{}CoreV1{}{}", action, info.namespaced ? "Namespaced" : "", info.kind)},
          {"parameters", std::move(parameters)},
          {"responses", ok_responses()},
          {"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind",
           json::object{{"group", ""}, {"kind", info.kind}, {"version", "v1"}}}};
}

bool has_verb(const ResourceInfo& info, std::string_view verb) {
  return std::find(info.verbs.begin(), info.verbs.end(), verb) != info.verbs.end();
}

void add_paths(const ResourceInfo& info, json::object& paths) {
  const std::string all =
      fmt::format("/api/v1/{}{}", info.namespaced ? "namespaces/{namespace}/" : "", info.name);
  json::array of_path;
  if (info.namespaced) of_path.push_back(string_parameter("namespace", "path"));
  if (has_verb(info, "create")) {
    paths[all] = json::object{{"parameters", of_path}, {"post", operation(info, "post")}};
  }
  of_path.push_back(string_parameter("name", "path"));
  if (has_verb(info, "patch")) {
    paths[all + "/{name}"] = json::object{{"parameters", std::move(of_path)},
                                          {"patch", operation(info, "patch")},
                                          {"put", operation(info, "put")}};
  }
}

}  // namespace

json::object openapi_core_json() {
  json::object paths;
  json::object schemas;
  for (const ResourceInfo& info : served_resources()) {
    add_paths(info, paths);
    schemas[fmt::format("io.k8s.api.core.v1.{}", info.kind)] =
        json::object{{"type", "object"}, {"x-kubernetes-group-version-kind", kind_names(info)}};
  }
  return {{"openapi", "3.0.0"},
          {"info", json::object{{"title", "Corehold"}, {"version", "v1"}}},
          {"paths", std::move(paths)},
          {"components", json::object{{"schemas", std::move(schemas)}}}};
}

json::object openapi_index_json() {
  std::string hash = etag_of(json::serialize(openapi_core_json()));
  hash = hash.substr(1, hash.size() - 2);
  return {{"paths", json::object{{"api/v1", json::object{{"serverRelativeURL",
                                                          "/openapi/v3/api/v1?hash=" + hash}}}}}};
}

}  // namespace corehold
