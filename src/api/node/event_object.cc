// SPDX-License-Identifier: Apache-2.0
#include "api/node/event_object.h"

#include <charconv>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_read.h"
#include "api/json/time_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kFieldPrefix = "spec.containers{";

json::object about_json(const EventView& view) {
  json::object about{{"kind", view.kind}};
  if (!view.namespace_name.empty()) about["namespace"] = view.namespace_name;
  about["name"] = view.name;
  about["uid"] = view.uid;
  about["apiVersion"] = "v1";
  if (!view.container.empty()) {
    about["fieldPath"] = fmt::format("{}{}}}", kFieldPrefix, view.container);
  }
  return about;
}

std::string container_of(std::string_view field_path) {
  if (!field_path.starts_with(kFieldPrefix) || !field_path.ends_with("}")) return "";
  field_path.remove_prefix(kFieldPrefix.size());
  field_path.remove_suffix(1);
  return std::string(field_path);
}

Result<void> read_about(const json::object& object, EventView& view) {
  const Path path = Path() / "involvedObject";
  const json::object* about = TRY(object_field(object, Path(), "involvedObject"));
  if (about == nullptr) return {};
  view.kind = TRY(string_field(*about, path, "kind"));
  view.namespace_name = TRY(string_field(*about, path, "namespace"));
  view.name = TRY(string_field(*about, path, "name"));
  view.uid = TRY(string_field(*about, path, "uid"));
  view.container = container_of(TRY(string_field(*about, path, "fieldPath")));
  return {};
}

Result<void> read_metadata(const json::object& object, EventView& view) {
  const Path path = Path() / "metadata";
  const json::object* metadata = TRY(object_field(object, Path(), "metadata"));
  if (metadata == nullptr) return {};
  const std::string name = TRY(string_field(*metadata, path, "name"));
  const std::size_t dot = name.rfind('.');
  view.id = dot == std::string::npos ? name : name.substr(dot + 1);
  const std::string version = TRY(string_field(*metadata, path, "resourceVersion"));
  const auto read =
      std::from_chars(version.data(), version.data() + version.size(), view.resource_version);
  if (!version.empty() && (read.ec != std::errc() || read.ptr != version.data() + version.size())) {
    return (path / "resourceVersion").error("must be a number");
  }
  return {};
}

}  // namespace

std::string event_name(const EventView& view) { return fmt::format("{}.{}", view.name, view.id); }

std::string event_namespace(const EventView& view) {
  return view.namespace_name.empty() ? "default" : view.namespace_name;
}

json::object to_json(const EventView& view) {
  return {{"kind", "Event"},
          {"apiVersion", "v1"},
          {"metadata", json::object{{"name", event_name(view)},
                                    {"namespace", event_namespace(view)},
                                    {"uid", fmt::format("{}.{}", view.uid, view.id)},
                                    {"resourceVersion", fmt::to_string(view.resource_version)},
                                    {"creationTimestamp", time_text(view.first_at)}}},
          {"involvedObject", about_json(view)},
          {"reason", view.reason},
          {"message", view.message},
          {"source", json::object{{"component", "corehold"}, {"host", view.host}}},
          {"firstTimestamp", time_text(view.first_at)},
          {"lastTimestamp", time_text(view.last_at)},
          {"count", view.count},
          {"type", view.type},
          {"eventTime", nullptr},
          {"reportingComponent", "corehold"},
          {"reportingInstance", view.host}};
}

json::object event_list_json(json::array events, std::uint64_t resource_version) {
  return {{"kind", "EventList"},
          {"apiVersion", "v1"},
          {"metadata", json::object{{"resourceVersion", fmt::to_string(resource_version)}}},
          {"items", std::move(events)}};
}

Result<EventView> event_from_json(const json::value& event) {
  const Path path;
  const json::object* object = TRY(as_object(event, path));
  EventView view;
  TRY(read_metadata(*object, view));
  TRY(read_about(*object, view));
  view.type = TRY(string_field(*object, path, "type"));
  view.reason = TRY(string_field(*object, path, "reason"));
  view.message = TRY(string_field(*object, path, "message"));
  view.count = static_cast<int>(TRY(integer_field(*object, path, "count", 1)));
  view.first_at = TRY(time_field(*object, path, "firstTimestamp"));
  view.last_at = TRY(time_field(*object, path, "lastTimestamp"));
  view.host = TRY(string_field(*object, path, "reportingInstance"));
  return view;
}

}  // namespace corehold
