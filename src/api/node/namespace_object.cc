// SPDX-License-Identifier: Apache-2.0
#include "api/node/namespace_object.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "api/json/time_text.h"

namespace corehold {

namespace json = boost::json;

json::object namespace_json(const std::string& name, std::chrono::milliseconds created_at) {
  return {
      {"metadata", json::object{{"name", name},
                                {"uid", "namespace-" + name},
                                {"creationTimestamp", time_text(created_at)},
                                {"labels", json::object{{"kubernetes.io/metadata.name", name}}}}},
      {"spec", json::object{{"finalizers", json::array{"kubernetes"}}}},
      {"status", json::object{{"phase", "Active"}}}};
}

}  // namespace corehold
