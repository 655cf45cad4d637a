// SPDX-License-Identifier: Apache-2.0
#include "manager/record.h"

#include <algorithm>
#include <utility>

namespace corehold {

Pod wanted_pod(Pod granted, const std::optional<ResizeWish>& wish) {
  if (!wish) return granted;
  if (const auto wished = wish->resources.find(""); wished != wish->resources.end()) {
    granted.resources = wished->second;
  }
  for (auto* containers : {&granted.init_containers, &granted.containers}) {
    for (Container& container : *containers) {
      const auto wished = wish->resources.find(container.name);
      if (wished != wish->resources.end()) container.resources = wished->second;
    }
  }
  return granted;
}

std::map<std::string, Resources> changes(const Pod& from, const Pod& to) {
  std::map<std::string, Resources> changed;
  if (from.resources != to.resources) changed[""] = to.resources.value_or(Resources{});
  for (const Container* container : in_starting_order(to)) {
    const Container* before = from.find(container->name);
    CHECK(before != nullptr);
    if (before->resources != container->resources) changed[container->name] = container->resources;
  }
  return changed;
}

void copy_resources(const Pod& from, Pod& to) {
  for (auto* containers : {&to.init_containers, &to.containers}) {
    for (Container& container : *containers) {
      const Container* source = from.find(container.name);
      CHECK(source != nullptr);
      container.resources = source->resources;
    }
  }
  to.resources = from.resources;
}

bool is_resizing(const PodRecord& record) {
  return std::any_of(record.containers.begin(), record.containers.end(),
                     [](const auto& entry) { return entry.second.actual.has_value(); });
}

}  // namespace corehold
