// SPDX-License-Identifier: Apache-2.0
//
// The fence on this machine's kernel: with cgroup v1, and as root on more than one CPU.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/isolator.h"
#include "kernel/task.h"
#include "kernel/testing.h"
#include "sys/file/kernel_file.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr const char* kMount = "/sys/fs/cgroup/cpuset";

class FenceOnThisMachine : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "root is needed";
    const auto all = read_kernel_file(std::string(kMount) + "/cpuset.effective_cpus");
    if (!all) GTEST_SKIP() << "there is no cpuset hierarchy of cgroup v1";
    online_ = *CpuSet::parse(*all);
    if (online_.size() < 2) GTEST_SKIP() << "two CPUs are needed";
    held_ = CpuSet{online_.last()};
  }
  void TearDown() override {
    if (!online_.empty()) {
      static_cast<void>(isolator_.apply({.level = IsolationLevel::kFence, .online = online_}));
    }
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }

  // A process that sleeps; with an affinity of its own where `pin` is not empty.
  pid_t start(const CpuSet& pin) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) ::pause();
    }
    children_.push_back(child);
    if (!pin.empty()) {
      EXPECT_TRUE(set_affinity(child, pin));
    }
    return child;
  }
  CpuSet affinity(pid_t pid) const { return read_task(pid)->affinity & online_; }

  IsolationReport apply(const CpuSet& held) {
    auto report =
        isolator_.apply({.level = IsolationLevel::kFence, .online = online_, .held = held});
    EXPECT_TRUE(report) << report.error().message;
    return report ? *std::move(report) : IsolationReport{};
  }

  CpuSet online_{};
  CpuSet held_{};
  std::vector<pid_t> children_{};
  MadeFiles files_{};
  SystemdUnits units_{};
  Isolator isolator_{
      {.journal = files_.root() + "/isolation.json",
       .places = {.version = FencePlaces::Version::kV1, .mount = kMount, .own = "/corehold"}},
      units_};
};

TEST_F(FenceOnThisMachine, KeepsEveryTaskOffHeldCpusAndGivesBackAllItHasTaken) {
  const CpuSet rest = online_ - held_;
  const pid_t plain = start({});
  const pid_t pinned = start(held_);
  const pid_t elsewhere = start(CpuSet{online_.first()});
  const pid_t both = start(CpuSet{online_.first(), online_.last()});
  const IsolationReport report = apply(held_);
  EXPECT_THAT(report.leftovers, testing::IsEmpty());
  EXPECT_THAT(report.displaced,
              testing::Contains(fmt::format("task {} (isolator_host_t), pinned to CPUs {}", pinned,
                                            held_.str())));
  const auto tasks = read_tasks();
  ASSERT_TRUE(tasks);
  for (const Task& task : *tasks) {
    if (is_kernel_thread(task) || task.cgroup.starts_with("/corehold/")) continue;
    EXPECT_FALSE((task.affinity & online_).intersects(held_)) << task.tid << " " << task.name;
    EXPECT_EQ(task.cgroup, "/corehold-system") << task.tid << " " << task.name;
  }
  EXPECT_EQ(affinity(plain), rest);
  EXPECT_EQ(affinity(elsewhere), CpuSet{online_.first()});
  EXPECT_FALSE(set_affinity(plain, held_)) << "it can pin itself to a held CPU";
  // A process that is started meanwhile.
  const pid_t later = start({});
  EXPECT_EQ(affinity(later), rest);
  const IsolationReport again = apply(held_);
  EXPECT_EQ(again.displaced, report.displaced);

  const IsolationReport lifted = apply({});
  EXPECT_THAT(lifted.leftovers, testing::IsEmpty());
  EXPECT_THAT(lifted.displaced, testing::IsEmpty());
  EXPECT_EQ(affinity(plain), online_);
  EXPECT_EQ(affinity(later), online_);
  EXPECT_EQ(affinity(pinned), held_);
  EXPECT_EQ(affinity(elsewhere), CpuSet{online_.first()});
  EXPECT_EQ(affinity(both), (CpuSet{online_.first(), online_.last()}));
  for (const pid_t child : children_) EXPECT_EQ(read_task(child)->cgroup, "/");
  EXPECT_FALSE(std::filesystem::exists(std::string(kMount) + "/" + kSystemCpuset));
}

TEST_F(FenceOnThisMachine, KeepsPinsOverManyGrants) {
  const pid_t pinned = start(held_);
  const pid_t elsewhere = start(CpuSet{online_.first()});
  constexpr int kGrants = 10;
  for (int grant = 0; grant < kGrants; ++grant) {
    apply(held_);
    EXPECT_EQ(affinity(pinned), online_ - held_);
    apply({});
    ASSERT_EQ(affinity(pinned), held_);
    ASSERT_EQ(affinity(elsewhere), CpuSet{online_.first()});
  }
}

// Of a process whose threads are in cpusets of different people, those in other ones stay there.
TEST_F(FenceOnThisMachine, MovesNoThreadThatIsInAnotherCpusetWhenACpusetGoes) {
  const std::string top = fmt::format("{}/corehold-test-{}", kMount, ::getpid());
  const std::string ours = top + "/ours";
  const std::string theirs = top + "/theirs";
  for (const std::string& path : {top, ours, theirs}) {
    ASSERT_TRUE(std::filesystem::create_directory(path));
    const std::string parent = path.substr(0, path.rfind('/'));
    for (const char* file : {"/cpuset.mems", "/cpuset.cpus"}) {
      ASSERT_TRUE(write_kernel_file(path + file, *read_kernel_file(parent + file)));
    }
  }
  std::promise<pid_t> number;
  std::promise<void> end;
  std::thread thread([&] {
    number.set_value(::gettid());
    end.get_future().wait();
  });
  const pid_t other = number.get_future().get();
  const std::string before = read_task(::getpid())->cgroup;
  EXPECT_TRUE(write_kernel_file(ours + "/tasks", std::to_string(::getpid())));
  EXPECT_TRUE(write_kernel_file(theirs + "/tasks", std::to_string(other)));
  Targets targets({.version = FencePlaces::Version::kV1, .mount = kMount}, units_);
  targets.set_online(online_);
  EXPECT_TRUE(targets.write({.target = {Target::Kind::kCpuset, ours}}));
  EXPECT_FALSE(std::filesystem::exists(ours));
  EXPECT_EQ(kMount + read_task(::getpid())->cgroup, top);
  EXPECT_EQ(kMount + read_task(other)->cgroup, theirs);
  EXPECT_TRUE(write_kernel_file(kMount + before + "/cgroup.procs", std::to_string(::getpid())));
  end.set_value();
  thread.join();
  for (const std::string& path : {theirs, top}) EXPECT_EQ(::rmdir(path.c_str()), 0) << path;
}

}  // namespace
}  // namespace corehold
