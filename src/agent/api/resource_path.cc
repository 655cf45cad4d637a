// SPDX-License-Identifier: Apache-2.0
#include "agent/api/resource_path.h"

#include <algorithm>
#include <span>

namespace corehold {

std::optional<ResourcePath> resource_path(const std::vector<std::string>& path) {
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1") return std::nullopt;
  std::span<const std::string> rest(path.begin() + 2, path.end());
  ResourcePath found;
  // "namespaces/NAME" alone is the namespace; before something else it is where that is.
  const bool is_within = rest[0] == "namespaces" && rest.size() > 2;
  if (is_within) {
    found.namespace_name = rest[1];
    rest = rest.subspan(2);
  }
  const auto resource = resource_named(rest[0]);
  if (!resource) return std::nullopt;
  found.resource = *resource;
  const ResourceInfo& info = info_of(*resource);
  if (is_within != (info.namespaced && (is_within || rest.size() > 1))) return std::nullopt;
  if (rest.size() > 1) found.name = rest[1];
  if (rest.size() > 2) {
    found.subresource = rest[2];
    const bool is_served =
        std::any_of(info.subresources.begin(), info.subresources.end(),
                    [&](const SubresourceInfo& part) { return part.name == found.subresource; });
    if (!is_served) return std::nullopt;
  }
  if (rest.size() > 3) return std::nullopt;
  return found;
}

}  // namespace corehold
