// SPDX-License-Identifier: Apache-2.0
#include "api/pod_create.h"

#include <array>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/core_types.h"
#include "api/field_errors.h"
#include "api/json_look.h"
#include "api/patch_body.h"
#include "api/pod_annotations.h"
#include "api/pod_defaults.h"
#include "api/pod_validation.h"
#include "api/typed_reader.h"
#include "base/check.h"
#include "pod/pod_json.h"
#include "pod/qos.h"

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

std::string_view qos_text(const json::object& pod) {
  json::object plain = pod;
  plain.erase("status");
  const Result<Pod> model = pod_from_json(std::move(plain));
  return model ? name_of(qos_class(*model, PodGates())) : "";
}

}  // namespace

ApiResult<json::object> prepare_new_pod(const json::object& body, const NewPodRequest& request,
                                        const PodRules& rules, std::vector<std::string>& warnings) {
  const StructType* type = core_type("Pod");
  CHECK(type != nullptr);
  json::object pod = canonical(*type, body);
  json::value& metadata = pod["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  const std::string_view its_namespace = look_text(metadata.get_object(), {"namespace"});
  if (!its_namespace.empty() && its_namespace != request.namespace_name) {
    return ApiStatus{.reason = StatusReason::kBadRequest,
                     .message =
                         "the namespace of the provided object does not match the namespace "
                         "sent on the request"};
  }
  set_name(metadata.get_object(), request);
  pod["status"] = json::object();
  set_pod_defaults(pod);
  // With its defaults it must still be one that can be read.
  TypedObject whole = read_typed(*type, pod);
  if (whole.is_too_large) {
    return patch_too_large(fmt::format("a pod may consist of {} values", kMaxObjectValues));
  }
  pod = std::move(whole.object);
  FieldErrors errors;
  check_own_annotations({}, pod, errors);
  check_pod(pod, rules, errors);
  if (!look_array(pod, {"spec", "ephemeralContainers"}).empty()) {
    errors.forbidden(ErrorPath("spec") / "ephemeralContainers", "cannot be set on create");
  }
  if (!errors.empty()) return errors.status("Pod", look_text(pod, {"metadata", "name"}));
  for (std::string& warning : pod_warnings(pod)) warnings.push_back(std::move(warning));
  pod["status"] = json::object{{"phase", "Pending"}, {"qosClass", qos_text(pod)}};
  return pod;
}

}  // namespace corehold
