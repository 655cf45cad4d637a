// SPDX-License-Identifier: Apache-2.0
//
// Bodies of requests as objects of one type: JSON, kind and apiVersion, the type of every
// field, fields that the type does not have, and fields given twice. What comes out is
// written as a Kubernetes API server writes it: fields in its order, without nulls, without
// what is empty and means the same as absent, quantities canonical. Failures have its texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/api_result.h"
#include "api/patch/patch.h"

namespace corehold {

// The query's fieldValidation: what unknown and duplicate fields lead to. Either way they
// are not in the object.
enum class FieldValidation { kIgnore, kWarn, kStrict };

// Of the query's value; empty is kWarn. Fails with 422 for another word. `options` is the
// kind that the query stands for: "CreateOptions", "UpdateOptions", "PatchOptions".
ApiResult<FieldValidation> field_validation(std::string_view value, std::string_view options);

// The body of a POST or PUT of a kind. REQUIRES: it is "Pod" or "Node". kWarn adds to `warnings`;
// each is the text of one Warning header. Fails with 400, and 413 for a body above kMaxPatchBytes.
ApiResult<boost::json::object> read_object(std::string_view kind, std::string_view body,
                                           FieldValidation validation,
                                           std::vector<std::string>& warnings);

// The object that a patch has made, likewise. Fails with 422, as a patch that leads to what
// is no such object.
ApiResult<boost::json::object> read_patched(std::string_view kind,
                                            const boost::json::object& patched,
                                            const PatchRequest& request, FieldValidation validation,
                                            std::vector<std::string>& warnings);

}  // namespace corehold
