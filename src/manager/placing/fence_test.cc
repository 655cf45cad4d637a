// SPDX-License-Identifier: Apache-2.0
//
// The rest of the machine leaves before a container is put on CPUs of its own, and comes back only
// when the container has left.
#include "manager/placing/fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/placing/facts.h"
#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// CPUs 0-7, siblings are neighbours, CPU 0 reserved.
class FencedNode : public testing::Test {
 protected:
  FencedNode() {
    node_.rules().fences = true;
    node_.restart();
  }

  static Pod exclusive(const std::string& name, int cpus = 2) {
    return pod_of(name, {"main cpu=" + std::to_string(cpus) + " memory=1Gi"});
  }
  // The events about tasks that had to go, since the last look at events.
  std::vector<std::string> displaced() {
    std::vector<std::string> events = node_.take_events();
    std::erase_if(events,
                  [](const std::string& event) { return !event.starts_with("TasksDisplaced"); });
    return events;
  }
  CheckpointSaved saved() { return {.revision = node_.node().placing.revision}; }
  const FenceState& fence() { return node_.node().placing.fence; }

  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};
};

TEST_F(FencedNode, IsConfirmedBeforeTheContainerStarts) {
  node_.send(CreatePod{.pod = exclusive("db")});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(saved()), ElementsAre("podinfo db main=2-3", "save db", "isolate 2-3"));
  EXPECT_THAT(node_.send(PodInfoWritten{.uid = "db"}), IsEmpty());
  EXPECT_THAT(node_.send(PodSaved{.uid = "db"}), IsEmpty());
  EXPECT_THAT(node_.send(Isolated{.held = cpus("2-3")}), ElementsAre("start db/main#0 on 2-3"));
}

TEST_F(FencedNode, OpensWhenTheContainerHasEndedAndThatIsSaved) {
  node_.create(exclusive("db"));
  EXPECT_EQ(fence().confirmed, cpus("2-3"));
  node_.send(DeletePod{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(ContainerExited{.container = {"db", "main"}, .attempt = 0}),
              Not(Contains(HasSubstr("isolate"))));
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(saved()), Contains("isolate "));
}

