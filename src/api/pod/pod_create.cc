// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_create.h"

#include <array>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/object/core_types.h"
#include "api/object/typed_reader.h"
#include "api/patch/patch_body.h"
#include "api/pod/pod_acceptance.h"
#include "api/pod/pod_defaults.h"
#include "api/pod/pod_validation.h"
#include "base/check.h"

namespace corehold {
namespace {

namespace json = boost::json;

// What only the system says. An object is given new ones.
constexpr auto kSystemFields = std::to_array<std::string_view>(
    {"uid", "resourceVersion", "generation", "selfLink", "creationTimestamp", "deletionTimestamp",
     "deletionGracePeriodSeconds"});

// As long as a name may be that still leaves room for the suffix.
constexpr std::size_t kMaxGenerated = 58;

void set_name(json::object& metadata, const NewPodRequest& request) {
  for (const std::string_view field : kSystemFields) metadata.erase(field);
  metadata["namespace"] = request.namespace_name;
  const std::string prefix(look_text(metadata, {"generateName"}));
  if (!look_text(metadata, {"name"}).empty() || prefix.empty()) return;
  metadata["name"] = prefix.substr(0, kMaxGenerated) + std::string(request.name_suffix);
}

}  // namespace

ApiResult<ApiPod> prepare_new_pod(json::object body, const NewPodRequest& request,
                                  const PodRules& rules, std::vector<std::string>& warnings) {
  const StructType* type = core_type("Pod");
  CHECK(type != nullptr);
  json::value& metadata = body["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  const std::string_view its_namespace = look_text(metadata.get_object(), {"namespace"});
  if (!its_namespace.empty() && its_namespace != request.namespace_name) {
    return ApiStatus{.reason = StatusReason::kBadRequest,
                     .message =
                         "the namespace of the provided object does not match the namespace "
                         "sent on the request"};
  }
  set_name(metadata.get_object(), request);
  body["status"] = json::object();
  set_pod_defaults(body);
  // With its defaults it must still be one that can be read.
  TypedObject whole = read_typed(*type, body);
  if (whole.is_too_large) {
    return patch_too_large(fmt::format("a pod may consist of {} values", kMaxObjectValues));
  }
  auto made = ApiPod::take(whole.object);
  const json::object& pod = made ? made->json() : whole.object;
  // First: what is done with a pod to find its mistakes grows with it.
  if (const auto refused = refuse_too_long(pod)) return *refused;
  const FieldErrors errors = pod_mistakes(pod, made, rules);
  if (!errors.empty()) return errors.status("Pod", look_text(pod, {"metadata", "name"}));
  if (!made) return unreadable_pod(made.error());
  for (std::string& warning : pod_warnings(pod)) warnings.push_back(std::move(warning));
  made->set_new_status();
  if (request.writer != nullptr) made->record_writer({}, *request.writer);
  return *std::move(made);
}

}  // namespace corehold
