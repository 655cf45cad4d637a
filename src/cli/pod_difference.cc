// SPDX-License-Identifier: Apache-2.0
#include "cli/pod_difference.h"

#include <set>

#include <boost/json.hpp>

#include "pod/json_field.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

// What the model holds, and compares better than JSON.
bool same_model(const Container& a, const Container& b) { return a == b; }

bool same_model(const std::vector<Container>& a, const std::vector<Container>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](auto& x, auto& y) { return same_model(x, y); });
}

const json::object& spec_of(const json::object& pod) {
  static const json::object kNone;
  const json::value* spec = field(pod, "spec");
  return spec == nullptr || !spec->is_object() ? kNone : spec->get_object();
}

// Without what the model holds and what null says nothing about.
json::value bare(const json::value& container) {
  json::value value = container;
  if (json::object* object = value.if_object()) {
    for (const char* key : {"resources", "resizePolicy", "restartPolicy"}) object->erase(key);
    std::vector<std::string> empty;
    for (const auto& member : *object) {
      if (member.value().is_null()) empty.emplace_back(member.key());
    }
    for (const std::string& key : empty) object->erase(key);
  }
  return value;
}

json::value bare_list(const json::value* list) {
  json::array bared;
  if (list != nullptr && list->is_array()) {
    for (const json::value& item : list->get_array()) bared.push_back(bare(item));
  }
  return bared;
}

bool is_list_of_containers(std::string_view key) {
  return key == "containers" || key == "initContainers";
}

bool is_in_model(std::string_view key) {
  return key == "priority" || key == "restartPolicy" || key == "resources";
}

bool same_field(const json::object& there, const json::object& wanted, std::string_view key) {
  const json::value* a = field(there, key);
  const json::value* b = field(wanted, key);
  if (is_list_of_containers(key)) return bare_list(a) == bare_list(b);
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

}  // namespace

std::string difference_between(const Pod& there, const Pod& wanted) {
  if (there.labels != wanted.labels) return "metadata.labels";
  if (there.annotations != wanted.annotations) return "metadata.annotations";
  if (there.priority != wanted.priority) return "spec.priority";
  if (there.restart_policy != wanted.restart_policy) return "spec.restartPolicy";
  if (there.resources != wanted.resources) return "spec.resources";
  if (!same_model(there.init_containers, wanted.init_containers)) return "spec.initContainers";
  if (!same_model(there.containers, wanted.containers)) return "spec.containers";
  const json::object& old_spec = spec_of(there.raw);
  const json::object& new_spec = spec_of(wanted.raw);
  std::set<std::string> keys;
  for (const auto& member : old_spec) keys.emplace(member.key());
  for (const auto& member : new_spec) keys.emplace(member.key());
  // The node's name is given by the node.
  if (field(new_spec, "nodeName") == nullptr) keys.erase("nodeName");
  for (const std::string& key : keys) {
    if (!is_in_model(key) && !same_field(old_spec, new_spec, key)) return "spec." + key;
  }
  return "";
}

}  // namespace corehold
