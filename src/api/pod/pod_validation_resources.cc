// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/object/label_rules.h"
#include "api/pod/pod_resources.h"
#include "api/pod/pod_validation_parts.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr auto kStandardResources = std::to_array<std::string_view>({"configmaps",
                                                                     "cpu",
                                                                     "ephemeral-storage",
                                                                     "limits.cpu",
                                                                     "limits.ephemeral-storage",
                                                                     "limits.memory",
                                                                     "memory",
                                                                     "persistentvolumeclaims",
                                                                     "pods",
                                                                     "replicationcontrollers",
                                                                     "requests.cpu",
                                                                     "requests.ephemeral-storage",
                                                                     "requests.memory",
                                                                     "requests.storage",
                                                                     "resourcequotas",
                                                                     "secrets",
                                                                     "services",
                                                                     "services.loadbalancers",
                                                                     "services.nodeports",
                                                                     "storage"});

bool is_standard(std::string_view resource) {
  return is_hugepages(resource) || resource.starts_with("requests.hugepages-") ||
         std::find(kStandardResources.begin(), kStandardResources.end(), resource) !=
             kStandardResources.end();
}

bool is_for_containers(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         is_hugepages(resource);
}

bool is_native(std::string_view resource) {
  return resource.find('/') == std::string_view::npos ||
         resource.find("kubernetes.io/") != std::string_view::npos;
}

bool is_extended(std::string_view resource) {
  return !is_native(resource) && !resource.starts_with("requests.") &&
         label_key_problems(fmt::format("requests.{}", resource)).empty();
}

// Of these a pod may use more than it has asked for.
bool may_overcommit(std::string_view resource) {
  return is_native(resource) && !is_hugepages(resource);
}

void check_name(std::string_view resource, const ErrorPath& path, FieldErrors& errors) {
  const std::vector<std::string> problems = label_key_problems(resource);
  if (!problems.empty()) return errors.add_all(path, resource, problems);
  const bool has_domain = resource.find('/') != std::string_view::npos;
  if (!has_domain && !is_standard(resource))
    errors.invalid(path, resource, "must be a standard resource type or fully qualified");
  if (!has_domain && !is_for_containers(resource)) {
    errors.invalid(path, resource, "must be a standard resource for containers");
  } else if (has_domain && !is_native(resource) && !is_extended(resource)) {
    errors.invalid(path, resource, "doesn't follow extended resource name standard");
  }
}

void check_amount(std::string_view resource, const Quantity& amount, const ErrorPath& path,
                  FieldErrors& errors) {
  if (amount.sign() < 0) {
    errors.invalid(path, amount.str(), "must be greater than or equal to 0");
  }
  const bool is_counted = resource.find('/') != std::string_view::npos || resource == "pods";
  if (is_counted && amount.milli_value() % 1000 != 0)
    errors.invalid(path, amount.str(), "must be an integer");
}

void check_hugepage_amount(std::string_view resource, const Quantity& amount, const ErrorPath& path,
                           FieldErrors& errors) {
  constexpr std::string_view kPrefix = "hugepages-";
  const auto size = Quantity::parse(resource.substr(kPrefix.size()));
  if (!size || size->value() <= 0) {
    errors.invalid(path, resource, "must be a valid page size");
  } else if (amount.value() % size->value() != 0) {
    errors.invalid(path, amount.str(),
                   fmt::format("must be a multiple of page size {}", size->str()));
  }
}

// A request against the limit of the same resource.
void check_against_limit(std::string_view resource, const Quantity& request,
                         const ResourceList& limits, const ErrorPath& path, FieldErrors& errors) {
  const auto limit = limits.find(resource);
  if (limit == limits.end()) {
    if (!may_overcommit(resource)) {
      errors.required(path / "limits", "Limit must be set for non overcommitable resources");
    }
    return;
  }
  if (request != limit->second && !may_overcommit(resource)) {
    errors.invalid(path / "requests", request.str(),
                   fmt::format("must be equal to {} limit of {}", resource, limit->second.str()));
  } else if (request > limit->second) {
    errors.invalid(
        path / "requests", request.str(),
        fmt::format("must be less than or equal to {} limit of {}", resource, limit->second.str()));
  }
}

enum class Owner { kContainer, kPod };

void check_resources(const json::object& owner, const ErrorPath& path, Owner kind,
                     FieldErrors& errors) {
  const ResourceList limits = amounts_of(owner, "limits");
  const ResourceList requests = amounts_of(owner, "requests");
  bool has_hugepages = false;
  bool has_cpu_or_memory = false;
  for (const ResourceList* list : {&limits, &requests}) {
    const ErrorPath in = path / (list == &limits ? "limits" : "requests");
    for (const auto& [resource, amount] : *list) {
      const ErrorPath at = in.key(resource);
      if (kind == Owner::kContainer) {
        check_name(resource, at, errors);
      } else if (!is_pod_level_resource(resource)) {
        errors.not_supported(at, resource, {"cpu", "hugepages-", "memory"});
        continue;
      }
      check_amount(resource, amount, at, errors);
      if (list == &requests) check_against_limit(resource, amount, limits, path, errors);
      if (is_hugepages(resource)) {
        has_hugepages = true;
        check_hugepage_amount(resource, amount, at, errors);
      }
      if (resource == kCpu || resource == kMemory) has_cpu_or_memory = true;
    }
  }
  if (has_hugepages && !has_cpu_or_memory)
    errors.forbidden(path, "HugePages require cpu or memory");
}

}  // namespace

void check_container_resources(const json::object& container, const ErrorPath& path,
                               FieldErrors& errors) {
  check_resources(container, path, Owner::kContainer, errors);
}

void check_pod_resources(const json::object& spec, FieldErrors& errors) {
  if (look_object(spec, {"resources"}) == nullptr) return;
  const ErrorPath path = ErrorPath("spec") / "resources";
  if (!look_array(spec, {"resources", "claims"}).empty())
    errors.forbidden(path / "claims", "claims may not be set for Resources at pod-level");
  check_resources(spec, path, Owner::kPod, errors);
  const ResourceList limits = amounts_of(spec, "limits");
  const ResourceList requests = amounts_of(spec, "requests");
  for (const auto& [resource, together] : requested_together(spec)) {
    const auto request = requests.find(resource);
    if (request == requests.end() || together <= request->second) continue;
    errors.invalid((path / "requests").key(resource), request->second.str(),
                   fmt::format("must be greater than or equal to aggregate container requests of "
                               "{}",
                               together.str()));
  }
  const json::array& containers = look_array(spec, {"containers"});
  for (std::size_t i = 0; i < containers.size(); ++i) {
    for (const auto& [resource, limit] : amounts_of(as_object_or_empty(containers[i]), "limits")) {
      const auto most = limits.find(resource);
      if (most == limits.end() || limit <= most->second) continue;
      errors.invalid(
          (path / "containers" / i).key(resource) / "limits", limit.str(),
          fmt::format("must be less than or equal to pod limits of {}", most->second.str()));
    }
  }
}

void check_overhead(const json::object& spec, FieldErrors& errors) {
  const json::object* overhead = look_object(spec, {"overhead"});
  if (overhead == nullptr) return;
  const json::object as_limits{{"resources", json::object{{"limits", *overhead}}}};
  for (const auto& [resource, amount] : amounts_of(as_limits, "limits")) {
    const ErrorPath at = (ErrorPath("spec") / "overhead" / "limits").key(resource);
    check_name(resource, at, errors);
    check_amount(resource, amount, at, errors);
  }
}

}  // namespace corehold
