// SPDX-License-Identifier: Apache-2.0
//
// Answers of the API: JSON, and failures as Status objects.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "api/status.h"
#include "sys/http/http_server.h"

namespace corehold {

HttpResponse response_of(int status, const boost::json::object& object);
HttpResponse response_of(const ApiStatus& status);

void answer_json(HttpExchange& exchange, int status, const boost::json::object& object);
void answer_status(HttpExchange& exchange, const ApiStatus& status);
void answer_error(HttpExchange& exchange, StatusReason reason, const Error& error);

// What is answered to a request that is no HTTP, too large or one too many.
HttpResponse complaint_of(int http, const std::string& message);

}  // namespace corehold
