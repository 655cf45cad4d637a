// SPDX-License-Identifier: Apache-2.0
//
// What a request for a log says in its query, with the refusals of a Kubernetes API server.
#pragma once

#include <chrono>
#include <string>

#include "api/api_result.h"
#include "runtime/monitor/log_file.h"
#include "serve/http_target.h"

namespace corehold {

struct LogOptions {
  LogQuery query{};
  bool previous = false;
  bool follow = false;
};

// tailLines, limitBytes, sinceSeconds, sinceTime, stream, timestamps, previous and follow; `now` is
// what sinceSeconds counts from. Fails with 400 for what is no number, flag or time, and 422 for
// values that the API does not have.
ApiResult<LogOptions> log_options(const HttpTarget& target, const std::string& pod,
                                  std::chrono::milliseconds now);

}  // namespace corehold
