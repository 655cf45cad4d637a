// SPDX-License-Identifier: Apache-2.0
//
// What all requests that change an object have in common: body, field manager, dry run, and the
// form of the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "agent/api/object_reader.h"
#include "agent/api/resource_path.h"
#include "api/api_result.h"
#include "api/object/object_rules.h"
#include "api/patch/managed_fields.h"
#include "api/patch/patch.h"
#include "api/patch/strict_fields.h"
#include "serve/http_target.h"
#include "sys/http/http_server.h"

namespace corehold {

struct WriteRequest {
  HttpExchangePtr exchange{};
  ResourcePath path{};
  Presentation how{};
  FieldValidation validation = FieldValidation::kWarn;
  FieldWriter writer{};
  bool is_try = false;          // dryRun=All: nothing is changed
  std::string field_manager{};  // as the client said it; "": it did not
  std::optional<bool> force{};
  std::vector<std::string> warnings{};  // for the client, so far

  // Everything but the body.
  static ApiResult<WriteRequest> read(const HttpExchangePtr& exchange, const HttpTarget& target,
                                      const ResourcePath& path);
};

// The object of a POST or PUT. Fails with 400, 413, 415 and 422.
ApiResult<boost::json::object> read_body(WriteRequest& request);

// The object that a PUT or PATCH wants in place of `current`, which is empty when there is no
// such object yet (only server-side apply can go on then). Fails as read_body(), apply_patch()
// and read_patched() do, and with 415 for a patch of another type.
struct Wanted {
  boost::json::object object{};
  WriteVerb verb = WriteVerb::kPatch;
  bool is_apply = false;  // managedFields are up to date
};
ApiResult<Wanted> wanted(WriteRequest& request, const boost::json::object& current);

// The answer: the object as it is now in the catalogue, or as it would have been.
void answer_object(const WriteRequest& request, int status, const ObjectVersion& object);

}  // namespace corehold
