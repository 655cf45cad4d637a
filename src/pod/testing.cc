// SPDX-License-Identifier: Apache-2.0
#include "pod/testing.h"

#include <sstream>

#include "pod/pod_json.h"

namespace corehold {
namespace {

Quantity quantity(const std::string& text) {
  auto amount = Quantity::parse(text);
  CHECK(amount.has_value());
  return *std::move(amount);
}

void add_amount(Resources& resources, const std::string& word) {
  const std::size_t equals = word.find('=');
  CHECK(equals != std::string::npos);
  const std::string resource = word.substr(0, equals);
  const std::string amount = word.substr(equals + 1);
  const std::size_t dots = amount.find("..");
  const std::string limit = dots == std::string::npos ? amount : amount.substr(dots + 2);
  resources.requests[resource] = quantity(amount.substr(0, dots));
  if (!limit.empty()) resources.limits[resource] = quantity(limit);
}

Container container_of(const std::string& line) {
  std::istringstream words(line);
  Container container;
  words >> container.name;
  const std::size_t colon = container.name.find(':');
  if (colon != std::string::npos) {
    const std::string kind = container.name.substr(0, colon);
    CHECK(kind == "init" || kind == "sidecar");
    container.kind = kind == "init" ? Container::Kind::kInit : Container::Kind::kSidecar;
    if (kind == "sidecar") container.restart_policy = "Always";
    container.name.erase(0, colon + 1);
  }
  for (std::string word; words >> word;) add_amount(container.resources, word);
  return container;
}

}  // namespace

Pod pod_of(std::string_view name, const std::vector<std::string>& containers) {
  Pod pod{.name = std::string(name), .uid = std::string(name)};
  for (const std::string& line : containers) {
    Container container = container_of(line);
    const bool app = container.kind == Container::Kind::kApp;
    (app ? pod.containers : pod.init_containers).push_back(std::move(container));
  }
  set_defaults(pod);
  CHECK(validate(pod).has_value());
  return pod;
}

void add_restart_rule(Pod& pod, std::string_view container, int code, std::string_view action) {
  namespace json = boost::json;
  pod.raw = to_json(pod);
  for (const std::string_view list : {"containers", "initContainers"}) {
    json::value* items = pod.raw.edit().at("spec").as_object().if_contains(list);
    if (items == nullptr) continue;
    for (json::value& item : items->as_array()) {
      json::object& object = item.as_object();
      if (object.at("name").as_string() != container) continue;
      json::value& rules = object["restartPolicyRules"];
      if (!rules.is_array()) rules.emplace_array();
      rules.as_array().push_back(json::object{
          {"action", action}, {"exitCodes", json::object{{"operator", "In"}, {"values", {code}}}}});
    }
  }
}

}  // namespace corehold
