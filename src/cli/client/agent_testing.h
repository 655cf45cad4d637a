// SPDX-License-Identifier: Apache-2.0
//
// An agent that says what a test tells it to, on a real socket and in a process of its own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "sys/http/http_server.h"

namespace corehold {

class FakeAgent {
 public:
  // Called in the agent's own process for every request.
  using Handler = std::function<void(const HttpExchangePtr&)>;

  explicit FakeAgent(const Handler& handler);
  ~FakeAgent();
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  // "--root DIR", for a command line.
  std::string option() const { return "--root " + directory_; }
  // Has a file `pid` with the agent's.
  const std::string& directory() const { return directory_; }
  // What has been asked, a line each: "GET /api/v1/pods" and the body, if there is one.
  std::string requests() const;

 private:
  std::string directory_;
  pid_t pid_ = 0;
};

// For handlers: an answer of JSON.
void answer_with(const HttpExchangePtr& exchange, int status, std::string body);

}  // namespace corehold