TEST_F(FencedNode, ThatFailsIsToldAndTriedAgainAndTheContainerStarts) {
  node_.send(CreatePod{.pod = exclusive("db")});
  node_.send(PodSaved{.uid = "db"});
  node_.send(saved());
  node_.send(PodInfoWritten{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(
      node_.send(IsolateFailed{.held = cpus("2-3"), .error = {Code::kIo, "write x: EACCES"}}),
      ElementsAre("timer fence 1s", "start db/main#0 on 2-3"));
  EXPECT_THAT(node_.take_events(), Contains("CpusNotExclusive"));
  ASSERT_EQ(fence().leftovers.size(), 1U);
  EXPECT_EQ(leftovers_text(fence().leftovers), "the rest of the machine (write x: EACCES)");
  EXPECT_THAT(node_.send(TimerFired{{TimerKey::Kind::kFence, {}}}), ElementsAre("isolate 2-3"));
  node_.send(Isolated{.held = cpus("2-3")});
  EXPECT_THAT(fence().leftovers, IsEmpty());
  EXPECT_THAT(node_.take_events(), Contains("CpusExclusive"));
}

TEST_F(FencedNode, ThatCouldNotBeGivenBackIsTriedAgainWithTheNextReconcile) {
  node_.create(exclusive("db"));
  node_.send(DeletePod{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  node_.send(ContainerExited{.container = {"db", "main"}, .attempt = 0});
  node_.send(PodSaved{.uid = "db"});
  ASSERT_THAT(node_.send(saved()), Contains("isolate "));
  node_.send(Isolated{.held = {}, .leftovers = {{.what = "cpuset x", .reason = "EBUSY"}}});
  EXPECT_EQ(intruders_text({}, fence().leftovers), "not yet given back: cpuset x (EBUSY)");
  node_.send(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  EXPECT_THAT(node_.send(Observed{.online = cpus("0-7")}), Contains("isolate "));
  node_.send(Isolated{.held = {}});
  node_.send(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  EXPECT_THAT(node_.send(Observed{.online = cpus("0-7")}), Not(Contains(HasSubstr("isolate"))));
}

TEST_F(FencedNode, ThatWaitsForItsNextTryDoesNotHoldUpTheNextGrant) {
  node_.create(exclusive("db"));
  node_.send(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  EXPECT_THAT(node_.send(Observed{
                  .seen = {{.container = {"db", "main"}, .running = true, .cpus = cpus("2-3")}},
                  .online = cpus("0-7")}),
              Contains("isolate 2-3"));
  node_.send(IsolateFailed{.held = cpus("2-3"), .error = {Code::kIo, "write x: EACCES"}});
  node_.send(CreatePod{.pod = exclusive("web")});
  node_.send(PodSaved{.uid = "web"});
  EXPECT_THAT(node_.send(saved()), testing::IsSupersetOf({"cancel fence", "isolate 2-5"}));
}

TEST_F(FencedNode, NamesWhatStaysOnceAndWhoseTasksHadToGo) {
  node_.send(CreatePod{.pod = exclusive("db")});
  node_.send(PodSaved{.uid = "db"});
  node_.send(saved());
  const Isolated answer{.held = cpus("2-3"),
                        .leftovers = {{.what = "cpuset /docker", .reason = "somebody's"}},
                        .displaced = {"task 9 (db), pinned to CPUs 2"}};
  node_.send(answer);
  EXPECT_THAT(node_.take_events(),
              testing::IsSupersetOf({"CpusNotExclusive", "TasksDisplaced db/main"}));
  node_.send(PodInfoWritten{.uid = "db"});
  node_.send(PodSaved{.uid = "db"});
  node_.send(ContainerStarted{.container = {"db", "main"}, .attempt = 0});
  node_.take_events();
  node_.send(TimerFired{{TimerKey::Kind::kReconcile, {}}});
  node_.send(Observed{.seen = {{.container = {"db", "main"}, .running = true, .cpus = cpus("2-3")}},
                      .online = cpus("0-7")});
  node_.send(answer);
  EXPECT_THAT(node_.take_events(), IsEmpty());
}

TEST_F(FencedNode, NamesTasksThatHadToGoToTheContainerThatWaitsForTheCpus) {
  node_.create(exclusive("db"));
  node_.take_events();
  node_.send(CreatePod{.pod = exclusive("web")});
  node_.send(PodSaved{.uid = "web"});
  ASSERT_THAT(node_.send(saved()), Contains("isolate 2-5"));
  node_.send(Isolated{.held = cpus("2-5"), .displaced = {"task 9 (etl), pinned to CPUs 4"}});
  EXPECT_THAT(displaced(), ElementsAre("TasksDisplaced web/main"));
}

TEST_F(FencedNode, NamesTasksThatHadToGoToAContainerThatGrows) {
  node_.create(exclusive("db"));
  node_.send(node_.wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  ASSERT_THAT(node_.send(saved()), Contains("isolate 2-5"));
  node_.send(Isolated{.held = cpus("2-5"), .displaced = {"task 9 (etl), pinned to CPUs 4"}});
  EXPECT_THAT(displaced(), ElementsAre("TasksDisplaced db/main"));
}

// A task that has come since the grant.
TEST_F(FencedNode, NamesTasksThatHadToGoToTheNodeWhereNobodyWaits) {
  node_.create(exclusive("db"));
  ASSERT_THAT(node_.send(CgroupCreated{}), ElementsAre("isolate 2-3"));
  node_.send(Isolated{.held = cpus("2-3"), .displaced = {"task 9 (etl), pinned to CPUs 2"}});
  EXPECT_THAT(displaced(), ElementsAre("TasksDisplaced"));
  // The next agent finds the container where it belongs.
  node_.restart();
  ASSERT_THAT(node_.send(CgroupCreated{}), ElementsAre("isolate 2-3"));
  node_.send(Isolated{.held = cpus("2-3"), .displaced = {"task 9 (etl), pinned to CPUs 2"}});
  EXPECT_THAT(displaced(), ElementsAre("TasksDisplaced"));
}

TEST_F(FencedNode, CountsThePinsThatWereGivenBack) {
  node_.create(exclusive("db"));
  node_.send(CgroupCreated{});
  node_.take_counts();
  node_.send(Isolated{.held = cpus("2-3"), .pins_restored = 3});
  EXPECT_THAT(node_.take_counts(), ElementsAre("corehold_pins_restored_total 3"));
  node_.send(CgroupCreated{});
  node_.send(Isolated{.held = cpus("2-3")});
  EXPECT_THAT(node_.take_counts(), IsEmpty());
}

TEST_F(FencedNode, IsAskedForAgainWhenSomebodyMakesACgroup) {
  EXPECT_THAT(node_.send(CgroupCreated{}), IsEmpty());  // nothing is held
  node_.create(exclusive("db"));
  EXPECT_THAT(node_.send(CgroupCreated{}), ElementsAre("isolate 2-3"));
  // What is being done may have looked before; it is done once more, and not for each cgroup.
  EXPECT_THAT(node_.send(CgroupCreated{}), IsEmpty());
  EXPECT_THAT(node_.send(CgroupCreated{}), IsEmpty());
  EXPECT_THAT(node_.send(Isolated{.held = cpus("2-3")}), ElementsAre("isolate 2-3"));
  EXPECT_THAT(node_.send(Isolated{.held = cpus("2-3")}), IsEmpty());
}

TEST_F(FencedNode, IsAskedForAgainWhenSomebodyMakesACgroupDuringTheFirstGrant) {
  node_.send(CreatePod{.pod = exclusive("db")});
  node_.send(PodSaved{.uid = "db"});
  ASSERT_THAT(node_.send(saved()), Contains("isolate 2-3"));
  EXPECT_THAT(node_.send(CgroupCreated{}), IsEmpty());
  EXPECT_THAT(node_.send(Isolated{.held = cpus("2-3")}), Contains("isolate 2-3"));
}

TEST_F(FencedNode, ThatHasFailedWaitsForItsNextTryWhenSomebodyMakesACgroup) {
  node_.create(exclusive("db"));
  node_.send(CgroupCreated{});
  node_.send(IsolateFailed{.held = cpus("2-3"), .error = {Code::kIo, "write x: EACCES"}});
  EXPECT_THAT(node_.send(CgroupCreated{}), IsEmpty());
}

TEST_F(FencedNode, IsThereAlsoWhereTheKernelLetsNobodyMoveAnInterrupt) {
  node_.send(CreatePod{.pod = exclusive("db")});
  node_.send(PodSaved{.uid = "db"});
  node_.send(saved());
  const Leftover managed{.stays = Leftover::Stays::kByNature, .what = "interrupt 24 (nvme0q1)"};
  node_.send(Isolated{.held = cpus("2-3"), .leftovers = {managed}});
  EXPECT_THAT(fence().leftovers, IsEmpty());
  EXPECT_THAT(fence().by_nature, testing::ElementsAre(managed));
  EXPECT_THAT(node_.take_events(),
              testing::AllOf(Contains("NotMovable"), Not(Contains("CpusNotExclusive"))));
  // With other CPUs held the advice is another, and the interrupt the same.
  node_.send(CreatePod{.pod = exclusive("web")});
  node_.send(PodSaved{.uid = "web"});
  node_.send(saved());
  node_.send(Isolated{.held = cpus("2-5"),
                      .leftovers = {{.stays = Leftover::Stays::kByNature,
                                     .what = "interrupt 24 (nvme0q1)",
                                     .advice = "boot with isolcpus=managed_irq,2-5"}}});
  EXPECT_THAT(node_.take_events(), Not(Contains("NotMovable")));
}

TEST_F(FencedNode, IsAskedForAgainByTheNextAgent) {
  node_.create(exclusive("db"));
  EXPECT_THAT(node_.restart(), Contains("isolate 2-3"));
  EXPECT_EQ(fence().confirmed, cpus("2-3"));
}

TEST_F(FencedNode, IsConfirmedBeforeAContainerGrows) {
  node_.create(exclusive("db"));
  node_.send(node_.wish("db", {{"main", "4"}}));
  node_.send(PodSaved{.uid = "db"});
  EXPECT_THAT(node_.send(saved()),
              testing::AllOf(Contains("isolate 2-5"), Not(Contains("set db/main to 2-5"))));
  EXPECT_THAT(node_.send(Isolated{.held = cpus("2-5")}), Contains("set db/main to 2-5"));
}

TEST_F(FencedNode, LeavesCpusToTheRestOfTheMachine) {
  node_.rules().min_system_cpus = 6;
  node_.create(exclusive("db"));
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
  node_.create(exclusive("web"));
  EXPECT_EQ(node_.assigned("web", "main"), CpuSet{});
  EXPECT_EQ(node_.placed("web").waits_for,
            "not enough cpus available to satisfy request: CPUs 0-1,6-7 would be left to the rest "
            "of the machine, isolation.minSystemCPUs is 6");
  node_.run(node_.wish("db", {{"main", "4"}}));
  EXPECT_EQ(node_.assigned("db", "main"), cpus("2-3"));
  EXPECT_EQ(node_.placed("db").resize.verdict, ResizeVerdict::kDeferred);
}

TEST(OpenNode, AsksForNoFence) {
  TestNode node(machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1});
  EXPECT_THAT(node.create(pod_of("db", {"main cpu=2 memory=1Gi"})),
              Not(Contains(HasSubstr("isolate"))));
  EXPECT_THAT(node.send(CgroupCreated{}), IsEmpty());
}

}  // namespace
}  // namespace corehold
