// SPDX-License-Identifier: Apache-2.0
//
// The path of a request below /api/v1 taken apart: which resource, which object of it and
// which part of that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/serve/resource.h"

namespace corehold {

struct ResourcePath {
  Resource resource{};
  std::string namespace_name{};  // "": none, or all
  std::string name{};            // "": all of them
  std::string subresource{};     // "": the object itself
};

// `path` has all segments: {"api", "v1", "namespaces", "default", "pods"}. No value: no resource
// that is served has such a path.
std::optional<ResourcePath> resource_path(const std::vector<std::string>& path);

}  // namespace corehold
