// SPDX-License-Identifier: Apache-2.0
#include "pod/pod.h"

#include <algorithm>
#include <set>

#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace corehold {
namespace {

// Longer than any process lives; sums of times stay far from the end of 64 bits.
constexpr std::int64_t kMostGrace = std::int64_t{1} << 32;

Quantity amount_in(const ResourceList& list, std::string_view resource) {
  const auto found = list.find(resource);
  return found == list.end() ? Quantity() : found->second;
}

void default_requests(Resources& resources) {
  for (const auto& [resource, limit] : resources.limits) {
    resources.requests.try_emplace(resource, limit);
  }
}

// Collects the mistakes of one pod; paths are those of the Kubernetes API.
class Checker {
 public:
  std::vector<std::string> take() { return std::move(found_); }

  void add(std::string_view path, std::string_view problem) {
    found_.push_back(fmt::format("{}: {}", path, problem));
  }

  void check_list(const std::string& path, const ResourceList& list) {
    for (const auto& [resource, amount] : list) {
      const std::string field = fmt::format("{}.{}", path, resource);
      if (amount.sign() < 0) {
        add(field, fmt::format("{} is negative; must be 0 or more", amount.str()));
      } else if (resource == kCpu && !amount.scaled(-3)) {
        add(field, fmt::format("{} CPUs do not fit 64 bits", shortened(amount.str())));
      }
    }
  }

  void check_resources(const std::string& path, const Resources& resources) {
    check_list(path + ".limits", resources.limits);
    check_list(path + ".requests", resources.requests);
    for (const auto& [resource, request] : resources.requests) {
      const auto limit = resources.limits.find(resource);
      if (limit == resources.limits.end() || request <= limit->second) continue;
      add(fmt::format("{}.requests.{}", path, resource),
          fmt::format("{} is more than the limit of {}", shortened(request.str()),
                      shortened(limit->second.str())));
    }
  }

  void check_containers(const std::string& path, const std::vector<Container>& containers) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const Container& container = containers[i];
      const std::string field = fmt::format("{}[{}]", path, i);
      if (container.name.empty()) {
        add(field + ".name", "required");
      } else if (!names_.insert(container.name).second) {
        add(field + ".name", fmt::format("duplicate container name {:?}", container.name));
      }
      check_resources(field + ".resources", container.resources);
    }
  }

 private:
  static std::string shortened(std::string text) {
    constexpr std::size_t kShown = 64;
    if (text.size() <= kShown) return text;
    return fmt::format("{}... ({} characters)", text.substr(0, kShown), text.size());
  }

  std::vector<std::string> found_{};
  std::set<std::string> names_{};
};

}  // namespace

Quantity Container::request(std::string_view resource) const {
  return amount_in(resources.requests, resource);
}

Quantity Container::limit(std::string_view resource) const {
  return amount_in(resources.limits, resource);
}

const Container* Pod::find(std::string_view container) const {
  for (const auto* list : {&init_containers, &containers}) {
    for (const Container& candidate : *list) {
      if (candidate.name == container) return &candidate;
    }
  }
  return nullptr;
}

std::vector<const Container*> in_starting_order(const Pod& pod) {
  std::vector<const Container*> containers;
  containers.reserve(pod.init_containers.size() + pod.containers.size());
  for (const auto* list : {&pod.init_containers, &pod.containers}) {
    for (const Container& container : *list) containers.push_back(&container);
  }
  return containers;
}

std::string display_name(const Pod& pod) {
  return fmt::format("{}/{}", pod.namespace_name.empty() ? "default" : pod.namespace_name,
                     pod.name);
}

std::chrono::seconds termination_grace(const Pod& pod) {
  constexpr std::chrono::seconds kDefault{30};
  const boost::json::value* spec = pod.raw->if_contains("spec");
  if (spec == nullptr || !spec->is_object()) return kDefault;
  const boost::json::value* grace = spec->as_object().if_contains("terminationGracePeriodSeconds");
  if (grace == nullptr || !grace->is_int64() || grace->as_int64() < 0) return kDefault;
  return std::min(std::chrono::seconds(grace->as_int64()), std::chrono::seconds(kMostGrace));
}

void set_defaults(Pod& pod) {
  if (pod.namespace_name.empty()) pod.namespace_name = "default";
  if (pod.restart_policy.empty()) pod.restart_policy = "Always";
  for (auto* list : {&pod.init_containers, &pod.containers}) {
    for (Container& container : *list) default_requests(container.resources);
  }
  if (pod.resources) default_requests(*pod.resources);
}

std::vector<std::string> mistakes(const Pod& pod) {
  Checker checker;
  if (pod.name.empty()) checker.add("metadata.name", "required");
  checker.check_containers("spec.initContainers", pod.init_containers);
  if (pod.containers.empty()) checker.add("spec.containers", "a pod needs at least one container");
  checker.check_containers("spec.containers", pod.containers);
  if (pod.resources) checker.check_resources("spec.resources", *pod.resources);
  return checker.take();
}

Result<void> validate(const Pod& pod) {
  const std::vector<std::string> found = mistakes(pod);
  if (found.empty()) return {};
  return Error{Code::kInvalid,
               fmt::format("pod {}: {}", display_name(pod), fmt::join(found, "; "))};
}

}  // namespace corehold
