// SPDX-License-Identifier: Apache-2.0
#include "pod/exact_json.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

namespace corehold {
namespace {

namespace json = boost::json;
using json::error_code;
using Part = json::string_view;

// Builds the value, and reads numbers with a fraction or an exponent again.
struct ExactHandler {
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  // Names that Boost.JSON asks for.
  // NOLINTBEGIN(readability-identifier-naming)
  static constexpr std::size_t max_object_size = kNoLimit;
  static constexpr std::size_t max_array_size = kNoLimit;
  static constexpr std::size_t max_key_size = kNoLimit;
  static constexpr std::size_t max_string_size = kNoLimit;
  // NOLINTEND(readability-identifier-naming)

  bool on_document_begin(error_code& /*unused*/) { return true; }
  bool on_document_end(error_code& /*unused*/) { return true; }
  bool on_object_begin(error_code& /*unused*/) { return true; }
  bool on_object_end(std::size_t members, error_code& /*unused*/) {
    stack.push_object(members);
    return true;
  }
  bool on_array_begin(error_code& /*unused*/) { return true; }
  bool on_array_end(std::size_t items, error_code& /*unused*/) {
    stack.push_array(items);
    return true;
  }
  bool on_key_part(Part part, std::size_t /*unused*/, error_code& /*unused*/) {
    stack.push_chars(part);
    return true;
  }
  bool on_key(Part rest, std::size_t /*unused*/, error_code& /*unused*/) {
    stack.push_key(rest);
    return true;
  }
  bool on_string_part(Part part, std::size_t /*unused*/, error_code& /*unused*/) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(Part rest, std::size_t /*unused*/, error_code& /*unused*/) {
    stack.push_string(rest);
    return true;
  }
  bool on_number_part(Part part, error_code& /*unused*/) {
    number.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, Part /*unused*/, error_code& /*unused*/) {
    number.clear();
    stack.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, Part /*unused*/, error_code& /*unused*/) {
    number.clear();
    stack.push_uint64(value);
    return true;
  }
  bool on_double(double nearly, Part rest, error_code& /*unused*/) {
    number.append(rest.data(), rest.size());
    double exact = nearly;  // stays where the number is beyond all doubles
    std::from_chars(number.data(), number.data() + number.size(), exact);
    number.clear();
    stack.push_double(exact);
    return true;
  }
  bool on_bool(bool value, error_code& /*unused*/) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(error_code& /*unused*/) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(Part /*unused*/, error_code& /*unused*/) { return true; }
  bool on_comment(Part /*unused*/, error_code& /*unused*/) { return true; }

  json::value_stack stack{};
  std::string number{};  // as much as was read of one
};

}  // namespace

json::value parse_exact_json(std::string_view text, std::size_t max_depth, error_code& failed,
                             std::size_t* read) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<ExactHandler> parser(options);
  parser.handler().stack.reset();
  const std::size_t used = parser.write_some(false, text.data(), text.size(), failed);
  if (read != nullptr) *read = used;
  if (!failed && used < text.size()) failed = json::error::extra_data;
  if (failed) return {};
  return parser.handler().stack.release();
}

}  // namespace corehold
