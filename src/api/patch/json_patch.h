// SPDX-License-Identifier: Apache-2.0
//
// JSON Patch (RFC 6902): a list of operations on places named by JSON Pointers, all of them
// or none. As in the Kubernetes API server, which the RFC does not ask for: `replace` of a
// member that is not there adds it, `test` takes what is not there for null, and an index
// below zero counts from the end.
#pragma once

#include <cstddef>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/api_result.h"

namespace corehold {

inline constexpr std::size_t kMaxJsonPatchOperations = 10'000;
// In all `copy` operations together: a few of them double an object each.
inline constexpr std::size_t kMaxJsonPatchCopiedBytes = 3 << 20;
// Elements of lists and objects that removals, insertions and moves may pass over.
inline constexpr std::size_t kMaxJsonPatchWork = 20'000'000;

// `patch` is the body; it fails with
// - 400 when it is not a list of operations;
// - 413 when they are too many;
// - 422 when one is unknown or incomplete, when its place does not exist, when a test is not
//   met, when a bound above is passed, or when what results is no object, or too deep.
ApiResult<boost::json::object> apply_json_patch(const boost::json::object& current,
                                                const boost::json::value& patch);

}  // namespace corehold
