// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_resources.h"

#include <boost/json/array.hpp>

#include "api/json/json_look.h"

namespace corehold {
namespace {

namespace json = boost::json;

void add(ResourceList& sum, const ResourceList& more) {
  for (const auto& [resource, amount] : more) {
    const auto [found, is_new] = sum.try_emplace(resource, amount);
    if (!is_new) found->second = found->second + amount;
  }
}

void raise(ResourceList& most, const ResourceList& other) {
  for (const auto& [resource, amount] : other) {
    const auto [found, is_new] = most.try_emplace(resource, amount);
    if (!is_new && found->second < amount) found->second = amount;
  }
}

}  // namespace

ResourceList amounts_of(const json::object& owner, std::string_view list) {
  ResourceList amounts;
  const json::object* found = look_object(owner, {"resources", list});
  if (found == nullptr) return amounts;
  for (const auto& [resource, amount] : *found) {
    const json::string* text = amount.if_string();
    if (text == nullptr) continue;
    auto quantity = Quantity::parse(*text);
    if (quantity) amounts.emplace(resource, *std::move(quantity));
  }
  return amounts;
}

ResourceList requested_together(const json::object& spec) {
  ResourceList running;  // sidecars so far, and then the containers
  ResourceList most;
  for (const json::value& container : look_array(spec, {"initContainers"})) {
    const json::object& init = as_object_or_empty(container);
    const bool is_sidecar = look_text(init, {"restartPolicy"}) == "Always";
    ResourceList during = running;
    add(during, amounts_of(init, "requests"));
    if (is_sidecar) running = during;
    raise(most, during);
  }
  for (const json::value& container : look_array(spec, {"containers"}))
    add(running, amounts_of(as_object_or_empty(container), "requests"));
  raise(most, running);
  return most;
}

bool is_hugepages(std::string_view resource) { return resource.starts_with("hugepages-"); }

bool is_pod_level_resource(std::string_view resource) {
  return resource == kCpu || resource == kMemory || is_hugepages(resource);
}

}  // namespace corehold
