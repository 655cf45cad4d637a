// SPDX-License-Identifier: Apache-2.0
//
// Server-side apply: a client sends the part of an object that it has an opinion about, and
// owns it from then on. What it owned and no longer sends is removed, unless somebody else
// owns it too; what somebody else owns with another value is a conflict.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/api_result.h"
#include "api/patch/managed_fields.h"

namespace corehold {

// What kubectl apply writes onto an object: what it was asked for last time.
inline constexpr std::string_view kLastAppliedAnnotation =
    "kubectl.kubernetes.io/last-applied-configuration";

// Whether a conflict is an error, or the other loses the field.
enum class OnConflict { kFail, kForce };

// `live` (empty when there is no such object yet) with what `config` says, its managedFields
// brought up to date. The caller defaults, validates and refuses what this path may not write,
// as after any other patch; record_update() is not for it.
//
// An object that client-side apply wrote is taken over by the manager "kubectl" without
// conflicts, as kubectl's users expect of `apply --server-side`; an object without
// managedFields belongs to "before-first-apply".
//
// Fails with
// - 400 when `config` is no object, of another kind or version, or brings managedFields;
// - 409, one cause for each field, for conflicts;
// - 500 when an element of a list lacks its keys, or two have the same.
ApiResult<boost::json::object> server_side_apply(std::string_view kind,
                                                 const boost::json::object& live,
                                                 const boost::json::value& config,
                                                 const FieldWriter& writer, OnConflict on_conflict);

}  // namespace corehold
