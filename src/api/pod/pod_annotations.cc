// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_annotations.h"

#include <optional>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "pod/podinfo_request.h"
#include "pod/quiet_request.h"
#include "pod/scale_delay.h"

namespace corehold {
namespace {

namespace json = boost::json;

ErrorPath path_of(std::string_view annotation) {
  return (ErrorPath("metadata") / "annotations").key(annotation);
}

// What it says; no value: it is not there, or says what it said before.
std::optional<std::string_view> new_text(const json::object& before, const json::object& pod,
                                         std::string_view annotation) {
  const json::value* value = look(pod, {"metadata", "annotations", annotation});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const json::value* was = look(before, {"metadata", "annotations", annotation});
  if (was != nullptr && *was == *value) return std::nullopt;
  return value->get_string();
}

void check_podinfo(std::string_view text, const json::object& pod, FieldErrors& errors) {
  const ErrorPath path = path_of(kPodInfoAnnotation);
  const auto directory = parse_podinfo_directory(text);
  if (!directory) return errors.invalid(path, text, directory.error().message);
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const json::value& element : look_array(pod, {"spec", list})) {
      const json::object& container = as_object_or_empty(element);
      for (const json::value& mount : look_array(container, {"volumeMounts"})) {
        const std::string_view place = look_text(as_object_or_empty(mount), {"mountPath"});
        if (!hides_podinfo(place, *directory)) continue;
        errors.invalid(path, text,
                       fmt::format("container {} mounts a volume on {}: choose another directory",
                                   look_text(container, {"name"}), place));
      }
    }
  }
}

}  // namespace

void check_own_annotations(const json::object& before, const json::object& pod,
                           FieldErrors& errors) {
  if (const auto text = new_text(before, pod, kScaleDelayAnnotation)) {
    const auto delay = parse_own_scale_delay(*text);
    if (!delay) errors.invalid(path_of(kScaleDelayAnnotation), *text, delay.error().message);
  }
  if (const auto text = new_text(before, pod, kQuietAnnotation)) {
    const auto quiet = parse_quiet(*text);
    if (!quiet) errors.invalid(path_of(kQuietAnnotation), *text, quiet.error().message);
  }
  if (const auto text = new_text(before, pod, kPodInfoAnnotation)) {
    check_podinfo(*text, pod, errors);
  }
}

}  // namespace corehold
