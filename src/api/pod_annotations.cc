// SPDX-License-Identifier: Apache-2.0
#include "api/pod_annotations.h"

#include "api/json_look.h"
#include "pod/scale_delay.h"

namespace corehold {

namespace json = boost::json;

void check_own_annotations(const json::object& before, const json::object& metadata,
                           FieldErrors& errors) {
  const json::value* value = look(metadata, {"annotations", kScaleDelayAnnotation});
  if (value == nullptr || !value->is_string()) return;
  const json::value* was = look(before, {"annotations", kScaleDelayAnnotation});
  if (was != nullptr && *was == *value) return;
  const auto delay = parse_own_scale_delay(value->get_string());
  if (delay) return;
  errors.invalid((ErrorPath("metadata") / "annotations").key(kScaleDelayAnnotation),
                 value->get_string(), delay.error().message);
}

}  // namespace corehold
