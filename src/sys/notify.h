// SPDX-License-Identifier: Apache-2.0
//
// What the service manager is told (sd_notify). Without one, nothing happens.
#pragma once

#include <string>

namespace corehold {

void notify_ready(const std::string& status);
void notify_stopping();

}  // namespace corehold
