// SPDX-License-Identifier: Apache-2.0
#include "api/serve/discovery.h"

#include <algorithm>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/serve/openapi.h"
#include "api/serve/resource.h"

namespace corehold {
namespace {

namespace json = boost::json;

TEST(Discovery, TellsOurOwnGroupInBothForms) {
  const json::object list = own_resource_list_json();
  EXPECT_EQ(list.at("groupVersion"), "corehold.dev/v1alpha1");
  EXPECT_EQ(list.at("resources").at(0).at("name"), "cpus");
  const json::object aggregated = aggregated_groups_json("v2beta1");
  EXPECT_EQ(aggregated.at("apiVersion"), "apidiscovery.k8s.io/v2beta1");
  const json::value& group = aggregated.at("items").at(0);
  EXPECT_EQ(group.at("metadata").at("name"), "corehold.dev");
  EXPECT_EQ(group.at("versions").at(0).at("resources").at(0).at("resource"), "cpus");
  EXPECT_EQ(own_group_json().at("preferredVersion"),
            api_group_list_json().at("groups").at(0).at("preferredVersion"));
}

TEST(Etag, ChangesWithTheBodyAndIsFoundInAList) {
  const std::string etag = etag_of("one");
  EXPECT_NE(etag, etag_of("two"));
  EXPECT_EQ(etag, etag_of("one"));
  EXPECT_TRUE(etag_matches(etag, etag));
  EXPECT_TRUE(etag_matches("\"x\", W/" + etag, etag));
  EXPECT_TRUE(etag_matches("*", etag));
  EXPECT_FALSE(etag_matches("", etag));
  EXPECT_FALSE(etag_matches("\"x\"", etag));
}

TEST(OpenApi, TellsKubectlThatTheServerChecksFields) {
  const json::object document = openapi_core_json();
  for (const char* path : {"/api/v1/namespaces/{namespace}/pods/{name}", "/api/v1/nodes/{name}"}) {
    const json::value& patch = document.at("paths").at(path).at("patch");
    const json::array& parameters = patch.at("parameters").as_array();
    EXPECT_TRUE(std::any_of(parameters.begin(), parameters.end(), [](const json::value& one) {
      return one.at("name") == "fieldValidation" && one.at("in") == "query";
    })) << path;
    EXPECT_EQ(patch.at("x-kubernetes-group-version-kind").at("version"), "v1");
  }
  for (const ResourceInfo& info : served_resources()) {
    const std::string name = "io.k8s.api.core.v1." + std::string(info.kind);
    EXPECT_EQ(document.at("components")
                  .at("schemas")
                  .at(name)
                  .at("x-kubernetes-group-version-kind")
                  .at(0)
                  .at("kind"),
              json::value(info.kind));
  }
}

}  // namespace
}  // namespace corehold
