// SPDX-License-Identifier: Apache-2.0
//
// What the metadata of any object may say, and how it may change, with the texts of a
// Kubernetes API server. For pods and nodes alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/field_errors.h"
#include "api/status.h"

namespace corehold {

// Empty when it is right. A label is one part of a DNS name, a subdomain such parts with dots.
std::vector<std::string> dns_label_problems(std::string_view text);
std::vector<std::string> dns_subdomain_problems(std::string_view text);

// One Invalid for every key and value that is no label's. Also for nodeSelector.
void check_labels(const boost::json::object& labels, const ErrorPath& path, FieldErrors& errors);

// name, generateName, labels, annotations, ownerReferences, finalizers.
void check_metadata(const boost::json::object& metadata, FieldErrors& errors);

// Gives `metadata` what is the system's from `old`: creationTimestamp, generation, deletion,
// and uid and resourceVersion where they are empty. Then names what may not change.
// REQUIRES: both are canonical (typed_reader.h).
void carry_metadata(const boost::json::object& old, boost::json::object& metadata,
                    FieldErrors& errors);

// A PUT of an object with another UID is a conflict, a patch of the UID is a mistake.
enum class WriteVerb { kPut, kPatch };

// Before anything else: name, namespace and resourceVersion must be those of the object, and
// in a PUT the UID. The Status that refuses, if any. `resource` is "pods".
std::optional<ApiStatus> refuse_other_object(const boost::json::object& old,
                                             const boost::json::object& next, WriteVerb verb,
                                             std::string_view resource);

}  // namespace corehold
