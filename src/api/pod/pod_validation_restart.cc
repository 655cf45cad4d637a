// SPDX-License-Identifier: Apache-2.0
#include "api/json/json_look.h"
#include "api/pod/pod_validation_parts.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostRules = 20;
constexpr std::size_t kMostCodes = 255;

void check_rule(const json::object& rule, const ErrorPath& path, FieldErrors& errors) {
  const std::string_view action = look_text(rule, {"action"});
  if (action != "Restart" && action != "RestartAllContainers") {
    errors.not_supported(path / "action", action, {"Restart", "RestartAllContainers"});
  }
  const json::object* codes = look_object(rule, {"exitCodes"});
  if (codes == nullptr) {
    errors.required(path / "exitCodes", "must be specified");
    return;
  }
  const std::string_view relation = look_text(*codes, {"operator"});
  if (relation != "In" && relation != "NotIn") {
    errors.not_supported(path / "exitCodes" / "operator", relation, {"In", "NotIn"});
  }
  const std::size_t count = look_array(*codes, {"values"}).size();
  if (count > kMostCodes) errors.too_many(path / "exitCodes" / "values", count, kMostCodes);
}

}  // namespace

void check_restart_policy(const json::object& container, const ErrorPath& path,
                          FieldErrors& errors) {
  const json::array& rules = look_array(container, {"restartPolicyRules"});
  if (look(container, {"restartPolicy"}) == nullptr) {
    if (!rules.empty()) {
      errors.required(path / "restartPolicy",
                      "must specify restartPolicy when restart rules are used");
    }
  } else {
    const std::string_view policy = look_text(container, {"restartPolicy"});
    if (policy != "Always" && policy != "Never" && policy != "OnFailure")
      errors.not_supported(path / "restartPolicy", policy, {"Always", "Never", "OnFailure"});
  }
  const ErrorPath list = path / "restartPolicyRules";
  if (rules.size() > kMostRules) errors.too_many(list, rules.size(), kMostRules);
  for (std::size_t i = 0; i < rules.size() && !errors.full(); ++i) {
    check_rule(as_object_or_empty(rules[i]), list / i, errors);
  }
}

}  // namespace corehold
