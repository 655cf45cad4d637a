// SPDX-License-Identifier: Apache-2.0
//
// Bytes into a parser of Beast, which throws for one kind of bad bytes and reports all others: a
// field, in a trailer too, whose name or value is longer than Beast can hold. Here that is
// reported as well.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/system/error_code.hpp>

namespace corehold {

// How many of the bytes the parser has used. A field that is too long is header_limit.
template <typename Parser>
std::size_t parse_some(Parser& parser, std::string_view text, boost::system::error_code& error) {
  try {
    return parser.put(boost::asio::buffer(text.data(), text.size()), error);
  } catch (const std::length_error&) {
    error = boost::beast::http::error::header_limit;
    return 0;
  }
}

}  // namespace corehold
