// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_summary.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/pod/pod_object.h"
#include "pod/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;
using Stage = ContainerView::Stage;

class PodSummaryOf : public testing::Test {
 protected:
  PodSummary summary() {
    const auto read = pod_summary(to_json(view_));
    EXPECT_TRUE(read);
    return read ? *read : PodSummary{};
  }

  Pod pod_ = pod_of("pg-0", {"init:setup cpu=1", "main cpu=2", "log cpu=1"});
  PodView view_{
      .pod = pod_,
      .phase = "Running",
      .scheduled = true,
      .created_at = std::chrono::seconds{1'700'000'000},
      .init_containers = {{.name = "setup", .stage = Stage::kTerminated, .exit = ContainerExit{}}},
      .containers = {{.name = "main", .stage = Stage::kRunning, .restarts = 2},
                     {.name = "log", .stage = Stage::kRunning, .restarts = 1}}};
};

TEST_F(PodSummaryOf, CountsContainersAndRestarts) {
  EXPECT_EQ(summary().name, "pg-0");
  EXPECT_EQ(summary().status, "Running");
  EXPECT_EQ(summary().ready, 2);
  EXPECT_EQ(summary().containers, 2);
  EXPECT_EQ(summary().restarts, 3);
  EXPECT_EQ(summary().created_at, std::chrono::seconds{1'700'000'000});
}

TEST_F(PodSummaryOf, ShowsTheFirstTrouble) {
  view_.containers[1] = {.name = "log", .stage = Stage::kWaiting, .reason = "CrashLoopBackOff"};
  EXPECT_EQ(summary().status, "CrashLoopBackOff");
  EXPECT_EQ(summary().ready, 1);
  view_.init_containers[0].exit->code = 3;
  EXPECT_EQ(summary().status, "Init:Error");
  view_.phase = "Failed";
  view_.reason = "SMTAlignmentError";
  view_.message = "SMT Alignment Error: requested 3";
  EXPECT_EQ(summary().status, "SMTAlignmentError");
  EXPECT_EQ(summary().message, view_.message);
}

TEST_F(PodSummaryOf, ShowsAResizeThatWaits) {
  EXPECT_EQ(summary().resize, "");
  json::object object = to_json(view_);
  json::array& conditions = object.at("status").at("conditions").as_array();
  for (const char* state : {"False", "True"}) {
    conditions.push_back({{"type", "PodResizePending"}, {"status", state}, {"reason", "Deferred"}});
    EXPECT_EQ(pod_summary(object)->resize, state == std::string_view("True") ? "Deferred" : "");
  }
}

TEST_F(PodSummaryOf, ShowsWhatEnds) {
  view_.phase = "Succeeded";
  for (ContainerView& view : view_.containers) {
    view.stage = Stage::kTerminated;
    view.exit = ContainerExit{};
  }
  EXPECT_EQ(summary().status, "Completed");
  view_.deleted_at = std::chrono::seconds{1'700'000'009};
  EXPECT_EQ(summary().status, "Terminating");
}

TEST_F(PodSummaryOf, AWaitingPodSaysWhatFor) {
  view_.phase = "Pending";
  view_.message = "4 CPUs asked for, 2 free";
  view_.scheduled = false;
  view_.init_containers.clear();
  view_.containers.clear();
  EXPECT_EQ(summary().status, "Pending");
  EXPECT_EQ(summary().message, "4 CPUs asked for, 2 free");
}

TEST(PodSummaries, NameTheFieldThatIsWrong) {
  const auto problem = [](std::string_view text) {
    const auto read = pod_summaries(json::parse(text));
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(problem(R"({"kind":"PodList","items":[{"status":{"containerStatuses":[1]}}]})"),
            "items[0]: status.containerStatuses[0]: must be an object");
  EXPECT_EQ(problem(R"({"kind":"PodList","items":[{"metadata":{"name":3}}]})"),
            "items[0]: metadata.name: must be a string; quote it if it looks like something else");
  EXPECT_EQ(problem(R"({"kind":"Status"})"), "kind: must be PodList, not \"Status\"");
  EXPECT_EQ(problem(R"({"kind":"PodList"})"), "");
}

}  // namespace
}  // namespace corehold
