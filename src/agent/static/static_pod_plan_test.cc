// SPDX-License-Identifier: Apache-2.0
#include "agent/static/static_pod_plan.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/static/static_pod_file.h"
#include "pod/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class StaticPodPlan : public testing::Test {
 protected:
  static Pod pod(const std::string& name, const std::string& uid, const std::string& path = "") {
    Pod made = pod_of(name, {"main cpu=1"});
    made.uid = uid;
    made.annotations[std::string(kConfigFile)] = path;
    return made;
  }
  void file(const std::string& path, const std::string& name, const std::string& uid) {
    files_[path] = {.pod = pod(name, uid, path), .last_uid = uid};
  }
  // The file that held this pod is in disorder now.
  void broken(const std::string& path, const std::string& last_uid = "") {
    files_[path] = {.problem = path + ":3: oops", .last_uid = last_uid};
  }
  void runs(const std::string& name, const std::string& uid, const std::string& path,
            Source source = Source::kStatic) {
    node_.running.pods[uid].record = {.pod = pod(name, uid, path), .source = source};
  }
  void leaves(const std::string& uid) {
    node_.running.pods[uid].record.deleted_at = std::chrono::milliseconds(1);
  }
  // "+a" and "-b": what is created and removed.
  std::vector<std::string> plan() {
    std::set<std::string> static_pods;
    for (const auto& [uid, pod] : node_.running.pods) {
      if (is_static_pod(pod.record)) static_pods.insert(uid);
    }
    StaticPlan made = plan_static_pods(files_, node_, PodNames::of(node_), static_pods);
    problems_ = std::move(made.problems);
    std::vector<std::string> lines;
    for (const Pod& each : made.create) lines.push_back("+" + each.uid);
    for (const std::string& uid : made.remove) lines.push_back("-" + uid);
    return lines;
  }

  StaticFiles files_;
  NodeState node_;
  std::map<std::string, std::string> problems_;
};

TEST_F(StaticPodPlan, CreatesWhatIsNotThereAndLeavesWhatIs) {
  file("a.yaml", "a", "a1");
  file("b.yaml", "b", "b1");
  runs("a", "a1", "a.yaml");
  EXPECT_THAT(plan(), ElementsAre("+b1"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(StaticPodPlan, RemovesAPodWithoutAFileOnce) {
  runs("a", "a1", "a.yaml");
  EXPECT_THAT(plan(), ElementsAre("-a1"));
  leaves("a1");
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(StaticPodPlan, HasNothingToDoWithOtherPods) {
  runs("a", "a1", "", Source::kApi);
  runs("b", "b1", "", Source::kRun);
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(StaticPodPlan, KnowsAPodThatWasFoundRunningByItsHash) {
  runs("a", "a1", "a.yaml", Source::kApi);
  node_.running.pods["a1"].record.pod.annotations[std::string(kConfigHash)] = "a1";
  EXPECT_THAT(plan(), ElementsAre("-a1"));
  node_.running.pods["a1"].record.pod.annotations[std::string(kConfigHash)] = "another";
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(StaticPodPlan, ReplacesAChangedPodWhenTheOldOneIsGone) {
  file("a.yaml", "a", "a2");
  runs("a", "a1", "a.yaml");
  EXPECT_THAT(plan(), ElementsAre("-a1"));
  leaves("a1");
  EXPECT_THAT(plan(), IsEmpty());
  node_.running.pods.clear();
  EXPECT_THAT(plan(), ElementsAre("+a2"));
}

TEST_F(StaticPodPlan, RunsAPodAgainWhoseFileWasAwayForAMoment) {
  file("a.yaml", "a", "a1");
  runs("a", "a1", "a.yaml");
  leaves("a1");
  EXPECT_THAT(plan(), IsEmpty());
  node_.running.pods.clear();
  EXPECT_THAT(plan(), ElementsAre("+a1"));
}

TEST_F(StaticPodPlan, ARenamedFileChangesNothing) {
  file("b.yaml", "a", "a1");
  runs("a", "a1", "a.yaml");
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(StaticPodPlan, AFileInDisorderKeepsItsPod) {
  broken("a.yaml", "a1");
  runs("a", "a1", "a.yaml");
  runs("b", "b1", "b.yaml");
  EXPECT_THAT(plan(), ElementsAre("-b1"));
  EXPECT_THAT(problems_, ElementsAre(Pair("a.yaml", "a.yaml:3: oops")));
}

TEST_F(StaticPodPlan, AFileInDisorderKeepsThePodOfTheAgentsFormerLife) {
  broken("a.yaml");
  runs("a", "a1", "a.yaml");
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(StaticPodPlan, AFileInDisorderDoesNotKeepAnEarlierPodOfItsPath) {
  broken("a.yaml", "a2");
  runs("a", "a1", "a.yaml");
  EXPECT_THAT(plan(), ElementsAre("-a1"));
}

TEST_F(StaticPodPlan, AFileInDisorderDoesNotKeepAPodThatAnotherFileHadLast) {
  broken("a.yaml");
  file("b.yaml", "b", "b2");
  files_["b.yaml"].last_uid = "a1";
  runs("a", "a1", "a.yaml");
  EXPECT_THAT(plan(), ElementsAre("+b2", "-a1"));
}

TEST_F(StaticPodPlan, TheFirstOfTwoFilesWithTheSamePodCounts) {
  file("a.yaml", "a", "a1");
  file("b.yaml", "a", "a2");
  file("c.yaml", "a", "a1");
  EXPECT_THAT(plan(), ElementsAre("+a1"));
  EXPECT_THAT(
      problems_,
      ElementsAre(Pair("b.yaml", "b.yaml: pod default/a is in a.yaml already, which counts"),
                  Pair("c.yaml", "c.yaml: pod default/a is in a.yaml already, which counts")));
}

TEST_F(StaticPodPlan, APodOfTheApiKeepsItsName) {
  file("a.yaml", "a", "a1");
  runs("a", "other", "", Source::kApi);
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_THAT(problems_, SizeIs(1));
  EXPECT_THAT(problems_["a.yaml"], testing::HasSubstr("there is a pod default/a already"));
  node_.running.pods.clear();
  EXPECT_THAT(plan(), ElementsAre("+a1"));
  EXPECT_THAT(problems_, IsEmpty());
}

}  // namespace
}  // namespace corehold
