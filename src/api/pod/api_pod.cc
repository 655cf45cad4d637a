// SPDX-License-Identifier: Apache-2.0
#include "api/pod/api_pod.h"

#include <boost/json/array.hpp>

#include "api/json/json_erase.h"
#include "api/json/json_look.h"
#include "pod/pod_json.h"
#include "pod/qos.h"

namespace corehold {

namespace json = boost::json;

Result<ApiPod> ApiPod::take(json::object& object) {
  Pod pod = TRY(pod_model(object));
  pod.raw = std::move(object);
  return ApiPod(std::move(pod));
}

void ApiPod::record_writer(const json::object& live, const FieldWriter& writer) {
  pod_.raw = record_update("Pod", live, std::move(pod_.raw).take(), writer);
}

void ApiPod::set_new_status() {
  pod_.raw.edit()["status"] =
      json::object{{"phase", "Pending"}, {"qosClass", name_of(qos_class(pod_, PodGates()))}};
}

Pod ApiPod::take_stored() && {
  json::object& object = pod_.raw.edit();
  json::array conditions = look_array(object, {"status", "conditions"});
  erase_members(object, {"status"});
  if (!conditions.empty()) object["status"] = json::object{{"conditions", std::move(conditions)}};
  return std::move(pod_);
}

ApiStatus unreadable_pod(const Error& error) {
  return {.reason = StatusReason::kBadRequest, .message = error.message};
}

}  // namespace corehold
