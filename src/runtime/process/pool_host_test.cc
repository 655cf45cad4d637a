// SPDX-License-Identifier: Apache-2.0
//
// The shared pool of the process runtime. Which cgroups it writes is tested on any machine: a
// confinement that says to be cgroup v2, writes down what it is asked, and keeps containers on
// their CPUs by affinity.
#include <memory>
#include <mutex>
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
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class NotedV2 final : public Confinement {
 public:
  explicit NotedV2(std::vector<std::string>& notes) : notes_(notes) {}

  Capabilities capabilities() const override { return {.confined_by = ConfinedBy::kCgroupV2}; }
  boost::json::object describe() const override { return real_->describe(); }
  Result<void> confine(const ContainerProcesses& container,
                       const Placement& placement) const override {
    note(fmt::format("confine {} to {}", container.cgroup, placement.cpus.str()));
    return real_->confine(container, placement);
  }
  Result<void> set_cpus(const ContainerProcesses& container, const CpuSet& cpus) const override {
    note(fmt::format("set {} to {}", container.cgroup, cpus.str()));
    return container.cgroup == "shared" ? Result<void>{} : real_->set_cpus(container, cpus);
  }
  Result<void> place(const ContainerProcesses& container, pid_t pid) const override {
    return real_->place(container, pid);
  }
  Result<KernelView> look(const ContainerProcesses& container) const override {
    return real_->look(container);
  }
  Result<std::set<pid_t>> processes(const ContainerProcesses&) const override {
    return std::set<pid_t>{};
  }
  Result<std::vector<LiveContainer>> unknown(const std::set<std::string>&,
                                             EmptyCgroups) const override {
    return std::vector<LiveContainer>{};
  }
  Result<std::size_t> kill(const ContainerProcesses& container) const override {
    return real_->kill(container);
  }
  Result<bool> remove(const ContainerProcesses& container) const override {
    note(fmt::format("remove {}", container.cgroup));
    return real_->remove(container);
  }

 private:
  void note(std::string text) const {
    const std::scoped_lock held(lock_);
    notes_.push_back(std::move(text));
  }

  mutable std::mutex lock_{};  // of the notes, between the threads that work for containers
  std::vector<std::string>& notes_;
  std::unique_ptr<Confinement> real_ = make_affinity("for a test");
};

class SharedPoolOfCgroups : public testing::Test {
 protected:
  SharedPoolOfCgroups() { restart(); }

  void restart() { bench_.restart(std::make_unique<NotedV2>(notes_)); }
  Launch shared(const std::string& name, const std::string& cpus) {
    Launch launch = bench_.shell(name, "exec sleep 1000", cpus);
    launch.placement.owner = CpuOwner::kSharedPool;
    return launch;
  }
  std::string path(const std::string& group, const Launch& launch) const {
    return fmt::format("{}/{}/{}", group, launch.container.pod, launch.container.container);
  }
  ContainerDirectory directory(const Launch& launch) const {
    return ContainerDirectory::of(bench_.root(), launch.container);
  }

  std::vector<std::string> notes_{};
  RuntimeBench bench_{RuntimeBench::Kind::kAffinity};
};

TEST_F(SharedPoolOfCgroups, MovesWithOneWriteHoweverManyContainersShare) {
  std::set<ContainerRef> members;
  for (const char* name : {"a", "b", "c"}) {
    const Launch launch = shared(name, "0-1");
    ASSERT_TRUE(bench_.start(launch));
    members.insert(launch.container);
  }
  const Launch own = bench_.shell("own", "exec sleep 1000", "1");
  ASSERT_TRUE(bench_.start(own));
  EXPECT_EQ(notes_.front(), fmt::format("confine {} to 0-1", path("shared", shared("a", "0"))));
  EXPECT_EQ(notes_.back(), fmt::format("confine {} to 1", path("pods", own)));
  notes_.clear();
  ASSERT_TRUE(bench_.place_shared("0", members));
  EXPECT_THAT(notes_, ElementsAre("set shared to 0"));
  notes_.clear();
  ASSERT_TRUE(bench_.place_shared("1", {}));
  EXPECT_THAT(notes_, IsEmpty());
}

