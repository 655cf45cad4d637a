// SPDX-License-Identifier: Apache-2.0
//
// What the node tells clients that ask which API it serves: the core resources of
// resource.h and our own group corehold.dev/v1alpha1, both in the old form (a document for
// each level) and aggregated (one for /api, one for /apis), and its version.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace corehold {

inline constexpr std::string_view kOwnGroup = "corehold.dev";
inline constexpr std::string_view kOwnVersion = "v1alpha1";

// The Kubernetes whose API this is.
inline constexpr std::string_view kKubernetesVersion = "1.37.0";

// GET /version. Clients judge by major, minor and gitVersion what they may expect, so these
// are those of kKubernetesVersion; ours follows after a plus sign.
struct ServerVersion {
  std::string corehold{};  // "0.1.0"
  std::string platform{};  // "linux/amd64"
};
boost::json::object version_json(const ServerVersion& version);

// The old form. GET /api; `address` is where clients reach the server, "127.0.0.1:10270".
boost::json::object api_versions_json(std::string_view address);
// GET /apis.
boost::json::object api_group_list_json();
// GET /apis/corehold.dev.
boost::json::object own_group_json();
// GET /api/v1.
boost::json::object core_resource_list_json();
// GET /apis/corehold.dev/v1alpha1.
boost::json::object own_resource_list_json();

// The aggregated form of GET /api and GET /apis. `version` is that of apidiscovery.k8s.io:
// "v2", "v2beta1".
boost::json::object aggregated_core_json(std::string_view version);
boost::json::object aggregated_groups_json(std::string_view version);

// The value of the header ETag for this body, with its quotes.
std::string etag_of(std::string_view body);
// Whether a header If-None-Match names this ETag, so that 304 is answered.
bool etag_matches(std::string_view if_none_match, std::string_view etag);

}  // namespace corehold
