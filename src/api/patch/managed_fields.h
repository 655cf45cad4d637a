// SPDX-License-Identifier: Apache-2.0
//
// metadata.managedFields: who wrote which fields of an object last. Every write that is no
// server-side apply goes through record_update(); server_side_apply.h does its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/patch/field_set.h"
#include "api/patch/owned_fields.h"
#include "base/result.h"

namespace corehold {

// Beyond these the oldest Update entries are joined under the name "ancient-changes".
inline constexpr std::size_t kMaxUpdateManagers = 10;

enum class ManagedOperation { kApply, kUpdate };

// One writer and the fields that are its own.
struct ManagedEntry {
  std::string manager{};
  ManagedOperation operation = ManagedOperation::kUpdate;
  std::string api_version = "v1";
  std::string time{};  // RFC 3339; may be empty
  FieldSet fields{};
  std::string subresource{};

  bool operator==(const ManagedEntry&) const = default;
};

// Who writes, through which subresource ("" for the object itself), and when.
struct FieldWriter {
  std::string manager{};
  std::string subresource{};
  std::chrono::milliseconds now{};
};

// The writer's name: what the client said in `fieldManager`, else the program its
// User-Agent names, else "unknown".
std::string manager_name(std::string_view field_manager, std::string_view user_agent);

// Those of an object; none for an object without. Fails with kInvalid for what is no list
// of entries of FieldsV1.
Result<std::vector<ManagedEntry>> managed_entries(const boost::json::object& object);

// Puts them into the object, in the order of Kubernetes; without any the field goes.
void set_managed_entries(boost::json::object& object, std::vector<ManagedEntry> entries);
boost::json::object without_managed_fields(boost::json::object object);

// `next`, an object with all its defaults, with managedFields that say what `writer` changed
// from `live`; `live` is empty when the object is new. Others lose what the writer took.
// Where `next` brings managedFields of its own they are taken for what was there, unless they
// cannot be read or it is written through a subresource; a list with one empty entry
// means: forget them.
boost::json::object record_update(std::string_view kind, const boost::json::object& live,
                                  boost::json::object next, const FieldWriter& writer);

// ---- for server_side_apply.cc

// Without what nobody owns (names, versions, times of the system), and without what
// cannot be written through that subresource.
FieldSet ownable(std::string_view kind, std::string_view subresource, const FieldSet& set);
FieldChanges ownable(std::string_view kind, std::string_view subresource,
                     const FieldChanges& changes);
// What a first write is compared with.
boost::json::object empty_object(std::string_view kind);

}  // namespace corehold
