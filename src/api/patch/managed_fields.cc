// SPDX-License-Identifier: Apache-2.0
#include "api/patch/managed_fields.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "api/json/json_read.h"
#include "api/json/time_text.h"
#include "api/patch/object_schema.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Set by the system alone.
constexpr std::array<std::string_view, 9> kSystemMetadata{
    "name",       "namespace",   "creationTimestamp", "selfLink",       "uid",
    "generation", "clusterName", "managedFields",     "resourceVersion"};

std::string_view name_of(ManagedOperation operation) {
  return operation == ManagedOperation::kApply ? "Apply" : "Update";
}

Result<ManagedEntry> read_entry(const json::value& value, const Path& path) {
  const json::object* object = TRY(as_object(value, path));
  ManagedEntry entry;
  entry.manager = TRY(string_field(*object, path, "manager"));
  entry.api_version = TRY(string_field(*object, path, "apiVersion"));
  entry.time = TRY(string_field(*object, path, "time"));
  entry.subresource = TRY(string_field(*object, path, "subresource"));
  const std::string operation = TRY(string_field(*object, path, "operation"));
  if (operation != "Apply" && operation != "Update") {
    return (path / "operation").error("must be Apply or Update");
  }
  if (operation == "Apply") entry.operation = ManagedOperation::kApply;
  if (TRY(string_field(*object, path, "fieldsType")) != "FieldsV1") {
    return (path / "fieldsType").error("must be FieldsV1");
  }
  const json::object* fields = TRY(object_field(*object, path, "fieldsV1"));
  if (fields != nullptr) entry.fields = TRY(field_set_from_json(*fields));
  return entry;
}

json::object write_entry(const ManagedEntry& entry) {
  json::object object{{"manager", entry.manager},
                      {"operation", name_of(entry.operation)},
                      {"apiVersion", entry.api_version}};
  if (!entry.time.empty()) object["time"] = entry.time;
  object["fieldsType"] = "FieldsV1";
  object["fieldsV1"] = to_json(entry.fields);
  if (!entry.subresource.empty()) object["subresource"] = entry.subresource;
  return object;
}

const json::value* managed_value(const json::object& object) {
  const json::value* metadata = object.if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return nullptr;
  return metadata->get_object().if_contains("managedFields");
}

// A client's way to say: forget them all.
bool asks_to_forget(const json::object& object) {
  const json::value* list = managed_value(object);
  if (list == nullptr || !list->is_array() || list->get_array().size() != 1) return false;
  const json::object* only = list->get_array().front().if_object();
  return only != nullptr && only->empty();
}

std::vector<ManagedEntry> entries_or_none(const json::object& object) {
  auto entries = managed_entries(object);
  return entries ? *std::move(entries) : std::vector<ManagedEntry>();
}

std::vector<ManagedEntry> entries_before(const json::object& live, const json::object& next,
                                         const FieldWriter& writer) {
  if (!writer.subresource.empty()) return entries_or_none(live);
  if (asks_to_forget(next)) return {};
  std::vector<ManagedEntry> given = entries_or_none(next);
  return given.empty() ? entries_or_none(live) : given;
}

// Joins the oldest Update entries until there are few enough.
void join_oldest(std::vector<ManagedEntry>& entries) {
  std::vector<std::size_t> updates;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].operation == ManagedOperation::kUpdate) updates.push_back(i);
  }
  if (updates.size() <= kMaxUpdateManagers) return;
  std::stable_sort(updates.begin(), updates.end(), [&](std::size_t left, std::size_t right) {
    return entries[left].time < entries[right].time;
  });
  ManagedEntry ancient{.manager = "ancient-changes"};
  const std::size_t count = updates.size() - kMaxUpdateManagers + 1;
  for (std::size_t i = 0; i < count; ++i) {
    ManagedEntry& entry = entries[updates[i]];
    ancient.fields = ancient.fields.united(entry.fields);
    ancient.time = std::max(ancient.time, entry.time);
    entry.fields = {};
  }
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.fields.empty(); });
  entries.push_back(std::move(ancient));
}

// Of the containers of a pod (or the pod itself) only the resources.
FieldSet only_resources(const FieldSet& set) {
  FieldSet result;
  const FieldSet* spec = set.child("f:spec");
  if (spec == nullptr) return result;
  FieldSet kept;
  if (const FieldSet* own = spec->child("f:resources")) kept.below("f:resources") = *own;
  for (const std::string_view list : {"f:containers", "f:initContainers"}) {
    const FieldSet* containers = spec->child(list);
    if (containers == nullptr) continue;
    for (const auto& [element, container] : containers->children()) {
      const FieldSet* resources = container.child("f:resources");
      if (resources != nullptr) kept.below(list).below(element).below("f:resources") = *resources;
    }
  }
  if (!kept.empty()) result.below("f:spec") = std::move(kept);
  return result;
}

