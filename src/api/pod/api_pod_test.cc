// SPDX-License-Identifier: Apache-2.0
#include "api/pod/api_pod.h"

#include <type_traits>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace json = boost::json;

// What takes an ApiPod is not given JSON that it would have to read.
static_assert(!std::is_convertible_v<json::object, ApiPod>);
static_assert(!std::is_constructible_v<ApiPod, json::object>);
static_assert(!std::is_constructible_v<ApiPod, Pod>);

json::object pod_with_status(std::string_view restart_policy = "Always") {
  return json::parse(R"({"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[
      {"name":"c","resources":{"limits":{"cpu":"2","memory":"1Gi"},
       "requests":{"cpu":"2","memory":"1Gi"}}}],"restartPolicy":")" +
                     std::string(restart_policy) + R"("},
      "status":{"phase":7,"conditions":[{"type":"mine"}],"qosClass":"none of them"}})")
      .as_object();
}

TEST(ApiPods, HaveTheModelOfTheirJson) {
  const auto made = ApiPod::read(pod_with_status());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pod().name, "p");
  EXPECT_EQ(made->pod().labels.at("a"), "b");
  EXPECT_EQ(made->pod().containers.at(0).limit(kCpu), Quantity::of(2));
  EXPECT_EQ(made->json(), pod_with_status());
}

TEST(ApiPods, DoNotReadTheStatus) {
  const auto made = ApiPod::read(pod_with_status());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->pod().qos_class, "");
  EXPECT_EQ(made->pod().phase, "");
}

TEST(ApiPods, LeaveWhatCannotBeReadWhereItIs) {
  json::object odd = pod_with_status("Sometimes");
  EXPECT_FALSE(ApiPod::take(odd));
  EXPECT_EQ(odd, pod_with_status("Sometimes"));
}

TEST(ApiPods, AreStoredWithNothingOfTheirStatusButConditions) {
  auto made = ApiPod::read(pod_with_status());
  ASSERT_TRUE(made);
  EXPECT_EQ(json::serialize(std::move(*made).take_stored().raw->at("status")),
            R"({"conditions":[{"type":"mine"}]})");
  json::object plain = pod_with_status();
  plain.erase("status");
  made = ApiPod::read(plain);
  ASSERT_TRUE(made);
  EXPECT_EQ(std::move(*made).take_stored().raw.get(), plain);
}

TEST(ApiPods, ThatAreNewSayTheirQosClass) {
  auto made = ApiPod::read(pod_with_status());
  ASSERT_TRUE(made);
  made->set_new_status();
  EXPECT_EQ(json::serialize(made->json().at("status")),
            R"({"phase":"Pending","qosClass":"Guaranteed"})");
}

}  // namespace
}  // namespace corehold
