// SPDX-License-Identifier: Apache-2.0
//
// Which container is meant, for everybody who has no pod at hand.
#pragma once

#include <compare>
#include <string>

namespace corehold {

// A container by the UID of its pod and its name.
struct ContainerRef {
  std::string pod;
  std::string container;

  auto operator<=>(const ContainerRef&) const = default;
};

}  // namespace corehold
