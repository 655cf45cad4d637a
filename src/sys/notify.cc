// SPDX-License-Identifier: Apache-2.0
#include "sys/notify.h"

#include <systemd/sd-daemon.h>

#include <fmt/format.h>

namespace corehold {

// Whether anybody listens is not our business: a failure is none.
void notify_ready(const std::string& status) {
  ::sd_notify(0, fmt::format("READY=1\nSTATUS={}", status).c_str());
}

void notify_stopping() { ::sd_notify(0, "STOPPING=1"); }

}  // namespace corehold
