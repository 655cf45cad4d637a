// SPDX-License-Identifier: Apache-2.0
#include "agent/api/delete_options.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/json/json_read.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

Result<DeleteOptions> read(const HttpRequest& request, const HttpTarget& target) {
  DeleteOptions options;
  if (const auto seconds = TRY(target.number("gracePeriodSeconds"))) {
    options.grace = std::chrono::seconds(*seconds);
  }
  if (request.body.empty()) return options;
  const json::value body = TRY(parse_json(request.body));
  const json::object* object = TRY(as_object(body, Path()));
  if (field(*object, "gracePeriodSeconds") != nullptr) {
    const auto seconds = TRY(integer_field(*object, Path(), "gracePeriodSeconds", 0));
    if (seconds < 0) return (Path() / "gracePeriodSeconds").error("must not be negative");
    options.grace = std::chrono::seconds(seconds);
  }
  const json::object* conditions = TRY(object_field(*object, Path(), "preconditions"));
  if (conditions != nullptr) {
    options.uid = TRY(string_field(*conditions, Path() / "preconditions", "uid"));
    options.version = TRY(string_field(*conditions, Path() / "preconditions", "resourceVersion"));
  }
  const json::array& tries = look_array(*object, {"dryRun"});
  options.is_try = std::any_of(tries.begin(), tries.end(),
                               [](const json::value& word) { return word == "All"; });
  return options;
}

ApiStatus conflict(std::string_view kind, const std::string& name, const std::string& text) {
  return {
      .reason = StatusReason::kConflict,
      .message = fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", kind, name, text),
      .kind = std::string(kind),
      .name = name};
}

}  // namespace

ApiResult<DeleteOptions> delete_options(const HttpRequest& request, const HttpTarget& target) {
  auto options = read(request, target);
  if (options) return *std::move(options);
  return ApiStatus{.reason = StatusReason::kBadRequest, .message = options.error().message};
}

ApiResult<bool> check_preconditions(const DeleteOptions& options, std::string_view kind,
                                    const ObjectVersion& object, const std::string& uid) {
  if (!options.uid.empty() && options.uid != uid) {
    return conflict(kind, object.name(),
                    fmt::format("the UID in the precondition ({}) does not match the UID in record "
                                "({}). The object might have been deleted and then recreated",
                                options.uid, uid));
  }
  const std::string version = fmt::to_string(object.version());
  if (!options.version.empty() && options.version != version) {
    return conflict(
        kind, object.name(),
        fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                    "ResourceVersion in record ({}). The object might have been modified",
                    options.version, version));
  }
  return true;
}

}  // namespace corehold
