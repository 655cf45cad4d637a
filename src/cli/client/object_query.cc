// SPDX-License-Identifier: Apache-2.0
#include "cli/client/object_query.h"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_read.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::object list_of(const json::array& items) {
  return {{"kind", "List"},
          {"apiVersion", "v1"},
          {"metadata", json::object{{"resourceVersion", ""}}},
          {"items", items}};
}

std::string_view namespace_of(Resource resource, const ObjectQuery& query) {
  if (query.all_namespaces) return "";
  if (!query.namespace_name.empty()) return query.namespace_name;
  return resource == Resource::kPods ? "default" : "";
}

}  // namespace

void add_namespace_options(CLI::App& command, ObjectQuery& query, const std::string& about) {
  CLI::Option* one = command.add_option("-n,--namespace", query.namespace_name, about);
  one->type_name("NAMESPACE");
  command.add_flag("-A,--all-namespaces", query.all_namespaces, "Of all namespaces")->excludes(one);
}

void add_selector_options(CLI::App& command, ObjectQuery& query) {
  command.add_option("-l,--selector", query.labels, "Only those with such labels: app=web,!old")
      ->type_name("LABELS");
  command
      .add_option("--field-selector", query.fields,
                  "Only those with such fields: status.phase=Running")
      ->type_name("FIELDS");
}

Result<void> check_query(const ObjectQuery& query) {
  if (query.names.empty()) return {};
  if (!query.labels.empty() || !query.fields.empty()) {
    return Error{Code::kInvalid, "names and selectors cannot be given together"};
  }
  if (query.all_namespaces) {
    return Error{Code::kInvalid,
                 "names and -A cannot be given together; NAMESPACE/NAME is a pod of any namespace"};
  }
  return {};
}

std::string with_query(std::string target, const QueryWords& words) {
  char separator = target.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : words) {
    if (value.empty()) continue;
    target += fmt::format("{}{}={}", separator, name, url_escape(value));
    separator = '&';
  }
  return target;
}

std::string list_path(Resource resource, const ObjectQuery& query) {
  const ResourceInfo& info = info_of(resource);
  const std::string_view of = namespace_of(resource, query);
  if (!info.namespaced || of.empty()) return fmt::format("/api/v1/{}", info.name);
  return fmt::format("/api/v1/namespaces/{}/{}", url_escape(of), info.name);
}

QueryWords list_words(const ObjectQuery& query) {
  std::string fields = query.fields;
  if (query.names.size() == 1) {
    const std::string& given = query.names.front();
    fields = "metadata.name=" + given.substr(given.find('/') + 1);
  }
  return {{"labelSelector", query.labels}, {"fieldSelector", fields}};
}

Result<std::string> object_path(Resource resource, const std::string& name,
                                const std::string& namespace_name) {
  const ResourceInfo& info = info_of(resource);
  if (!info.namespaced) return fmt::format("/api/v1/{}/{}", info.name, url_escape(name));
  const PodName found = TRY(pod_name(name, namespace_name));
  return fmt::format("/api/v1/namespaces/{}/{}/{}", url_escape(found.namespace_name), info.name,
                     url_escape(found.name));
}

Result<json::array> items_of(const json::value& list, std::string_view kind) {
  const json::object* object = TRY(as_object(list, Path()));
  TRY(expect_kind(*object, kind));
  const json::array* items = TRY(array_field(*object, Path(), "items"));
  if (items == nullptr) return json::array();
  return *items;
}

Result<FoundObjects> find_objects(const AgentClient& client, Resource resource,
                                  const ObjectQuery& query) {
  FoundObjects found;
  if (query.names.empty()) {
    found.answer = TRY(client.get(with_query(list_path(resource, query), list_words(query))));
    found.objects = TRY(items_of(found.answer, fmt::format("{}List", info_of(resource).kind)));
    return found;
  }
  for (const std::string& name : query.names) {
    const std::string path = TRY(object_path(resource, name, query.namespace_name));
    const ApiAnswer answer = TRY(client.ask({.target = path}));
    if (answer.failure) {
      found.missing.push_back(error_of(*answer.failure));
    } else {
      found.objects.push_back(answer.body);
    }
  }
  if (query.names.size() == 1 && found.missing.empty()) {
    found.answer = found.objects.front();
  } else {
    found.answer = list_of(found.objects);
  }
  return found;
}

}  // namespace corehold
