// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_validation.h"

#include <algorithm>
#include <limits>

#include <boost/json/array.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/json/json_look.h"
#include "api/object/label_rules.h"
#include "api/object/object_rules.h"
#include "api/pod/pod_resources.h"
#include "api/pod/pod_validation_parts.h"
#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();

void check_words(const json::object& spec, const ErrorPath& path, FieldErrors& errors) {
  const std::string_view restart = look_text(spec, {"restartPolicy"});
  if (restart != "Always" && restart != "OnFailure" && restart != "Never")
    errors.not_supported(path / "restartPolicy", restart, {"Always", "OnFailure", "Never"});
  const std::string_view dns = look_text(spec, {"dnsPolicy"});
  if (dns != "ClusterFirst" && dns != "ClusterFirstWithHostNet" && dns != "Default" &&
      dns != "None") {
    errors.not_supported(path / "dnsPolicy", dns,
                         {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"});
  }
  if (dns == "None" && look_array(spec, {"dnsConfig", "nameservers"}).empty()) {
    errors.required(path / "dnsConfig" / "nameservers",
                    "must provide at least one DNS nameserver when `dnsPolicy` is None");
  }
}

void check_ids(const json::object& spec, const ErrorPath& path, FieldErrors& errors) {
  const json::object* security = look_object(spec, {"securityContext"});
  if (security == nullptr) return;
  for (const std::string_view id : {"fsGroup", "runAsUser", "runAsGroup"}) {
    const std::int64_t number = look_number(*security, {id});
    if (number < 0 || number > kMostInt32)
      errors.invalid(path / "securityContext" / id, number,
                     "must be between 0 and 2147483647, inclusive");
  }
}

void check_names(const json::object& spec, const ErrorPath& path, FieldErrors& errors) {
  for (const std::string_view field : {"serviceAccountName", "nodeName"}) {
    const std::string_view name = look_text(spec, {field});
    if (!name.empty()) errors.add_all(path / field, name, dns_subdomain_problems(name));
  }
  if (const json::value* deadline = look(spec, {"activeDeadlineSeconds"})) {
    if (deadline->get_int64() < 1 || deadline->get_int64() > kMostInt32) {
      errors.invalid(path / "activeDeadlineSeconds", deadline->get_int64(),
                     "must be between 1 and 2147483647, inclusive");
    }
  }
  for (const std::string_view field : {"hostname", "subdomain"}) {
    const std::string_view name = look_text(spec, {field});
    if (!name.empty()) errors.add_all(path / field, name, dns_label_problems(name));
  }
}

void check_toleration_value(const json::object& toleration, const ErrorPath& path,
                            FieldErrors& errors) {
  const std::string_view word = look_text(toleration, {"operator"});
  const std::string_view value = look_text(toleration, {"value"});
  if (word.empty() || word == "Equal") {
    const std::vector<std::string> problems = label_value_problems(value);
    if (!problems.empty())
      errors.invalid(path / "operator", value, fmt::format("{}", fmt::join(problems, ";")));
  } else if (word == "Exists") {
    if (!value.empty())
      errors.invalid(path / "operator", value, "value must be empty when `operator` is 'Exists'");
  } else {
    errors.not_supported(path / "operator", word, {"Equal", "Exists"});
  }
}

void check_tolerations(const json::object& spec, const ErrorPath& path, FieldErrors& errors) {
  const json::array& tolerations = look_array(spec, {"tolerations"});
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const json::object& toleration = as_object_or_empty(tolerations[i]);
    const ErrorPath at = path / "tolerations" / i;
    const std::string_view key = look_text(toleration, {"key"});
    const std::string_view word = look_text(toleration, {"operator"});
    const std::string_view effect = look_text(toleration, {"effect"});
    if (!key.empty()) errors.add_all(at / "key", key, label_key_problems(key));
    if (key.empty() && word != "Exists") {
      errors.invalid(at / "operator", word,
                     "operator must be Exists when `key` is empty, which means \"match all values "
                     "and all keys\"");
    }
    if (look(toleration, {"tolerationSeconds"}) != nullptr && effect != "NoExecute") {
      errors.invalid(at / "effect", effect,
                     "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
    check_toleration_value(toleration, at, errors);
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" &&
        effect != "NoExecute") {
      errors.not_supported(at / "effect", effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    }
  }
}

void check_rest(const json::object& spec, const ErrorPath& path, FieldErrors& errors) {
  const std::string_view priority = look_text(spec, {"priorityClassName"});
  if (!priority.empty())
    errors.add_all(path / "priorityClassName", priority, dns_subdomain_problems(priority));
  if (look(spec, {"runtimeClassName"}) != nullptr) {
    const std::string_view name = look_text(spec, {"runtimeClassName"});
    errors.add_all(path / "runtimeClassName", name, dns_subdomain_problems(name));
  }
  const std::string_view preemption = look_text(spec, {"preemptionPolicy"});
  if (preemption != "PreemptLowerPriority" && preemption != "Never")
    errors.not_supported(path / "preemptionPolicy", preemption, {"PreemptLowerPriority", "Never"});
  check_overhead(spec, errors);
  if (look_object(spec, {"os"}) == nullptr) return;
  const std::string_view os = look_text(spec, {"os", "name"});
  if (os.empty()) {
    errors.required(path / "os" / "name");
  } else if (os != "linux" && os != "windows") {
    errors.not_supported(path / "os" / "name", os, {"linux", "windows"});
  }
}

void warn_fractions(const json::object& owner, const ErrorPath& path,
                    std::vector<std::string>& warnings) {
  for (const std::string_view list : {"limits", "requests"}) {
    for (const auto& [resource, amount] : amounts_of(owner, list)) {
      const bool is_bytes = resource == kMemory || resource == "ephemeral-storage";
      if (!is_bytes || amount.is_integral_cpu()) continue;
      warnings.push_back(fmt::format("{}: fractional byte value {} is invalid, must be an integer",
                                     (path / "resources" / list).key(resource).str(),
                                     go_quoted(amount.str())));
    }
  }
}

void warn_hidden_variables(const json::object& container, const ErrorPath& path,
                           std::vector<std::string>& warnings) {
  const json::array& variables = look_array(container, {"env"});
  NameSet names;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string_view name = look_text(as_object_or_empty(variables[i]), {"name"});
    if (names.emplace(name).second) continue;
    warnings.push_back(
        fmt::format("{}: hides previous definition of {}, which may be dropped when using apply",
                    (path / "env" / i).str(), go_quoted(name)));
  }
}

}  // namespace

void check_pod(const json::object& pod, const PodRules& rules, FieldErrors& errors) {
  check_metadata(look_object_or_empty(pod, {"metadata"}), errors);
  const json::object& spec = look_object_or_empty(pod, {"spec"});
  const ErrorPath path("spec");
  const NameSet volumes = check_volumes(spec, rules, errors);
  check_containers(spec, volumes, rules, errors);
  check_pod_resources(spec, errors);
  check_words(spec, path, errors);
  if (const json::object* selector = look_object(spec, {"nodeSelector"}))
    check_labels(*selector, path / "nodeSelector", errors);
  check_ids(spec, path, errors);
  check_names(spec, path, errors);
  check_tolerations(spec, path, errors);
  check_rest(spec, path, errors);
}

std::vector<std::string> pod_warnings(const json::object& pod) {
  std::vector<std::string> warnings;
  const json::object* spec = look_object(pod, {"spec"});
  if (spec == nullptr) return warnings;
  if (look_number(*spec, {"terminationGracePeriodSeconds"}) < 0) {
    warnings.emplace_back(
        "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be "
        "treated as 1");
  }
  warn_fractions(*spec, ErrorPath("spec"), warnings);
  for (const std::string_view list : {"initContainers", "containers"}) {
    const json::array& containers = look_array(*spec, {list});
    for (std::size_t i = 0; i < containers.size() && warnings.size() < FieldErrors::kMost; ++i) {
      const json::object& container = as_object_or_empty(containers[i]);
      const ErrorPath path = ErrorPath("spec") / list / i;
      warn_fractions(container, path, warnings);
      warn_hidden_variables(container, path, warnings);
    }
  }
  return warnings;
}

}  // namespace corehold
