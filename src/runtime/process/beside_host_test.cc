// SPDX-License-Identifier: Apache-2.0
//
// Work of the process runtime that takes long is done beside the loop: a container whose work does
// not end costs itself alone, and calls that come while others are under way keep their promises.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/container_directory.h"
#include "runtime/process/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = RuntimeBench::Kind;

std::unique_ptr<Confinement> confinement_of(const RuntimeBench& bench, Kind kind) {
  return kind == Kind::kCgroup ? find_confinement({.name = bench.name()})
                               : make_affinity("for a test");
}

// Killing a container called "stuck" waits until the gate opens.
class GatedConfinement final : public Confinement {
 public:
  GatedConfinement(std::shared_future<void> gate, std::unique_ptr<Confinement> real)
      : gate_(std::move(gate)), real_(std::move(real)) {}

  Capabilities capabilities() const override { return real_->capabilities(); }
  boost::json::object describe() const override { return real_->describe(); }
  Result<void> confine(const ContainerProcesses& container,
                       const Placement& placement) const override {
    return real_->confine(container, placement);
  }
  Result<void> set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const override {
    return real_->set_cpus(container, cpus);
  }
  Result<void> place(const ContainerProcesses& container, pid_t pid) const override {
    return real_->place(container, pid);
  }
  Result<KernelView> look(const ContainerProcesses& container) const override {
    return real_->look(container);
  }
  Result<std::set<pid_t>> processes(const ContainerProcesses& container) const override {
    return real_->processes(container);
  }
  Result<std::vector<LiveContainer>> unknown(const std::set<std::string>& known,
                                             EmptyCgroups empty) const override {
    return real_->unknown(known, empty);
  }
  Result<std::size_t> kill(const ContainerProcesses& container) const override {
    const bool has_begun = container.supervisor > 0;
    if (container.ref.container == "stuck" && has_begun) gate_.wait();
    return real_->kill(container);
  }
  Result<bool> remove(const ContainerProcesses& container) const override {
    return real_->remove(container);
  }

 private:
  std::shared_future<void> gate_;
  std::unique_ptr<Confinement> real_;
};

class WorkThatDoesNotEnd : public testing::TestWithParam<Kind> {
 protected:
  WorkThatDoesNotEnd() {
    bench_.restart(std::make_unique<GatedConfinement>(gate_.get_future().share(),
                                                      confinement_of(bench_, GetParam())));
  }
  ~WorkThatDoesNotEnd() override { open(); }

  void open() {
    if (!std::exchange(is_open_, true)) gate_.set_value();
  }
  Launch of_pod(const std::string& uid, const std::string& container) {
    Launch launch = bench_.shell(container, "exec sleep 1000", "0-1");
    launch.container.pod = uid;
    return launch;
  }
  // Asks the runtime to kill it, and does not wait.
  void begin_to_kill(const Launch& launch) {
    bench_.runtime().stop(launch.container, {}, [this](const Result<void>&) { is_killed_ = true; });
  }

  Launch shared_of_pod(const std::string& uid, const std::string& container) {
    Launch launch = of_pod(uid, container);
    launch.placement.owner = CpuOwner::kSharedPool;
    return launch;
  }
  std::string cpus_of(const Launch& launch) {
    const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
    return main ? allowed_cpus(main->process.pid) : "";
  }

  RuntimeBench bench_{GetParam()};  // goes after the gate has opened
  std::promise<void> gate_{};
  bool is_open_ = false;
  bool is_killed_ = false;
};

INSTANTIATE_TEST_SUITE_P(, WorkThatDoesNotEnd, testing::Values(Kind::kCgroup, Kind::kAffinity),
                         [](const auto& kind) {
                           return kind.param == Kind::kCgroup ? "InCgroups" : "ByAffinity";
                         });

TEST_P(WorkThatDoesNotEnd, HoldsUpNoOtherPod) {
  const Launch stuck = of_pod("uid-1", "stuck");
  const Launch other = of_pod("uid-2", "main");
  const Launch next = of_pod("uid-3", "main");
  ASSERT_TRUE(bench_.start(stuck));
  ASSERT_TRUE(bench_.start(other));
  begin_to_kill(stuck);
  ASSERT_TRUE(bench_.update(other.container, "1"));
  ASSERT_TRUE(bench_.kill(other.container));
  const auto exit = bench_.wait_for_exit();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->container, other.container);
  ASSERT_TRUE(bench_.remove(other.container));
  ASSERT_TRUE(bench_.start(next));
  const auto all = bench_.list();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 2U);
  EXPECT_FALSE(is_killed_);
  open();
  EXPECT_TRUE(bench_.eventually([this] { return is_killed_; }));
  const auto last = bench_.wait_for_exit();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->container, stuck.container);
}

