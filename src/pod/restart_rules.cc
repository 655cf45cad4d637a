// SPDX-License-Identifier: Apache-2.0
#include "pod/restart_rules.h"

#include <algorithm>
#include <string_view>

#include "pod/json_field.h"

namespace corehold {
namespace {

namespace json = boost::json;

const json::array& rules_of(const Pod& pod, const Container& container) {
  const bool is_app = container.kind == Container::Kind::kApp;
  const json::object& spec = object_or_empty(pod.raw, "spec");
  for (const json::value& item : list_or_empty(spec, is_app ? "containers" : "initContainers")) {
    const json::object* object = item.if_object();
    if (object == nullptr || text_or_empty(*object, "name") != container.name) continue;
    return list_or_empty(*object, "restartPolicyRules");
  }
  static const json::array kNone;
  return kNone;
}

bool fits(const json::object& rule, int code) {
  const json::object& codes = object_or_empty(rule, "exitCodes");
  const json::array& values = list_or_empty(codes, "values");
  const bool is_listed = std::any_of(
      values.begin(), values.end(),
      [code](const json::value& value) { return value.is_int64() && value.as_int64() == code; });
  const std::string_view relation = text_or_empty(codes, "operator");
  return (relation == "In" && is_listed) || (relation == "NotIn" && !is_listed);
}

}  // namespace

std::optional<RestartAction> restart_action(const Pod& pod, const Container& container, int code) {
  for (const json::value& item : rules_of(pod, container)) {
    const json::object* rule = item.if_object();
    if (rule == nullptr || !fits(*rule, code)) continue;
    const std::string_view action = text_or_empty(*rule, "action");
    if (action == "Restart") return RestartAction::kRestart;
    if (action == "RestartAllContainers") return RestartAction::kRestartAll;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace corehold
