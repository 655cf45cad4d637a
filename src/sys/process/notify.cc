// SPDX-License-Identifier: Apache-2.0
#include "sys/process/notify.h"

#include <systemd/sd-daemon.h>

#include <fmt/format.h>

namespace corehold {

// Without a listener nothing is sent, which is no failure.
void notify_ready(const std::string& status) {
  ::sd_notify(0, fmt::format("READY=1\nSTATUS={}", status).c_str());
}

void notify_stopping() { ::sd_notify(0, "STOPPING=1"); }

Result<int> activation_socket() {
  const int count = ::sd_listen_fds(1);
  if (count == 1) return SD_LISTEN_FDS_START;
  if (count > 1) {
    return Error{Code::kInvalid, fmt::format("{} sockets were handed over, not one", count)};
  }
  return Error{Code::kNotFound, "no socket was handed over; a service manager starts this"};
}

}  // namespace corehold
