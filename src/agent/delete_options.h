// SPDX-License-Identifier: Apache-2.0
//
// What a DELETE says beside which object: in its query, or in a body of kind DeleteOptions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "agent/http_target.h"
#include "api/api_result.h"
#include "api/object_version.h"
#include "sys/http_server.h"

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

// Fails with 409 where the object is not the one that is meant. `kind` is its kind ("Pod").
ApiResult<bool> check_preconditions(const DeleteOptions& options, std::string_view kind,
                                    const ObjectVersion& object, const std::string& uid);

}  // namespace corehold
