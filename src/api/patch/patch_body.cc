// SPDX-License-Identifier: Apache-2.0
#include "api/patch/patch_body.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "pod/exact_json.h"

namespace corehold {

namespace json = boost::json;

ApiResult<json::value> parse_patch_body(std::string_view body) {
  if (body.size() > kMaxPatchBytes) {
    return patch_too_large(fmt::format("limit is {}", kMaxPatchBytes));
  }
  json::error_code problem;
  json::value value = parse_exact_json(body, kMaxPatchDepth, problem);
  if (problem == json::error::too_deep) {
    return bad_patch(fmt::format("error decoding patch: exceeded max depth of {}", kMaxPatchDepth));
  }
  if (problem) return bad_patch("error decoding patch: " + problem.message());
  return value;
}

ApiStatus bad_patch(std::string message) {
  return {.reason = StatusReason::kBadRequest, .message = std::move(message)};
}

ApiStatus patch_does_not_fit() {
  return {.reason = StatusReason::kInvalid,
          .message = "the server rejected our request due to an error in our request",
          .has_details = true};
}

ApiStatus patch_failed(std::string message) {
  return {.reason = StatusReason::kNone, .message = std::move(message)};
}

ApiStatus patch_too_large(std::string_view message) {
  return {.reason = StatusReason::kTooLarge,
          .message = fmt::format("Request entity too large: {}", message)};
}

std::size_t depth_of(const json::value& value) {
  std::size_t inner = 0;
  if (const json::array* list = value.if_array()) {
    for (const json::value& item : *list) inner = std::max(inner, depth_of(item));
  } else if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) inner = std::max(inner, depth_of(member.value()));
  }
  return inner + 1;
}

}  // namespace corehold
