// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_update.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/field_errors.h"
#include "api/json/json_edit.h"
#include "api/json/json_look.h"
#include "api/object/core_types.h"
#include "api/object/spec_difference.h"
#include "api/object/typed_reader.h"
#include "api/pod/pod_acceptance.h"
#include "api/pod/pod_annotations.h"
#include "api/pod/pod_defaults.h"
#include "api/pod/pod_resize.h"
#include "api/pod/pod_validation.h"
#include "base/check.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kChangeable =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

const StructType& pod_type() {
  const StructType* type = core_type("Pod");
  CHECK(type != nullptr);
  return *type;
}

bool same_spec(const json::object& left, const json::object& right) {
  return means_the_same(*core_type("PodSpec"), left, right);
}

// `pod`, which is canonical, with everything that is implied.
json::object completed(json::object pod) {
  set_pod_defaults(pod);
  return canonical(pod_type(), pod);
}

// Equal, or absent in both.
bool is_same_field(const json::object& left, const json::object& right, std::string_view field) {
  const json::value* one = left.if_contains(field);
  const json::value* other = right.if_contains(field);
  return one == nullptr || other == nullptr ? one == other : *one == *other;
}

// But for managedFields. REQUIRES: both are canonical.
bool is_same_pod(const json::object& left, const json::object& right) {
  const auto metadata = [](const json::object& pod) {
    json::object rest = look_object_or_empty(pod, {"metadata"});
    rest.erase("managedFields");
    return rest;
  };
  return is_same_field(left, right, "spec") && is_same_field(left, right, "status") &&
         metadata(left) == metadata(right);
}

// ---- the object itself ----

// Whether the containers can be compared one by one.
bool check_images(const json::object& old, const json::object& spec, std::string_view list,
                  const PodRules& rules, FieldErrors& errors) {
  const ErrorPath path = ErrorPath("spec") / list;
  const json::array& containers = look_array(spec, {list});
  if (containers.size() != look_array(old, {list}).size()) {
    errors.forbidden(path, "pod updates may not add or remove containers");
    return false;
  }
  for (std::size_t i = 0; rules.image_required && i < containers.size(); ++i) {
    if (look_text(as_object_or_empty(containers[i]), {"image"}).empty())
      errors.required(path / i / "image");
  }
  return true;
}

// False for one that makes the rest not worth checking.
bool check_deadline(const json::object& old, const json::object& spec, FieldErrors& errors) {
  const ErrorPath path = ErrorPath("spec") / "activeDeadlineSeconds";
  const json::value* before = look(old, {"activeDeadlineSeconds"});
  const json::value* after = look(spec, {"activeDeadlineSeconds"});
  if (after == nullptr) {
    if (before != nullptr)
      errors.invalid_bare(path, "null", "must not update from a positive integer to nil value");
    return true;
  }
  const std::int64_t seconds = after->get_int64();
  if (seconds < 0 || seconds > std::numeric_limits<std::int32_t>::max()) {
    errors.invalid(path, seconds, "must be between 0 and 2147483647, inclusive");
    return false;
  }
  if (before != nullptr && before->get_int64() < seconds) {
    errors.invalid(path, seconds, "must be less than or equal to previous value");
    return false;
  }
  return true;
}

void check_kept_tolerations(const json::object& old, const json::object& spec,
                            FieldErrors& errors) {
  const auto without_seconds = [](const json::value& toleration) {
    json::object rest = as_object_or_empty(toleration);
    rest.erase("tolerationSeconds");
    return rest;
  };
  std::vector<json::object> kept;
  for (const json::value& toleration : look_array(spec, {"tolerations"}))
    kept.push_back(without_seconds(toleration));
  for (const json::value& toleration : look_array(old, {"tolerations"})) {
    const json::object wanted = without_seconds(toleration);
    if (std::find(kept.begin(), kept.end(), wanted) != kept.end()) continue;
    errors.forbidden(ErrorPath("spec") / "tolerations",
                     "existing toleration can not be modified except its tolerationSeconds");
    return;
  }
}

// `spec` with what may change as it was: what still differs may not.
json::object with_changeable_of(const json::object& old, json::object spec) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::array& before = look_array(old, {list});
    json::array* after = list_in(spec, list);
    for (std::size_t i = 0; after != nullptr && i < after->size(); ++i)
      copy_field(as_object_or_empty(before[i]), (*after)[i].get_object(), "image");
  }
  copy_field(old, spec, "activeDeadlineSeconds");
  copy_field(old, spec, "tolerations");
  if (look_number(old, {"terminationGracePeriodSeconds"}) < 0 &&
      look_number(spec, {"terminationGracePeriodSeconds"}) == 1) {
    copy_field(old, spec, "terminationGracePeriodSeconds");
  }
  return spec;
}