// Grants of CPUs wait until the pool has left them.
TEST_P(WorkThatDoesNotEnd, DoesNotHoldUpTheSharedPool) {
  const Launch stuck = shared_of_pod("uid-1", "stuck");
  const Launch other = shared_of_pod("uid-2", "main");
  ASSERT_TRUE(bench_.start(stuck));
  ASSERT_TRUE(bench_.start(other));
  begin_to_kill(stuck);
  const auto placed = bench_.place_shared("1", {stuck.container, other.container});
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_EQ(cpus_of(stuck), "1");
  EXPECT_EQ(cpus_of(other), "1");
  EXPECT_FALSE(is_killed_);
  open();
  ASSERT_TRUE(bench_.wait_for_exit());
  ASSERT_TRUE(bench_.remove(stuck.container));
  EXPECT_FALSE(bench_.look(stuck.container));
}

// What was asked for before and waits in the lane does not undo what the pool was told since.
TEST_P(WorkThatDoesNotEnd, IsOvertakenByTheSharedPoolForGood) {
  const Launch stuck = shared_of_pod("uid-1", "stuck");
  const Launch beside = shared_of_pod("uid-1", "main");
  ASSERT_TRUE(bench_.start(stuck));
  ASSERT_TRUE(bench_.start(beside));
  begin_to_kill(stuck);
  std::optional<Result<void>> in_lane;
  bench_.runtime().place(beside.container, beside.placement,
                         [&](Result<void> done) { in_lane = std::move(done); });
  ASSERT_TRUE(bench_.place_shared("1", {stuck.container, beside.container}));
  EXPECT_FALSE(in_lane.has_value());
  EXPECT_EQ(cpus_of(beside), "1");
  open();
  ASSERT_TRUE(bench_.eventually([&] { return in_lane.has_value(); }));
  EXPECT_TRUE(*in_lane);
  EXPECT_EQ(cpus_of(beside), "1");
  EXPECT_EQ(bench_.look(beside.container)->cpus.str(), "1");
}

// The other way round: CPUs of its own, asked for after the pool was moved.
TEST_P(WorkThatDoesNotEnd, LeavesAContainerOnCpusThatItGotAfterThePool) {
  const Launch launch = shared_of_pod("uid-1", "main");
  ASSERT_TRUE(bench_.start(launch));
  std::optional<Result<void>> pool;
  bench_.runtime().place_shared(*CpuSet::parse("1"), {launch.container},
                                [&](Result<void> done) { pool = std::move(done); });
  ASSERT_TRUE(bench_.update(launch.container, "0"));
  ASSERT_TRUE(bench_.eventually([&] { return pool.has_value(); }));
  EXPECT_TRUE(*pool);
  EXPECT_EQ(cpus_of(launch), "0");
}

TEST_P(WorkThatDoesNotEnd, DoesNotKeepTheRuntimeFromGoing) {
  const Launch stuck = of_pod("uid-1", "stuck");
  ASSERT_TRUE(bench_.start(stuck));
  begin_to_kill(stuck);
  bench_.restart();
  const auto found = bench_.look(stuck.container);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->running);
  EXPECT_FALSE(is_killed_);
}

// Says to be cgroup v1. Its second look for unknown containers waits, and finds what the test says.
class SlowLook final : public Confinement {
 public:
  struct Gate {
    std::promise<void> is_looking{};
    std::promise<void> go_on{};
    std::vector<LiveContainer> found{};
    std::atomic<bool> was_used = false;
  };
  explicit SlowLook(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}

  Capabilities capabilities() const override { return {.confined_by = ConfinedBy::kCgroupV1}; }
  boost::json::object describe() const override { return real_->describe(); }
  Result<void> confine(const ContainerProcesses& container,
                       const Placement& placement) const override {
    return real_->confine(container, placement);
  }
  Result<void> set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const override {
    return real_->set_cpus(container, cpus);
  }
  Result<void> place(const ContainerProcesses& container, pid_t pid) const override {
    return real_->place(container, pid);
  }
  Result<KernelView> look(const ContainerProcesses& container) const override {
    return real_->look(container);
  }
  Result<std::set<pid_t>> processes(const ContainerProcesses& container) const override {
    return real_->processes(container);
  }
  Result<std::vector<LiveContainer>> unknown(const std::set<std::string>&,
                                             EmptyCgroups empty) const override {
    const bool is_first = empty == EmptyCgroups::kRemoved;
    if (is_first || gate_->was_used.exchange(true)) return std::vector<LiveContainer>{};
    gate_->is_looking.set_value();
    gate_->go_on.get_future().wait();
    return gate_->found;
  }
  Result<std::size_t> kill(const ContainerProcesses& container) const override {
    return real_->kill(container);
  }
  Result<bool> remove(const ContainerProcesses& container) const override {
    return real_->remove(container);
  }

