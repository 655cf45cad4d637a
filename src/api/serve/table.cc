// SPDX-License-Identifier: Apache-2.0
#include "api/serve/table.h"

#include <algorithm>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/json/json_look.h"
#include "api/json/time_text.h"
#include "api/serve/table_rows.h"
#include "base/check.h"
#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

std::string group_version(std::string_view version) {
  return fmt::format("meta.k8s.io/{}", version);
}

json::array columns_json(Resource resource) {
  json::array columns;
  for (const TableColumn& column : table_columns(resource)) {
    columns.push_back(json::object{{"name", column.name},
                                   {"type", "string"},
                                   {"format", column.name == "Name" ? "name" : ""},
                                   {"description", column.description},
                                   {"priority", column.priority}});
  }
  return columns;
}

json::array cells_of(Resource resource, const json::object& object, milliseconds now) {
  switch (resource) {
    case Resource::kEvents:
      return event_cells(object, now);
    case Resource::kNamespaces:
      return namespace_cells(object, now);
    case Resource::kNodes:
      return node_cells(object, now);
    case Resource::kPods:
      return pod_cells(object, now);
  }
  check_failed("every Resource has cells", __FILE__, __LINE__);
}

// Tells clients which rows to leave out when only what goes on is wanted.
void add_row_conditions(const json::object& pod, json::object& row) {
  const std::string_view phase = look_text(pod, {"status", "phase"});
  const bool done = phase == "Succeeded";
  if (!done && phase != "Failed") return;
  json::array conditions;
  conditions.push_back(
      json::object{{"type", "Completed"},
                   {"status", "True"},
                   {"reason", phase},
                   {"message", done ? "The pod has completed successfully." : "The pod failed."}});
  row["conditions"] = std::move(conditions);
}

json::value row_object(Resource resource, const json::object& object, const TableOptions& options) {
  switch (options.include) {
    case IncludeObject::kNone:
      return nullptr;
    case IncludeObject::kMetadata:
      return partial_metadata_json(object, options.version);
    case IncludeObject::kObject:
      break;
  }
  json::object whole{{"kind", info_of(resource).kind}, {"apiVersion", "v1"}};
  for (const auto& field : object) whole.insert_or_assign(field.key(), field.value());
  return whole;
}

std::string_view or_unknown(std::string_view text) { return text.empty() ? "<unknown>" : text; }

