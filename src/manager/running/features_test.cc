// SPDX-License-Identifier: Apache-2.0
//
// Pods that need features: refused when they come, and when the node has lost the feature.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "features/known_features.h"
#include "features/registry/testing.h"
#include "manager/step.h"
#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class ManagerFeatures : public testing::Test {
 protected:
  ManagerFeatures() { declare(""); }

  // The node has this one feature, or none; needing() asks for kRestart.
  void declare(const std::string& feature) {
    node_.rules().features = OwnFeatures::of(
        extension_registry(), {.gates = {{feature, true}}, .version = version("1.37.0")});
  }
  static Pod needing(const std::string& name, int cpus = 2) {
    Pod pod = pod_of(name, {"main cpu=" + std::to_string(cpus) + " memory=1Gi"});
    pod.raw = restart_all_pod().raw;
    return pod;
  }
  static Pod plain(const std::string& name) { return pod_of(name, {"main cpu=2 memory=1Gi"}); }
  void expect_refused(const std::string& uid) {
    EXPECT_EQ(phase_of(node_.pod(uid)), "Failed");
    EXPECT_EQ(node_.pod(uid).record.reason, "PodFeatureUnsupported");
    EXPECT_THAT(node_.pod(uid).record.message,
                HasSubstr("not available: RestartAllContainersOnContainerExits ("));
    EXPECT_THAT(node_.take_events(), Contains("PodFeatureUnsupported " + uid));
    EXPECT_THAT(node_.take_counts(), Contains(HasSubstr("kubelet_admission_rejections_total")));
  }

  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};
};

TEST_F(ManagerFeatures, FailANewPodHoweverItCame) {
  for (const Source source : {Source::kApi, Source::kStatic, Source::kRunWaiting}) {
    const std::string name = "p" + std::to_string(static_cast<int>(source));
    const auto lines = node_.create(needing(name), source);
    EXPECT_THAT(lines, Not(Contains(HasSubstr("start"))));
    if (source != Source::kRunWaiting) expect_refused(name);
  }
  EXPECT_TRUE(node_.node().placing.bookings.cpus.pods.empty());
}

TEST_F(ManagerFeatures, LetInPodsThatNeedNothingOrWhatThereIs) {
  node_.create(plain("plain"));
  EXPECT_EQ(phase_of(node_.pod("plain")), "Running");
  declare(kRestart);
  node_.create(needing("needing"));
  EXPECT_EQ(phase_of(node_.pod("needing")), "Running");
}

TEST_F(ManagerFeatures, AskNothingWithTheGateOff) {
  node_.rules().features.reset();
  node_.create(needing("needing"));
  EXPECT_EQ(phase_of(node_.pod("needing")), "Running");
}

TEST_F(ManagerFeatures, StopAPodThatRunsWhenTheNodeStartsWithoutThem) {
  declare(kRestart);
  node_.create(needing("needing"));
  node_.create(plain("plain"));
  declare("");
  EXPECT_THAT(node_.restart(), Contains("stop needing/main 30s"));
  expect_refused("needing");
  EXPECT_EQ(phase_of(node_.pod("plain")), "Running");
  // Its CPUs are its own for as long as it runs.
  EXPECT_EQ(node_.assigned("needing", "main"), cpus("2-3"));
  // An agent that dies meanwhile is followed by one that goes on stopping it.
  EXPECT_THAT(node_.restart(), Contains("stop needing/main 30s"));
  node_.exit("needing", "main", 143);
  EXPECT_EQ(phase_of(node_.pod("needing")), "Failed");
  EXPECT_FALSE(node_.node().placing.bookings.cpus.pods.contains("needing"));
  // Once failed it stays failed, with the feature back too.
  declare(kRestart);
  node_.restart();
  EXPECT_EQ(phase_of(node_.pod("needing")), "Failed");
  EXPECT_EQ(node_.pod("needing").record.reason, "PodFeatureUnsupported");
}

TEST_F(ManagerFeatures, FailAPodThatWaitedWhenTheNodeStartsWithoutThem) {
  declare(kRestart);
  node_.create(plain("plain"));
  node_.create(needing("needing", 6));
  EXPECT_EQ(phase_of(node_.pod("needing")), "Pending");
  declare("");
  node_.restart();
  expect_refused("needing");
}

TEST_F(ManagerFeatures, LeaveAPodAloneThatWaitsBecauseOfACordon) {
  node_.run(SetCordon{.cordoned = true});
  node_.create(needing("needing"));
  EXPECT_EQ(phase_of(node_.pod("needing")), "Pending");
  node_.run(SetCordon{.cordoned = false});
  expect_refused("needing");
}

}  // namespace
}  // namespace corehold
