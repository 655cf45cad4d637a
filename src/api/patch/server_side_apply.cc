// SPDX-License-Identifier: Apache-2.0
#include "api/patch/server_side_apply.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "api/json/time_text.h"
#include "api/patch/patch_body.h"
#include "gotext/go_json_writer.h"
#include "gotext/go_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

struct Conflict {
  const ManagedEntry* owner = nullptr;
  FieldPath path{};
};

// How a message names a manager.
std::string shown_manager(const ManagedEntry& entry) {
  std::string text = go_quoted(entry.manager);
  if (!entry.subresource.empty()) {
    text += fmt::format(" with subresource {}", go_quoted(entry.subresource));
  }
  if (entry.operation == ManagedOperation::kUpdate) text += " using " + entry.api_version;
  return text;
}

ApiStatus conflict_status(std::vector<Conflict> conflicts) {
  std::stable_sort(conflicts.begin(), conflicts.end(), [](const auto& left, const auto& right) {
    const auto order = [](const Conflict& one) {
      return std::tie(one.owner->manager, one.owner->operation, one.owner->subresource);
    };
    return order(left) < order(right);
  });
  ApiStatus status{.reason = StatusReason::kConflict};
  const ManagedEntry* last = nullptr;
  std::string list;
  for (const Conflict& conflict : conflicts) {
    const std::string who = shown_manager(*conflict.owner);
    const std::string where = path_text(conflict.path);
    status.causes.push_back(
        {.reason = "FieldManagerConflict", .message = "conflict with " + who, .field = where});
    if (conflict.owner != last) {
      list += fmt::format("{}conflicts with {}:", last == nullptr ? "" : "\n", who);
    }
    list += "\n- " + where;
    last = conflict.owner;
  }
  status.message = conflicts.size() == 1
                       ? fmt::format("Apply failed with 1 conflict: {}: {}",
                                     status.causes.front().message, status.causes.front().field)
                       : fmt::format("Apply failed with {} conflicts: {}", conflicts.size(), list);
  return status;
}

const json::value* annotation(const json::object& object, std::string_view key) {
  const json::value* metadata = object.if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return nullptr;
  const json::value* annotations = metadata->get_object().if_contains("annotations");
  if (annotations == nullptr || !annotations->is_object()) return nullptr;
  return annotations->get_object().if_contains(key);
}

// The fields that client-side apply last set.
FieldSet last_applied_fields(std::string_view kind, const json::object& live) {
  const json::value* text = annotation(live, kLastAppliedAnnotation);
  if (text == nullptr || !text->is_string()) return {};
  auto value = parse_patch_body(std::string_view(text->get_string()));
  if (!value || !value->is_object()) return {};
  auto fields = fields_of(kind, value->get_object());
  return fields ? *std::move(fields) : FieldSet();
}

ApiResult<const json::object*> check_config(std::string_view kind, const json::value& config) {
  const json::object* object = config.if_object();
  if (object == nullptr) {
    return bad_patch(
        fmt::format("error decoding YAML: json: cannot unmarshal {} into Go value of type "
                    "map[string]interface {{}}",
                    go_json_type(config)));
  }
  const auto text = [&](std::string_view key) -> std::string {
    const json::value* found = object->if_contains(key);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
  };
  if (text("kind") != kind) {
    return bad_patch(fmt::format("the kind of the applied object is {}, expected {}",
                                 go_quoted(text("kind")), go_quoted(kind)));
  }
  if (text("apiVersion") != "v1") {
    return bad_patch(
        fmt::format("Incorrect version specified in apply patch. Specified patch version: {}, "
                    "expected: v1",
                    text("apiVersion")));
  }
  if (const json::value* metadata = object->if_contains("metadata")) {
    const json::object* members = metadata->if_object();
    const json::value* managed = members ? members->if_contains("managedFields") : nullptr;
    const bool is_nil = managed == nullptr || managed->is_null() ||
                        (managed->is_array() && managed->get_array().empty());
    if (!is_nil) return bad_patch("metadata.managedFields must be nil");
  }
  return object;
}

class Application {
 public:
  Application(std::string_view kind, const json::object& live, const FieldWriter& writer)
      : kind_(kind),
        writer_(writer),
        live_(without_managed_fields(live)),
        before_(live.empty() ? empty_object(kind) : live_) {
    auto entries = managed_entries(live);
    if (entries) others_ = *std::move(entries);
    if (others_.empty() && !live.empty()) own_everything();
    const auto own = std::find_if(others_.begin(), others_.end(), [&](const ManagedEntry& entry) {
      return entry.manager == writer.manager && entry.operation == ManagedOperation::kApply &&
             entry.subresource == writer.subresource;
    });
    if (own == others_.end()) return;
    last_ = std::move(*own);
    others_.erase(own);
  }