FieldSet only_below(const FieldSet& set, const FieldPath& path) {
  const FieldSet* at = &set;
  for (const std::string& element : path) {
    at = at->child(element);
    if (at == nullptr) return {};
  }
  FieldSet result = *at;
  for (auto element = path.rbegin(); element != path.rend(); ++element) {
    FieldSet outer;
    outer.below(*element) = std::move(result);
    result = std::move(outer);
  }
  return result;
}

}  // namespace

std::string manager_name(std::string_view field_manager, std::string_view user_agent) {
  if (!field_manager.empty()) return std::string(field_manager);
  constexpr std::size_t kMaxName = 128;
  std::string name(user_agent.substr(0, user_agent.find('/')));
  std::erase_if(name, [](char c) { return c < ' ' || c > '~'; });
  if (name.size() > kMaxName) name.resize(kMaxName);
  return name.empty() ? "unknown" : name;
}

Result<std::vector<ManagedEntry>> managed_entries(const json::object& object) {
  std::vector<ManagedEntry> entries;
  const json::value* value = managed_value(object);
  if (value == nullptr || value->is_null()) return entries;
  const Path path = Path() / "metadata" / "managedFields";
  if (!value->is_array()) return path.error("must be a list");
  const json::array& list = value->get_array();
  entries.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    entries.push_back(TRY(read_entry(list[i], path / i)));
  }
  return entries;
}

void set_managed_entries(json::object& object, std::vector<ManagedEntry> entries) {
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.fields.empty(); });
  join_oldest(entries);
  const auto order = [](const ManagedEntry& entry) {
    return std::tie(entry.operation, entry.time, entry.manager, entry.api_version,
                    entry.subresource);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const auto& left, const auto& right) { return order(left) < order(right); });
  if (entries.empty()) {
    object = without_managed_fields(std::move(object));
    return;
  }
  json::array list;
  for (const ManagedEntry& entry : entries) list.push_back(write_entry(entry));
  json::value& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata.get_object()["managedFields"] = std::move(list);
}

json::object without_managed_fields(json::object object) {
  json::value* metadata = object.if_contains("metadata");
  if (metadata != nullptr && metadata->is_object()) {
    metadata->get_object().stable_erase("managedFields");
  }
  return object;
}

FieldSet ownable(std::string_view kind, std::string_view subresource, const FieldSet& set) {
  FieldSet result = set.without_subtree({"f:apiVersion"}).without_subtree({"f:kind"});
  for (const std::string_view name : kSystemMetadata) {
    result = result.without_subtree({"f:metadata", "f:" + std::string(name)});
  }
  // The metadata as such belongs to nobody.
  FieldSet metadata;
  metadata.insert({"f:metadata"});
  result = result.minus(metadata);
  if (kind == "Event") return result;
  if (subresource.empty()) return result.without_subtree({"f:status"});
  if (subresource == "resize") return only_resources(result);
  if (subresource == "ephemeralcontainers") {
    return only_below(result, {"f:spec", "f:ephemeralContainers"});
  }
  if (subresource != "status") return result;
  result = result.without_subtree({"f:spec"});
  if (kind != "Pod") return result;
  return result.without_subtree({"f:metadata", "f:deletionTimestamp"})
      .without_subtree({"f:metadata", "f:ownerReferences"});
}

FieldChanges ownable(std::string_view kind, std::string_view subresource,
                     const FieldChanges& changes) {
  return {.added = ownable(kind, subresource, changes.added),
          .modified = ownable(kind, subresource, changes.modified),
          .removed = ownable(kind, subresource, changes.removed)};
}

json::object empty_object(std::string_view kind) {
  return json::parse(empty_object_text(kind)).as_object();
}

json::object record_update(std::string_view kind, const json::object& live, json::object next,
                           const FieldWriter& writer) {
  std::vector<ManagedEntry> entries = entries_before(live, next, writer);
  next = without_managed_fields(std::move(next));
  const json::object before = live.empty() ? empty_object(kind) : without_managed_fields(live);
  const FieldChanges changes =
      ownable(kind, writer.subresource, changed_fields(kind, before, next));
  const FieldSet taken = changes.added.united(changes.modified);
  for (ManagedEntry& entry : entries) {
    entry.fields = entry.fields.minus(taken).minus(changes.removed);
  }
  if (!taken.empty()) {
    const auto is_writer = [&](const ManagedEntry& entry) {
      return entry.manager == writer.manager && entry.operation == ManagedOperation::kUpdate &&
             entry.api_version == "v1" && entry.subresource == writer.subresource;
    };
    auto own = std::find_if(entries.begin(), entries.end(), is_writer);
    if (own == entries.end()) {
      entries.push_back({.manager = writer.manager, .subresource = writer.subresource});
      own = entries.end() - 1;
    }
    own->fields = own->fields.united(taken);
    own->time = time_text(writer.now);
  }
  set_managed_entries(next, std::move(entries));
  return next;
}

}  // namespace corehold
