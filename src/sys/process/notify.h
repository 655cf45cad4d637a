// SPDX-License-Identifier: Apache-2.0
//
// What the service manager is told (sd_notify). Without one, nothing happens.
#pragma once

#include <string>

#include "base/result.h"

namespace corehold {

void notify_ready(const std::string& status);
void notify_stopping();

// The one listening socket that the service manager has handed over (socket activation).
// Fails with kNotFound when there is none, and with kInvalid when there are several.
Result<int> activation_socket();

}  // namespace corehold