 private:
  std::shared_ptr<Gate> gate_;  // shared with the test
  std::unique_ptr<Confinement> real_ = make_affinity("for a test");
};

TEST(AContainerThatComesAndGoesDuringALook, IsNotTakenForSomebodyElses) {
  auto gate = std::make_shared<SlowLook::Gate>();
  RuntimeBench bench(Kind::kAffinity);
  bench.restart(std::make_unique<SlowLook>(gate));
  const Launch launch = bench.shell("short", "exec sleep 1000", "0-1");
  const std::string top = "/sys/fs/cgroup/cpuset/corehold/";
  gate->found = {{.cgroup = top + launch.container.pod + "/short", .pids = {1}},
                 {.cgroup = top + "uid-of-another/main", .pids = {1}}};
  ASSERT_TRUE(bench.list());
  bool is_listed = false;
  bench.runtime().list([&](const Result<std::vector<SeenContainer>>&) { is_listed = true; });
  auto looking = gate->is_looking.get_future();
  ASSERT_TRUE(bench.eventually(
      [&] { return looking.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  ASSERT_TRUE(bench.start(launch));
  ASSERT_TRUE(bench.kill(launch.container));
  ASSERT_TRUE(bench.wait_for_exit());
  ASSERT_TRUE(bench.remove(launch.container));
  EXPECT_FALSE(is_listed);
  gate->go_on.set_value();
  ASSERT_TRUE(bench.eventually([&] { return is_listed; }));
  EXPECT_THAT(bench.troubles(), ElementsAre(HasSubstr("uid-of-another/main")));
}

// Wherever the start is when the pool moves, the container is where the pool is by then.
TEST(AContainerThatStarts, FollowsThePoolFromTheMomentThatItIsInIt) {
  RuntimeBench bench(RuntimeBench::Kind::kCgroup);
  for (int turns = 0; turns < 12; ++turns) {
    Launch launch = bench.shell(fmt::format("c{}", turns), "exec sleep 1000", "0-1");
    launch.placement.owner = CpuOwner::kSharedPool;
    ASSERT_TRUE(bench.place_shared("0-1", {}));
    std::optional<Result<Started>> started;
    bench.runtime().launch(launch, [&](const Result<Started>& done) { started = done; });
    for (int turn = 0; turn < turns && !started; ++turn) {
      bench.loop().restart();
      bench.loop().run_one_for(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(bench.place_shared("1", {launch.container}));
    ASSERT_TRUE(bench.eventually([&] { return started.has_value(); }));
    ASSERT_TRUE(*started) << started->error().message;
    const auto main = ContainerDirectory::of(bench.root(), launch.container).read_main();
    ASSERT_TRUE(main);
    EXPECT_EQ(allowed_cpus(main->process.pid), "1") << turns << " turns";
    ASSERT_TRUE(bench.kill(launch.container));
    ASSERT_TRUE(bench.wait_for_exit());
    ASSERT_TRUE(bench.remove(launch.container));
  }
}

// Wherever the start is when it is to end, nothing of the container is left.
TEST(AContainerThatStarts, EndsWhenItIsKilledMeanwhile) {
  RuntimeBench bench(RuntimeBench::Kind::kCgroup);
  for (int turns = 0; turns < 12; ++turns) {
    const Launch launch = bench.shell(fmt::format("c{}", turns), "exec sleep 1000", "0-1");
    std::optional<Result<Started>> started;
    bench.runtime().launch(launch, [&](const Result<Started>& done) { started = done; });
    for (int turn = 0; turn < turns && !started; ++turn) {
      bench.loop().restart();
      bench.loop().run_one_for(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(bench.kill(launch.container));
    ASSERT_TRUE(bench.eventually([&] { return started.has_value(); }));
    if (*started) {
      ASSERT_TRUE(bench.wait_for_exit());
    }
    ASSERT_TRUE(bench.remove(launch.container));
    EXPECT_FALSE(bench.look(launch.container));
  }
}

}  // namespace
}  // namespace corehold
