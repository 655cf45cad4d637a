// SPDX-License-Identifier: Apache-2.0
#include "api/serve/media_type.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

constexpr std::string_view kKubectlTable =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;"
    "g=meta.k8s.io,application/json";
constexpr std::string_view kKubectlDiscovery =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;"
    "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

AcceptedForm accepted(std::string_view header, Endpoint endpoint = Endpoint::kResource) {
  const auto form = negotiate(header, endpoint);
  EXPECT_TRUE(form) << header;
  return form ? *form : AcceptedForm{};
}

TEST(Negotiation, GivesKubectlWhatItAsksFor) {
  EXPECT_EQ(accepted(kKubectlTable), (AcceptedForm{AnswerForm::kTable, "v1"}));
  EXPECT_EQ(accepted("application/vnd.kubernetes.protobuf,application/json"), AcceptedForm{});
  EXPECT_EQ(accepted("application/json, */*"), AcceptedForm{});
  EXPECT_EQ(accepted(""), AcceptedForm{});
  const AcceptedForm discovery = accepted(kKubectlDiscovery, Endpoint::kDiscovery);
  EXPECT_EQ(discovery.form, AnswerForm::kAggregatedDiscovery);
  EXPECT_EQ(discovery.content_type,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(accepted("application/json;as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io",
                     Endpoint::kDiscovery)
                .version,
            "v2beta1");
}

TEST(Negotiation, TakesTheBestClauseItCanServe) {
  EXPECT_EQ(accepted("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
            AcceptedForm{});
  EXPECT_EQ(accepted("text/csv, application/json;q=0.5").form, AnswerForm::kObject);
  EXPECT_EQ(accepted("application/json;q=0.1, application/json;as=Table;v=v1beta1;g=meta.k8s.io"),
            (AcceptedForm{AnswerForm::kTable, "v1beta1"}));
  EXPECT_EQ(accepted("*/*, application/json;as=PartialObjectMetadata;g=\"meta.k8s.io\";v=v1").form,
            AnswerForm::kPartialMetadata);
  EXPECT_EQ(accepted("application/yaml").content_type, "application/yaml");
  EXPECT_EQ(accepted("application/vnd.kubernetes.protobuf").content_type, "application/json");
}

TEST(Negotiation, RefusesWhatNobodyCouldRead) {
  for (const char* header :
       {"text/csv", "application/json;q=0", "application/json;as=Chart;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v1", ";;,,=", "application/"}) {
    EXPECT_FALSE(negotiate(header, Endpoint::kResource)) << header;
  }
  EXPECT_FALSE(negotiate("application/json;as=Table;v=v1;g=meta.k8s.io", Endpoint::kDiscovery));
}

TEST(RequestBody, IsWhatItsContentTypeSays) {
  EXPECT_EQ(*object_body_format(""), BodyFormat::kJson);
  EXPECT_EQ(*object_body_format("Application/JSON; charset=utf-8"), BodyFormat::kJson);
  EXPECT_EQ(*object_body_format("application/yaml"), BodyFormat::kYaml);
  EXPECT_FALSE(object_body_format("application/vnd.kubernetes.protobuf"));
}

}  // namespace
}  // namespace corehold