void check_spec_change(const json::object& old, const json::object& spec, const PodRules& rules,
                       FieldErrors& errors) {
  if (!check_images(old, spec, "containers", rules, errors)) return;
  if (!check_images(old, spec, "initContainers", rules, errors)) return;
  if (!check_deadline(old, spec, errors)) return;
  check_kept_tolerations(old, spec, errors);
  const json::object rest = with_changeable_of(old, spec);
  if (same_spec(old, rest)) return;
  errors.forbidden(ErrorPath("spec"),
                   fmt::format("{}\n{}", kChangeable, pod_spec_difference(old, rest)));
}

// What the runtime cannot run of the new spec, but for what it could not run of the old one.
void check_runnable(const Pod& old, const Pod& next, const PodRules& rules, FieldErrors& errors) {
  if (!rules.node || !rules.node->unrunnable) return;
  const std::vector<std::string> before = rules.node->unrunnable(old);
  for (const std::string& mistake : rules.node->unrunnable(next)) {
    if (std::find(before.begin(), before.end(), mistake) != before.end()) continue;
    errors.refused(ErrorPath("spec"), fmt::format("pod {}: {}", display_name(next), mistake));
  }
}

// ---- status ----

void check_status(const json::object& pod, FieldErrors& errors) {
  const std::int64_t observed = look_number(pod, {"status", "observedGeneration"});
  if (observed < 0) {
    errors.invalid(ErrorPath("status") / "observedGeneration", observed,
                   "must be a non-negative integer");
  }
}

// ---- resize ----

// `before` is `old` with all its defaults.
void check_resize(const ApiPod& old, const json::object& before, const json::object& pod,
                  const Result<ApiPod>& model, FieldErrors& errors) {
  if (model && is_same_field(old.json(), before, "spec")) {
    check_qos_class(old.pod(), model->pod(), errors);
  } else if (const Result<Pod> whole = pod_model(before); model && whole) {
    check_qos_class(*whole, model->pod(), errors);
  }
  check_pod_resize(before, pod, errors);
}

// `next`, but for what this path may not write, which is as before. REQUIRES: both are canonical.
// May not be canonical.
json::object with_unwritable_of(const json::object& before, json::object next, PodPath path) {
  switch (path) {
    case PodPath::kObject:
      set_pod_defaults(next);
      copy_field(before, next, "status");
      return next;
    case PodPath::kStatus:
      copy_field(before, next, "spec");
      copy_field(look_object_or_empty(before, {"metadata"}), made_object(next, "metadata"),
                 "ownerReferences");
      return next;
    case PodPath::kResize:
      return with_resources_of(before, completed(std::move(next)));
  }
  check_failed("every PodPath is known", __FILE__, __LINE__);
}

}  // namespace

ApiResult<PodChange> prepare_pod_update(const ApiPod& old, json::object next,
                                        const PodUpdate& update, const PodRules& rules,
                                        std::vector<std::string>& warnings) {
  const json::object before = completed(canonical(pod_type(), old.json()));
  if (auto refused = refuse_other_object(before, next, update.verb, "pods")) return *refused;
  next = with_unwritable_of(before, std::move(next), update.path);
  FieldErrors errors;
  json::object& metadata = made_object(next, "metadata");
  copy_field(look_object_or_empty(before, {"metadata"}), metadata, "namespace");
  carry_metadata(look_object_or_empty(before, {"metadata"}), metadata, errors);
  next = canonical(pod_type(), next);
  auto made = ApiPod::take(next);
  const json::object& pod = made ? made->json() : next;
  // First: what is done with a pod to find its mistakes grows with it.
  if (const auto refused = refuse_too_long(pod, old.json())) return *refused;
  check_own_annotations(before, pod, errors);
  const json::object& old_spec = look_object_or_empty(before, {"spec"});
  const json::object& spec = look_object_or_empty(pod, {"spec"});
  const bool is_new_spec = !same_spec(old_spec, spec);
  // A spec that was accepted once stays so, whatever the rules are now.
  if (is_new_spec) {
    check_pod(pod, rules, errors);
  } else {
    check_metadata(look_object_or_empty(pod, {"metadata"}), errors);
  }
  if (is_new_spec && update.path == PodPath::kResize) {
    check_resize(old, before, pod, made, errors);
  }
  if (is_new_spec && update.path == PodPath::kObject) {
    check_spec_change(old_spec, spec, rules, errors);
  }
  if (update.path == PodPath::kStatus) check_status(pod, errors);
  if (is_new_spec && errors.empty() && made) check_runnable(old.pod(), made->pod(), rules, errors);
  if (!errors.empty()) return errors.status("Pod", look_text(pod, {"metadata", "name"}));
  if (!made) return unreadable_pod(made.error());
  if (is_new_spec) {
    for (std::string& warning : pod_warnings(pod)) warnings.push_back(std::move(warning));
  }
  const bool is_same = update.writer == nullptr ? pod == old.json() : is_same_pod(before, pod);
  if (update.writer != nullptr) made->record_writer(old.json(), *update.writer);
  return PodChange{.pod = *std::move(made), .is_same = is_same, .is_new_spec = is_new_spec};
}

}  // namespace corehold
