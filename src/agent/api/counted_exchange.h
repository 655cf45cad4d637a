// SPDX-License-Identifier: Apache-2.0
//
// An exchange whose answer is counted: which verb, which resource, which code.
#pragma once

#include "agent/metrics/metrics.h"
#include "serve/http_target.h"
#include "sys/http/http_server.h"

namespace corehold {

// The same exchange, whose answer is counted in `metrics`, which must outlive the exchange.
HttpExchangePtr counted(HttpExchangePtr exchange, const HttpTarget& target, Metrics& metrics);

}  // namespace corehold
