// SPDX-License-Identifier: Apache-2.0
//
// How an HTTP client reaches its server, in the time it has. Only http_client.cc uses this.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "sys/descriptor.h"
#include "sys/http/http_client.h"
#include "sys/socket/channel.h"
#include "sys/socket/tls.h"

namespace corehold {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// A connection, with TLS's handshake behind it if there is one.
struct HttpLine {
  Descriptor socket{-1};
  std::unique_ptr<Channel> channel{};
};

Result<HttpLine> connect(const HttpEndpoint& endpoint, Deadline until);

// Waits for what a channel asks for (kWaitToRead or kWaitToWrite); false: until the deadline,
// in vain.
bool wait_for(const HttpLine& line, Channel::Outcome wish, Deadline until);

// kIo: the agent does not answer.
Error no_answer(const std::string& place);

}  // namespace corehold