// Version 0.1 had all containers below `pods` and did not write down where.
TEST_F(SharedPoolOfCgroups, TakesContainersOfVersion0Point1AlongOneByOne) {
  const Launch old = shared("old", "0-1");
  const Launch young = shared("young", "0-1");
  ASSERT_TRUE(bench_.start(old));
  ASSERT_TRUE(bench_.start(young));
  auto stored = directory(old).read_launch();
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->cgroup, path("shared", old));
  stored->cgroup.clear();
  ASSERT_TRUE(directory(old).write_launch(*stored));
  restart();
  ASSERT_TRUE(bench_.list());
  notes_.clear();
  ASSERT_TRUE(bench_.place_shared("0", {old.container, young.container}));
  EXPECT_THAT(notes_, UnorderedElementsAre(fmt::format("set {} to 0", path("pods", old)),
                                           "set shared to 0"));
  EXPECT_EQ(allowed_cpus(directory(old).read_main()->process.pid), "0");
  ASSERT_TRUE(bench_.kill(old.container));
  ASSERT_TRUE(bench_.wait_for_exit());
  notes_.clear();
  ASSERT_TRUE(bench_.remove(old.container));
  EXPECT_THAT(notes_, ElementsAre(fmt::format("remove {}", path("pods", old))));
}

TEST_F(SharedPoolOfCgroups, IsLeftByAContainerThatGetsCpusOfItsOwn) {
  const Launch launch = shared("main", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  notes_.clear();
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_THAT(notes_, ElementsAre(fmt::format("confine {} to 1", path("pods", launch)),
                                  fmt::format("remove {}", path("shared", launch))));
  EXPECT_EQ(directory(launch).read_launch()->cgroup, path("pods", launch));
  EXPECT_EQ(allowed_cpus(directory(launch).read_main()->process.pid), "1");
}

TEST_F(SharedPoolOfCgroups, IsLeftByTheNextAttemptThatHasCpusOfItsOwn) {
  Launch launch = shared("main", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(bench_.kill(launch.container));
  ASSERT_TRUE(bench_.wait_for_exit());
  notes_.clear();
  launch.attempt = 1;
  launch.placement.owner = CpuOwner::kContainer;
  ASSERT_TRUE(bench_.start(launch));
  EXPECT_THAT(notes_, ElementsAre(fmt::format("remove {}", path("shared", launch)),
                                  fmt::format("confine {} to 0-1", path("pods", launch))));
}

// The pool has moved while the start waited for what an earlier attempt had left.
TEST_F(SharedPoolOfCgroups, TakesInAContainerWhereItIsNow) {
  ASSERT_TRUE(bench_.place_shared("0", {}));
  const Launch launch = shared("main", "1");
  ASSERT_TRUE(bench_.start(launch));
  EXPECT_THAT(notes_, ElementsAre(fmt::format("confine {} to 0", path("shared", launch))));
  EXPECT_EQ(allowed_cpus(directory(launch).read_main()->process.pid), "0");
}

TEST(SharedPoolOnTheKernel, MovesAllItsContainersAndNoOther) {
  RuntimeBench bench(RuntimeBench::Kind::kCgroup);
  std::set<ContainerRef> members;
  std::vector<Launch> launches;
  for (const char* name : {"a", "b", "own"}) {
    Launch launch = bench.shell(name, "exec sleep 1000", "0-1");
    if (launch.container.container != "own") {
      launch.placement.owner = CpuOwner::kSharedPool;
      members.insert(launch.container);
    }
    const auto started = bench.start(launch);
    ASSERT_TRUE(started) << started.error().message;
    launches.push_back(launch);
  }
  const auto placed = bench.place_shared("1", members);
  ASSERT_TRUE(placed) << placed.error().message;
  std::vector<std::string> cpus;
  for (const Launch& launch : launches) {
    const auto main = ContainerDirectory::of(bench.root(), launch.container).read_main();
    cpus.push_back(allowed_cpus(main->process.pid));
    EXPECT_EQ(bench.look(launch.container)->cpus.str(), cpus.back());
  }
  EXPECT_THAT(cpus, ElementsAre("1", "1", "0-1"));
}

}  // namespace
}  // namespace corehold
