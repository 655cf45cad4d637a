// SPDX-License-Identifier: Apache-2.0
#include "sys/socket/socket_address.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace corehold {

Result<SocketAddress> parse_socket_address(std::string_view text) {
  const auto refuse = [text] {
    return Error{Code::kInvalid,
                 fmt::format("{:?} is no HOST:PORT; write it as in \"127.0.0.1:10270\" or "
                             "\"[::1]:10270\"",
                             text)};
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse();
  std::string_view host = text.substr(0, colon);
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  const bool has_colons = host.find(':') != std::string_view::npos;
  if (host.empty() || has_brackets != has_colons ||
      host.find_first_of("/[]@ ") != std::string_view::npos) {
    return refuse();
  }
  SocketAddress address{.host = std::string(host)};
  const std::string_view port = text.substr(colon + 1);
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) return refuse();
  return address;
}

std::string to_text(const SocketAddress& address) {
  const bool has_colons = address.host.find(':') != std::string::npos;
  return has_colons ? fmt::format("[{}]:{}", address.host, address.port)
                    : fmt::format("{}:{}", address.host, address.port);
}

}  // namespace corehold
