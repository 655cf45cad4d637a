// SPDX-License-Identifier: Apache-2.0
//
// Answers about the API itself: discovery in both forms, OpenAPI, the version.
#pragma once

#include <string>
#include <vector>

#include "api/discovery.h"
#include "sys/http_server.h"

namespace corehold {

// Whether a path is about the API rather than about anything in it.
bool is_discovery(const std::vector<std::string>& path);

// To a GET of such a path.
HttpResponse discovery_answer(const std::vector<std::string>& path, const HttpRequest& request,
                              const ServerVersion& version);

}  // namespace corehold
