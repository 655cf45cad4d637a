// SPDX-License-Identifier: Apache-2.0
//
// The options of a DELETE, from its query or from a body of kind DeleteOptions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "api/api_result.h"
#include "api/serve/object_version.h"
#include "serve/http_target.h"
#include "sys/http/http_server.h"

namespace corehold {

struct DeleteOptions {
  std::optional<std::chrono::seconds> grace{};
  // Must be the object's; "": any.
  std::string uid{};
  std::string version{};
  bool is_try = false;
};

// Fails with 400.
ApiResult<DeleteOptions> delete_options(const HttpRequest& request, const HttpTarget& target);

// Fails with 409 where the object has another UID or version than the preconditions ask for.
// `kind` is the object's kind ("Pod").
ApiResult<bool> check_preconditions(const DeleteOptions& options, std::string_view kind,
                                    const ObjectVersion& object, const std::string& uid);

}  // namespace corehold
