// SPDX-License-Identifier: Apache-2.0
#include "kernel/task.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernel/testing.h"

namespace corehold {
namespace {

// Of a kernel thread of CPU 0, and of a thread whose name makes trouble.
constexpr std::string_view kMigration =
    "18 (migration/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 29 0 0 -100 0 1 0 4 0 0 "
    "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 0 99 1 0 0 0 0 0 0 0 0 0 0 0";
constexpr std::string_view kStrange =
    "4711 (a) b (c 7) R 1 4711 4711 0 -1 4194304 101 0 0 0 12 3 0 0 20 0 1 0 46487 3133440 407 "
    "18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 0";

TEST(TaskStat, TellsAKernelThreadOfOneCpu) {
  const auto task = parse_task_stat(kMigration);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->tid, 18);
  EXPECT_EQ(task->name, "migration/0");
  EXPECT_EQ(task->start, 4U);
  EXPECT_EQ(task->last_cpu, 0);
  EXPECT_EQ(task->run_ns, 290'000'000U);
  EXPECT_TRUE(is_kernel_thread(*task));
  EXPECT_TRUE(is_bound(*task));
}

TEST(TaskStat, TakesANameWithParenthesesAndBlanks) {
  const auto task = parse_task_stat(kStrange);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->name, "a) b (c 7");
  EXPECT_EQ(task->last_cpu, 5);
  EXPECT_EQ(task->start, 46487U);
  EXPECT_EQ(task->run_ns, 150'000'000U);
  EXPECT_FALSE(is_kernel_thread(*task));
  EXPECT_FALSE(is_bound(*task));
}

// Anybody may give a task such a name (PR_SET_NAME), and names go into JSON.
TEST(TaskStat, MakesANameUtf8) {
  std::string text(kStrange);
  text.replace(text.find("a) b"), 1, "\xff");
  const auto task = parse_task_stat(text);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->name, "\xef\xbf\xbd) b (c 7");
}

TEST(TaskStat, KnowsItsParent) {
  EXPECT_EQ(parse_task_stat(kMigration)->parent, 2);
  EXPECT_EQ(parse_task_stat(kStrange)->parent, 1);
}

TEST(TaskStat, IsNothingForWhatHasEnded) {
  std::string text(kStrange);
  text.replace(text.find(") R ") + 2, 1, "Z");
  EXPECT_FALSE(parse_task_stat(text));
}

TEST(TaskStat, IsNothingForAnotherText) {
  for (const std::string_view text : {"", "18", "18 (x", ")(", "18 (x) S 1", "x (x) S 2 0 0 0"}) {
    EXPECT_FALSE(parse_task_stat(text)) << text;
  }
  // Every text that was cut in the middle.
  for (std::size_t size = 0; size < 100; ++size) {
    EXPECT_FALSE(parse_task_stat(kMigration.substr(0, size))) << size;
  }
}

TEST(TaskAffinity, IsTheListOfTheStatus) {
  EXPECT_EQ(
      parse_task_affinity("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\nMems:\t1\n"),
      *CpuSet::parse("0-3,8"));
  EXPECT_FALSE(parse_task_affinity("Name:\tx\n"));
  EXPECT_FALSE(parse_task_affinity("Cpus_allowed_list:\tmany\n"));
}

TEST(TaskCgroup, IsThatOfTheCpuset) {
  EXPECT_EQ(parse_task_cgroup("9:name=systemd:/s\n3:cpuset:/corehold/a:b\n1:cpu:/c\n0::/u\n"),
            "/corehold/a:b");
  EXPECT_EQ(parse_task_cgroup("4:cpu,cpuset,memory:/joined\n0::/u\n"), "/joined");
  EXPECT_EQ(parse_task_cgroup("2:cpu:/x\n0::/system.slice/cron.service\n"),
            "/system.slice/cron.service");
  EXPECT_EQ(parse_task_cgroup(""), "/");
}

class MadeTasks : public testing::Test {
 protected:
  void add(int pid, int tid, std::string_view stat) {
    for (const std::string& directory :
         {fmt::format("{}/task/{}", pid, tid), fmt::format("{}", tid)}) {
      proc_.write(directory + "/stat", stat);
      proc_.write(directory + "/status", fmt::format("Tgid:\t{}\nCpus_allowed_list:\t0-7\n", pid));
      proc_.write(directory + "/cgroup", "0::/a\n");
    }
  }

  MadeFiles proc_{};
};

TEST_F(MadeTasks, AreReadThreadByThread) {
  add(18, 18, kMigration);
  add(100, 100, kStrange);
  add(100, 4711, kStrange);
  proc_.write("100/task/4711/schedstat", "89103 3815072 1\n");
  proc_.write("self", "");
  proc_.write("300/task/300/stat", "");  // one that goes while it is read
  const auto tasks = read_tasks(proc_.root());
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 3U);
  EXPECT_EQ((*tasks)[0].pid, 18);
  EXPECT_EQ((*tasks)[0].affinity, *CpuSet::parse("0-7"));
  EXPECT_EQ((*tasks)[1].run_ns, 150'000'000U);
  EXPECT_EQ((*tasks)[2].pid, 100);
  EXPECT_EQ((*tasks)[2].run_ns, 89103U);
  EXPECT_EQ((*tasks)[2].cgroup, "/a");
  const auto last_on_5 = read_tasks_last_on(CpuSet{CpuId(5)}, proc_.root());
  ASSERT_TRUE(last_on_5);
  EXPECT_EQ(last_on_5->size(), 2U);
  const auto one = read_task(4711, proc_.root());
  ASSERT_TRUE(one);
  EXPECT_EQ(one->pid, 100);
  EXPECT_FALSE(read_task(300, proc_.root()));
  EXPECT_FALSE(read_task(999, proc_.root()));
}

TEST(Tasks, AreNoneWhereProcIsMissing) {
  const auto tasks = read_tasks("/nowhere/proc");
  ASSERT_FALSE(tasks);
  EXPECT_EQ(tasks.error().code, Code::kNotFound);
}

TEST(Tasks, OfThisMachineContainThisOne) {
  const auto tasks = read_tasks();
  ASSERT_TRUE(tasks) << tasks.error().message;
  const auto own = std::find_if(tasks->begin(), tasks->end(),
                                [](const Task& task) { return task.tid == ::gettid(); });
  ASSERT_NE(own, tasks->end());
  EXPECT_EQ(own->pid, ::getpid());
  EXPECT_FALSE(own->affinity.empty());
  EXPECT_TRUE(std::is_sorted(tasks->begin(), tasks->end(), [](const Task& a, const Task& b) {
    return std::pair(a.pid, a.tid) < std::pair(b.pid, b.tid);
  }));
}

}  // namespace
}  // namespace corehold
