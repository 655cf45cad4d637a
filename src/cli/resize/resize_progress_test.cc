// SPDX-License-Identifier: Apache-2.0
#include "cli/resize/resize_progress.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/client/client_testing.h"

namespace corehold {
namespace {

namespace json = boost::json;
using Stage = ResizeProgress::Stage;

// Pod default/web, whose container asks for `cpus` and runs with `actual`.
class ResizeProgressTest : public testing::Test {
 protected:
  ResizeProgressTest() {
    pod_ = pod_object(kWebManifest, "Running");
    set("4", "2");
  }

  void set(const char* cpus, const char* actual) {
    json::object& container = pod_["spec"].as_object()["containers"].as_array().at(0).as_object();
    container["resources"] = {{"requests", {{"cpu", cpus}}}, {"limits", {{"cpu", cpus}}}};
    pod_["status"].as_object()["containerStatuses"] =
        json::array{{{"name", "main"}, {"resources", {{"requests", {{"cpu", actual}}}}}}};
  }

  void add_condition(const char* type, const char* reason, const char* message) {
    pod_["status"].as_object()["conditions"].as_array().push_back(
        {{"type", type}, {"status", "True"}, {"reason", reason}, {"message", message}});
  }

  ResizeProgress now(const char* cpus = "4") const {
    return resize_progress(pod_, {{"main", "cpu", *Quantity::parse(cpus)}});
  }

  json::object pod_{};
};

TEST_F(ResizeProgressTest, IsUndecidedUntilTheNodeSaysSomething) {
  EXPECT_EQ(now(), (ResizeProgress{.stage = Stage::kUndecided}));
  EXPECT_FALSE(now().is_over());
}

TEST_F(ResizeProgressTest, IsDoneWhenTheContainerRunsWithWhatWasAskedFor) {
  set("4", "4000m");
  EXPECT_EQ(now().stage, Stage::kDone);
  EXPECT_TRUE(now().is_over());
  EXPECT_TRUE(now().is_good());
}

TEST_F(ResizeProgressTest, TellsWhatTheConditionsSay) {
  add_condition("PodResizePending", "Deferred", "held by a");
  EXPECT_EQ(now(), (ResizeProgress{.stage = Stage::kDeferred, .message = "held by a"}));
  EXPECT_FALSE(now().is_over());
  pod_["status"].as_object()["conditions"].as_array().clear();
  add_condition("PodResizePending", "Infeasible", "too many");
  EXPECT_EQ(now(), (ResizeProgress{.stage = Stage::kInfeasible, .message = "too many"}));
  EXPECT_TRUE(now().is_over());
  EXPECT_FALSE(now().is_good());
}

TEST_F(ResizeProgressTest, IsNotDoneWhileInProgressWhateverTheResourcesSay) {
  set("4", "4");
  add_condition("PodResizeInProgress", "", "");
  EXPECT_EQ(now().stage, Stage::kInProgress);
  pod_["status"].as_object()["conditions"].as_array().back().as_object()["status"] = "False";
  EXPECT_EQ(now().stage, Stage::kDone);
}

TEST_F(ResizeProgressTest, NoticesThatSomethingElseIsAskedForOrThePodEnds) {
  EXPECT_EQ(now("6").stage, Stage::kReplaced);
  pod_["metadata"].as_object()["deletionTimestamp"] = "2026-11-16T04:57:42Z";
  EXPECT_EQ(now().stage, Stage::kEnded);
  EXPECT_FALSE(now().is_good());
}

TEST_F(ResizeProgressTest, APodThatHasNotStartedWillStartWithIt) {
  pod_["status"] = json::object{{"phase", "Pending"}};
  EXPECT_EQ(now().stage, Stage::kNotRunning);
  EXPECT_TRUE(now().is_good());
}

}  // namespace
}  // namespace corehold