std::string node_status(const json::object& node) {
  std::string status = "Unknown";
  for (const json::value& value : look_array(node, {"status", "conditions"})) {
    const json::object& condition = as_object_or_empty(value);
    if (look_text(condition, {"type"}) != "Ready") continue;
    status = look_text(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  }
  if (look_true(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  return status;
}

std::string node_roles(const json::object& node) {
  constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  std::set<std::string_view> roles;
  if (const json::object* labels = look_object(node, {"metadata", "labels"})) {
    for (const auto& label : *labels) {
      const std::string_view key = label.key();
      if (key.starts_with(kRolePrefix) && key.size() > kRolePrefix.size()) {
        roles.insert(key.substr(kRolePrefix.size()));
      } else if (key == "kubernetes.io/role" && !look_text(*labels, {key}).empty()) {
        roles.insert(look_text(*labels, {key}));
      }
    }
  }
  return roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ","));
}

std::string_view node_address(const json::object& node, std::string_view type) {
  for (const json::value& value : look_array(node, {"status", "addresses"})) {
    const json::object& address = as_object_or_empty(value);
    if (look_text(address, {"type"}) == type) return look_text(address, {"address"});
  }
  return "<none>";
}

std::string node_kernel(const json::object& node) {
  const std::string_view kernel = look_text(node, {"status", "nodeInfo", "kernelVersion"});
  const std::string_view machine = look_text(node, {"status", "nodeInfo", "architecture"});
  if (kernel.empty() || machine.empty()) return std::string(or_unknown(kernel));
  return fmt::format("{} ({})", kernel, machine);
}

std::string event_source(const json::object& event) {
  std::string_view component = look_text(event, {"source", "component"});
  if (component.empty()) component = look_text(event, {"reportingComponent"});
  std::string_view host = look_text(event, {"source", "host"});
  if (host.empty()) host = look_text(event, {"reportingInstance"});
  if (host.empty()) return std::string(component);
  return fmt::format("{}, {}", component, host);
}

std::string event_target(const json::object& event) {
  std::string target(look_text(event, {"involvedObject", "kind"}));
  for (char& c : target) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::string_view name = look_text(event, {"involvedObject", "name"});
  return name.empty() ? target : fmt::format("{}/{}", target, name);
}

std::string_view without_blank_ends(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

std::string age_since(std::string_view time, milliseconds now) {
  const auto then = parse_time(time);
  if (time.empty() || !then) return "<unknown>";
  // Clocks that differ by less than that do so everywhere.
  if (*then - now > std::chrono::seconds(1)) return "<invalid>";
  return age_text(now - *then);
}

json::array event_cells(const json::object& event, milliseconds now) {
  std::string_view first = look_text(event, {"firstTimestamp"});
  if (first.empty()) first = look_text(event, {"eventTime"});
  std::string_view last = look_text(event, {"lastTimestamp"});
  if (last.empty()) last = first;
  std::int64_t count = std::max<std::int64_t>(1, look_number(event, {"count"}));
  if (look_object(event, {"series"}) != nullptr) {
    last = look_text(event, {"series", "lastObservedTime"});
    count = look_number(event, {"series", "count"});
  }
  return {age_since(last, now),
          look_text(event, {"type"}),
          look_text(event, {"reason"}),
          event_target(event),
          look_text(event, {"involvedObject", "fieldPath"}),
          event_source(event),
          without_blank_ends(look_text(event, {"message"})),
          age_since(first, now),
          count,
          look_text(event, {"metadata", "name"})};
}

json::array namespace_cells(const json::object& object, milliseconds now) {
  return {look_text(object, {"metadata", "name"}), look_text(object, {"status", "phase"}),
          age_since(look_text(object, {"metadata", "creationTimestamp"}), now)};
}

json::array node_cells(const json::object& node, milliseconds now) {
  return {look_text(node, {"metadata", "name"}),
          node_status(node),
          node_roles(node),
          age_since(look_text(node, {"metadata", "creationTimestamp"}), now),
          look_text(node, {"status", "nodeInfo", "kubeletVersion"}),
          node_address(node, "InternalIP"),
          node_address(node, "ExternalIP"),
          or_unknown(look_text(node, {"status", "nodeInfo", "osImage"})),
          node_kernel(node),
          or_unknown(look_text(node, {"status", "nodeInfo", "containerRuntimeVersion"}))};
}

Result<IncludeObject> include_object_of(std::string_view text) {
  if (text.empty() || text == "Metadata") return IncludeObject::kMetadata;
  if (text == "Object") return IncludeObject::kObject;
  if (text == "None") return IncludeObject::kNone;
  return Error{Code::kInvalid,
               fmt::format("includeObject: Invalid value: {}: must be 'Metadata', 'Object', "
                           "'None', or empty",
                           go_quoted(text))};
}

json::object to_json(const ListMetadata& metadata) {
  json::object object{{"resourceVersion", fmt::to_string(metadata.version)}};
  if (!metadata.continue_token.empty()) object["continue"] = metadata.continue_token;
  if (metadata.remaining) object["remainingItemCount"] = *metadata.remaining;
  return object;
}

json::object partial_metadata_json(const json::object& object, std::string_view version) {
  json::object partial{{"kind", "PartialObjectMetadata"}, {"apiVersion", group_version(version)}};
  const json::object* metadata = look_object(object, {"metadata"});
  partial["metadata"] = metadata == nullptr ? json::object() : *metadata;
  return partial;
}

json::object table_json(Resource resource, std::span<const json::object> objects,
                        const ListMetadata& metadata, const TableOptions& options) {
  json::array rows;
  rows.reserve(objects.size());
  for (const json::object& object : objects) {
    json::object row{{"cells", cells_of(resource, object, options.now)}};
    if (resource == Resource::kPods) add_row_conditions(object, row);
    row["object"] = row_object(resource, object, options);
    rows.push_back(std::move(row));
  }
  json::object table{{"kind", "Table"},
                     {"apiVersion", group_version(options.version)},
                     {"metadata", to_json(metadata)},
                     {"columnDefinitions", nullptr},
                     {"rows", std::move(rows)}};
  if (options.head == TableHead::kWith) table["columnDefinitions"] = columns_json(resource);
  return table;
}

}  // namespace corehold
