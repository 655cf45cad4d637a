// SPDX-License-Identifier: Apache-2.0
//
// Pods as JSON: read from what the Kubernetes API or a person writes, and written
// back with every field that Corehold does not know, in its order. Reading checks
// shapes only (a name is a string, an amount is a quantity); what a pod may say is
// checked by validate() in pod.h. The adapter for Boost.JSON: nothing throws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "pod/json_field.h"
#include "pod/pod.h"

namespace corehold {

// Deeper nesting is refused; a pod has about fifteen levels.
inline constexpr int kMaxNesting = 64;

// One JSON document. Fails with kInvalid, naming line and column, on anything else,
// on invalid UTF-8 and on nesting deeper than kMaxNesting.
Result<boost::json::value> parse_json(std::string_view text);

// The pod that an object describes; `raw` is the object. A missing kind is taken for
// Pod. Fails with kInvalid and "field path: what is wrong".
Result<Pod> pod_from_json(boost::json::object object);

// The same of metadata and spec alone: status is not read, and `raw` is left empty.
Result<Pod> pod_model(const boost::json::object& object);

// The pods of a document: a Pod, or a List or PodList of them in its order.
Result<std::vector<Pod>> pods_from_json(boost::json::value document);

// parse_json, then pods_from_json.
Result<std::vector<Pod>> parse_pods_json(std::string_view text);

// `raw` with the model written into it. What the model says already is left alone,
// spelling of quantities included; a pod made without JSON gets apiVersion and kind.
boost::json::object to_json(const Pod& pod);

// {"limits": ..., "requests": ...}, and back; what is not there is empty.
boost::json::object to_json(const Resources& resources);
Result<Resources> resources_from_json(const boost::json::object& object, const Path& path);

// The same as compact text.
std::string write_json(const Pod& pod);

}  // namespace corehold
