// SPDX-License-Identifier: Apache-2.0
//
// What every request that changes something has in common: its body, who writes, whether it
// is only a try, and how the answer is to look.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "agent/http_target.h"
#include "agent/object_reader.h"
#include "agent/resource_path.h"
#include "api/api_result.h"
#include "api/managed_fields.h"
#include "api/object_rules.h"
#include "api/patch.h"
#include "api/strict_fields.h"
#include "sys/http_server.h"

namespace corehold {

struct WriteRequest {
  HttpExchangePtr exchange{};
  ResourcePath path{};
  Presentation how{};
  FieldValidation validation = FieldValidation::kWarn;
  FieldWriter writer{};
  bool is_try = false;          // dryRun=All: everything but doing it
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

// `prepared` with managedFields that say who wrote what; server-side apply has seen to that.
boost::json::object with_writer(const WriteRequest& request, const Wanted& wanted,
                                const boost::json::object& current, boost::json::object prepared);

// The answer: the object as it is now in the catalogue, or as it would have been.
void answer_object(const WriteRequest& request, int status, const ObjectVersion& object);

}  // namespace corehold
