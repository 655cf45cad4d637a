// SPDX-License-Identifier: Apache-2.0
//
// The bodies of PATCH requests: JSON text with bounds, and the failures that every kind of
// patch shares. What a client sends is read once, here, before any object is touched.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "api/api_result.h"

namespace corehold {

// As large as a request to a Kubernetes API server may be.
inline constexpr std::size_t kMaxPatchBytes = 3 << 20;
// Deeper than any object of Kubernetes; what is patched stays within it too.
inline constexpr std::size_t kMaxPatchDepth = 64;

// Fails with 413 for a longer text, and 400 for deeper JSON, for what is not JSON and for
// what is not UTF-8.
ApiResult<boost::json::value> parse_patch_body(std::string_view body);

// 400, for a patch that cannot be understood.
ApiStatus bad_patch(std::string message);
// 422, for a patch that is understood but does not fit the object. A Kubernetes API server
// does not tell the client why, and neither does this.
ApiStatus patch_does_not_fit();
// 500 without a reason: what a Kubernetes API server answers to most mistakes in strategic
// merge patches and applied objects.
ApiStatus patch_failed(std::string message);
// 413.
ApiStatus patch_too_large(std::string_view message);

// The nesting of a value: 1 for a scalar or an empty list, 2 for a list of scalars.
std::size_t depth_of(const boost::json::value& value);

}  // namespace corehold
