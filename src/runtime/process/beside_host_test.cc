// SPDX-License-Identifier: Apache-2.0
//
// Work of the process runtime that takes long is done beside the loop: a container whose work does
// not end costs itself alone, and calls that come while others are under way keep their promises.
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/container_directory.h"
#include "runtime/process/testing.h"

namespace corehold {
namespace {

// Killing a container called "stuck" waits until the gate opens.
class GatedConfinement final : public Confinement {
 public:
  explicit GatedConfinement(std::shared_future<void> gate) : gate_(std::move(gate)) {}

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
  std::unique_ptr<Confinement> real_ = make_affinity("for a test");
};

class WorkThatDoesNotEnd : public testing::Test {
 protected:
  WorkThatDoesNotEnd() {
    bench_.restart(std::make_unique<GatedConfinement>(gate_.get_future().share()));
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

  RuntimeBench bench_{RuntimeBench::Kind::kAffinity};  // goes after the gate has opened
  std::promise<void> gate_{};
  bool is_open_ = false;
  bool is_killed_ = false;
};

TEST_F(WorkThatDoesNotEnd, HoldsUpNoOtherPod) {
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

TEST_F(WorkThatDoesNotEnd, DoesNotKeepTheRuntimeFromGoing) {
  const Launch stuck = of_pod("uid-1", "stuck");
  ASSERT_TRUE(bench_.start(stuck));
  begin_to_kill(stuck);
  bench_.restart();
  const auto found = bench_.look(stuck.container);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->running);
  EXPECT_FALSE(is_killed_);
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
