// SPDX-License-Identifier: Apache-2.0
//
// Failures as the Kubernetes API tells them: an HTTP code and a Status object with a
// reason for programs and a message for people. One table joins reasons, HTTP codes and
// the Codes of our own errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

namespace corehold {

enum class StatusReason {
  kBadRequest,        // 400: the request cannot be understood
  kUnauthorized,      // 401: nobody knows who asks
  kForbidden,         // 403: not by this caller
  kNotFound,          // 404
  kMethodNotAllowed,  // 405
  kNotAcceptable,     // 406: no form of the answer that the client would take
  kAlreadyExists,     // 409: the name is taken
  kConflict,          // 409: what is there contradicts what was asked
  kExhausted,         // 409: too little is free now; ours, Kubernetes has no such reason
  kExpired,           // 410: too long ago for what is still remembered
  kTooLarge,          // 413: RequestEntityTooLarge
  kUnsupportedMedia,  // 415: UnsupportedMediaType
  kInvalid,           // 422: understood, and wrong
  kHeaderTooLarge,    // 431: ours, Kubernetes has no such reason
  kInternal,          // 500: InternalError
  kUnavailable,       // 503: ServiceUnavailable, not ready yet or going away
  kTimeout,           // 504: what the request waits for has not come
  kNone,              // 500: a failure that Kubernetes gives no reason for
};

// One of several things that were wrong, for a program.
struct StatusCause {
  std::string reason{};   // "FieldValueInvalid", "FieldManagerConflict", ...
  std::string message{};  // for people
  std::string field{};    // "spec.containers[0].name"

  bool operator==(const StatusCause&) const = default;
};

struct ApiStatus {
  StatusReason reason = StatusReason::kInternal;
  std::string message{};
  std::string kind{};   // what it is about: "pods"; may be empty
  std::string name{};   // of it; may be empty
  std::string group{};  // of the kind; may be empty
  std::vector<StatusCause> causes{};
  // Whether there are details even if nothing is in them. Kubernetes writes such for failures
  // it knows nothing more about, and programs may look at what is there.
  bool has_details = false;
  int retry_after = 0;           // seconds; 0: not said
  std::string continue_token{};  // to go on with a list nevertheless; may be empty

  bool operator==(const ApiStatus&) const = default;
};

// "NotFound", "InternalError", ...
std::string_view name_of(StatusReason reason);
int http_code(StatusReason reason);
inline int http_code(const ApiStatus& status) { return http_code(status.reason); }

// `pods "x" is forbidden: ` and why.
ApiStatus forbidden(std::string_view kind, std::string_view name, std::string_view why);

StatusReason reason_of(Code code);
ApiStatus status_of(const Error& error);
// Its code is one that reason_of() gives the same reason for, or the nearest.
Error error_of(const ApiStatus& status);

boost::json::object to_json(const ApiStatus& status);

// Whether `value` is of kind Status at all.
bool is_status(const boost::json::value& value);
// Any Failure; an unknown reason is taken by its HTTP code, 4xx for kBadRequest and the rest
// for kInternal. Fails with kInvalid for what is not a Status of a failure.
Result<ApiStatus> status_from_json(const boost::json::value& value);

}  // namespace corehold
