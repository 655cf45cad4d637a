// SPDX-License-Identifier: Apache-2.0
//
// Answers about the API itself: discovery in both forms, OpenAPI, the version.
#pragma once

#include <string>
#include <vector>

#include "api/serve/discovery.h"
#include "sys/http/http_server.h"

namespace corehold {

// Whether the path is one of discovery, OpenAPI or the version, not of an object.
bool is_discovery(const std::vector<std::string>& path);

// The answer to a GET of such a path.
HttpResponse discovery_answer(const std::vector<std::string>& path, const HttpRequest& request,
                              const ServerVersion& version);

}  // namespace corehold
