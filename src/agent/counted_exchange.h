// SPDX-License-Identifier: Apache-2.0
//
// An exchange whose answer is counted: which verb, which resource, which code.
#pragma once

#include "agent/http_target.h"
#include "agent/metrics.h"
#include "sys/http_server.h"

namespace corehold {

// The same exchange for whoever answers it. `metrics` must outlive it.
HttpExchangePtr counted(HttpExchangePtr exchange, const HttpTarget& target, Metrics& metrics);

}  // namespace corehold
