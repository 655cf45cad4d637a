// SPDX-License-Identifier: Apache-2.0
//
// A host and a port as people write them: "127.0.0.1:10270", "[::1]:10270", "node:80".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

struct SocketAddress {
  std::string host{};  // without brackets
  std::uint16_t port = 0;

  bool operator==(const SocketAddress&) const = default;
};

// Fails with kInvalid. The host may be any word; the port must be there.
Result<SocketAddress> parse_socket_address(std::string_view text);

// An IPv6 address in brackets.
std::string to_text(const SocketAddress& address);

}  // namespace corehold
