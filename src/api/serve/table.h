// SPDX-License-Identifier: Apache-2.0
//
// Tables made by the server (kind Table of meta.k8s.io), which is what `kubectl get` prints:
// columns, and for each object a row of cells with the object or what the client wants of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "api/serve/resource.h"
#include "base/result.h"

namespace corehold {

// How much of its object comes with a row.
enum class IncludeObject { kMetadata, kObject, kNone };

// Of the query parameter includeObject; "" is kMetadata. Fails with kInvalid and the text of
// the API server.
Result<IncludeObject> include_object_of(std::string_view text);

// The metadata of a list.
struct ListMetadata {
  std::uint64_t version = 0;
  std::string continue_token{};             // "": this was all
  std::optional<std::int64_t> remaining{};  // after these, where that is known
};

boost::json::object to_json(const ListMetadata& metadata);

// The columns are sent with the first Table of a watch only.
enum class TableHead { kWith, kWithout };

struct TableOptions {
  std::string version = "v1";  // of meta.k8s.io: "v1", "v1beta1"
  IncludeObject include = IncludeObject::kMetadata;
  TableHead head = TableHead::kWith;
  std::chrono::milliseconds now{};  // since the Unix epoch: ages count up to it
};

boost::json::object table_json(Resource resource, std::span<const boost::json::object> objects,
                               const ListMetadata& metadata, const TableOptions& options);

// A PartialObjectMetadata of that version.
boost::json::object partial_metadata_json(const boost::json::object& object,
                                          std::string_view version);

}  // namespace corehold
