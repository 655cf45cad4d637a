// SPDX-License-Identifier: Apache-2.0
//
// PATCH, all four kinds: from the options and the body of the request and the object as it is
// to the object as the client wants it. Pure and bounded (patch_body.h, json_patch.h): what
// a client can make this do grows with what it sends, and not faster.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "api/api_result.h"

namespace corehold {

enum class PatchKind { kJson, kMerge, kStrategic, kApply };

// Of a Content-Type, parameters apart; none for one that is no patch.
std::optional<PatchKind> patch_kind(std::string_view content_type);

struct PatchRequest {
  PatchKind kind = PatchKind::kMerge;
  std::string_view body{};
  std::string_view field_manager{};  // of the query; empty: not given
  std::optional<bool> force{};       // of the query
  std::string_view subresource{};
  std::chrono::milliseconds now{};
};

// `current` with the patch applied. `object_kind` is its kind ("Pod"). For server-side apply
// `current` may be empty, when there is no such object; managedFields are then up to date,
// for the others record_update() (managed_fields.h) is to follow once defaults are set.
//
// The Status of a failure is the one a Kubernetes API server gives. The caller still checks
// names, versions, validity, and what this path may write.
ApiResult<boost::json::object> apply_patch(std::string_view object_kind,
                                           const boost::json::object& current,
                                           const PatchRequest& request);

}  // namespace corehold
