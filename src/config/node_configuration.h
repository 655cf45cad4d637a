// SPDX-License-Identifier: Apache-2.0
//
// What a configuration says that decides which features a node declares.
#pragma once

#include "config/config.h"
#include "features/registry/feature.h"

namespace corehold {

// All gates, those that Corehold does not know too, and the CPU manager's policy. Neither
// version nor runtime features are in a configuration.
NodeConfiguration node_configuration(const Config& config);

// The same for a kubelet, whose defaults are its version's: only the gates that the
// configuration names.
NodeConfiguration kubelet_configuration(const Config& config);

}  // namespace corehold