  ApiResult<json::object> run(const json::object& config, OnConflict on_conflict) {
    const json::object wanted = without_managed_fields(config);
    auto fields = fields_of(kind_, wanted);
    if (!fields) {
      ApiStatus status = fields.error();
      status.message = fmt::format("failed to create typed patch object ({}; /v1, Kind={}): {}",
                                   shown_name(wanted), kind_, status.message);
      return status;
    }
    applied_ = ownable(kind_, writer_.subresource, *fields);
    // Twice, because an object that is said to be empty stays when pruning has emptied it.
    json::object next = merge_owned(kind_, prune(merge_owned(kind_, live_, wanted)), wanted);
    const FieldChanges changes =
        ownable(kind_, writer_.subresource, changed_fields(kind_, before_, next));
    const FieldSet taken = changes.added.united(changes.modified);
    if (on_conflict == OnConflict::kFail) TRY(check_conflicts(taken));

    for (ManagedEntry& entry : others_) {
      entry.fields = entry.fields.minus(taken).minus(changes.removed);
    }
    const bool is_same = changes.empty() && applied_ == last_.fields;
    others_.push_back({.manager = writer_.manager,
                       .operation = ManagedOperation::kApply,
                       .time = is_same ? last_.time : time_text(writer_.now),
                       .fields = applied_,
                       .subresource = writer_.subresource});
    if (writer_.manager == "kubectl" && annotation(live_, kLastAppliedAnnotation) != nullptr) {
      keep_last_applied(next, wanted);
    }
    set_managed_entries(next, std::move(others_));
    return next;
  }

 private:
  // Nobody is known to own anything: then whoever wrote it before owns it all.
  void own_everything() {
    const FieldChanges all = ownable(kind_, "", changed_fields(kind_, empty_object(kind_), live_));
    others_ = {{.manager = "before-first-apply", .fields = all.added.united(all.modified)}};
  }

  static std::string shown_name(const json::object& object) {
    const json::value* metadata = object.if_contains("metadata");
    const auto text = [&](std::string_view key) -> std::string {
      const json::value* found = metadata != nullptr && metadata->is_object()
                                     ? metadata->get_object().if_contains(key)
                                     : nullptr;
      return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
    };
    return fmt::format("{}/{}", text("namespace"), text("name"));
  }

  FieldSet named(const FieldSet& set) const { return with_named_parents(kind_, set); }
  // Of an object of ours: whatever its lists look like.
  FieldSet present(const json::object& object) const {
    return changed_fields(kind_, {}, object).added;
  }

  // Takes away what this manager owned, no longer says, and nobody else owns.
  json::object prune(json::object merged) const {
    if (last_.fields.empty()) return merged;
    FieldSet owned = applied_;
    for (const ManagedEntry& entry : others_) owned = owned.united(entry.fields);
    const FieldSet last = named(last_.fields);
    const FieldSet all = named(present(merged));
    json::object pruned = without_fields(kind_, merged, last);
    // Back comes what somebody owns, and what nobody owns but never was this manager's.
    pruned = without_fields(kind_, merged, all.minus(named(present(pruned)).united(named(owned))));
    return without_fields(kind_, std::move(merged), all.minus(named(present(pruned))).common(last));
  }

  ApiResult<bool> check_conflicts(const FieldSet& taken) const {
    // kubectl may take over what it had set by client-side apply.
    const FieldSet allowed =
        writer_.manager == "kubectl" ? last_applied_fields(kind_, live_) : FieldSet();
    std::vector<Conflict> conflicts;
    for (const ManagedEntry& entry : others_) {
      for (FieldPath& path : entry.fields.common(taken).minus(allowed).paths()) {
        conflicts.push_back({.owner = &entry, .path = std::move(path)});
      }
    }
    if (conflicts.empty()) return true;
    return conflict_status(std::move(conflicts));
  }

  // So that a later client-side apply knows what was applied here.
  static void keep_last_applied(json::object& next, json::object applied) {
    json::value* metadata = applied.if_contains("metadata");
    json::value* annotations = metadata != nullptr && metadata->is_object()
                                   ? metadata->get_object().if_contains("annotations")
                                   : nullptr;
    if (annotations != nullptr && annotations->is_object()) {
      annotations->get_object().stable_erase(kLastAppliedAnnotation);
    }
    json::value& target = next["metadata"].get_object()["annotations"];
    if (!target.is_object()) target = json::object();
    target.get_object()[kLastAppliedAnnotation] = json::serialize(applied) + "\n";
  }

  std::string_view kind_;
  const FieldWriter& writer_;
  json::object live_;
  json::object before_;
  std::vector<ManagedEntry> others_{};
  ManagedEntry last_{};
  FieldSet applied_{};
};

}  // namespace

ApiResult<json::object> server_side_apply(std::string_view kind, const json::object& live,
                                          const json::value& config, const FieldWriter& writer,
                                          OnConflict on_conflict) {
  const json::object* object = TRY(check_config(kind, config));
  return Application(kind, live, writer).run(*object, on_conflict);
}

}  // namespace corehold
