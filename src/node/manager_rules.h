// SPDX-License-Identifier: Apache-2.0
//
// From a node's setup and configuration to the rules that its manager works under.
#pragma once

#include "config/config.h"
#include "manager/step.h"
#include "node/node_setup.h"

namespace corehold {

// `setup` must outlive the rules.
ManagerRules manager_rules(const NodeSetup& setup, const Config& config);

}  // namespace corehold
