// SPDX-License-Identifier: Apache-2.0
#include "serve/answer.h"

#include <boost/json/serialize.hpp>

namespace corehold {

HttpResponse response_of(int status, const boost::json::object& object) {
  return {.status = status,
          .content_type = "application/json",
          .body = boost::json::serialize(object) + "\n"};
}

HttpResponse response_of(const ApiStatus& status) {
  return response_of(http_code(status), to_json(status));
}

void answer_json(HttpExchange& exchange, int status, const boost::json::object& object) {
  exchange.answer(response_of(status, object));
}

void answer_status(HttpExchange& exchange, const ApiStatus& status) {
  exchange.answer(response_of(status));
}

void answer_error(HttpExchange& exchange, StatusReason reason, const Error& error) {
  answer_status(exchange, {.reason = reason, .message = error.message});
}

HttpResponse complaint_of(int http, const std::string& message) {
  const StatusReason reason = http == 401   ? StatusReason::kUnauthorized
                              : http == 413 ? StatusReason::kTooLarge
                              : http == 431 ? StatusReason::kHeaderTooLarge
                              : http == 503 ? StatusReason::kUnavailable
                                            : StatusReason::kBadRequest;
  return response_of({.reason = reason, .message = message});
}

}  // namespace corehold
