// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel that somebody moves: seen, and brought back.
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

TEST_F(ProcessContainers, AreSeenToHaveAnotherCpusetAndGetTheirsBack) {
  const Launch launch = bench_.shell("main", "sleep 1000", "1");
  ASSERT_TRUE(bench_.start(launch));
  ASSERT_TRUE(
      write_kernel_file(bench_.cgroup_of("cpuset", launch.container) + "/cpuset.cpus", "0-1"));
  EXPECT_EQ(bench_.look(launch.container)->cpus.str(), "0-1");
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_EQ(bench_.look(launch.container)->cpus.str(), "1");
}

TEST_F(ProcessContainers, AreBroughtBackWhenMovedOut) {
  const Launch launch = bench_.shell("main", "sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  ASSERT_GT(child, 0);
  ASSERT_TRUE(write_kernel_file(bench_.outside() + "/cgroup.procs", std::to_string(child)));
  EXPECT_EQ(allowed_cpus(child), all_cpus());
  EXPECT_TRUE(bench_.look(launch.container)->strayed);
  const auto updated = bench_.update(launch.container, "1");
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
  EXPECT_EQ(allowed_cpus(child), "1");
}

TEST_F(ProcessContainers, AreBroughtBackThreadByThread) {
  if (bench_.is_v2()) GTEST_SKIP() << "cgroup v2 keeps the threads of a process together";
  Launch launch = bench_.shell("main", "", "1");
  launch.command = {"python3", "-c",
                    "import threading,time\n"
                    "t=threading.Thread(target=time.sleep,args=(1000,),daemon=True);t.start()\n"
                    "print('thread',t.native_id,flush=True);time.sleep(1000)"};
  ASSERT_TRUE(bench_.start(launch));
  const pid_t thread = pid_after(launch, "thread ");
  ASSERT_GT(thread, 0);
  ASSERT_TRUE(write_kernel_file(bench_.outside() + "/tasks", std::to_string(thread)));
  EXPECT_TRUE(bench_.look(launch.container)->strayed);
  ASSERT_TRUE(bench_.update(launch.container, "1"));
  EXPECT_FALSE(bench_.look(launch.container)->strayed);
  EXPECT_EQ(allowed_cpus(thread), "1");
}

TEST_F(ProcessContainers, GetTheirCgroupBackWhenItWasRemoved) {
  const Launch launch = bench_.shell("main", "sleep 1000 & echo child $!; wait", "1");
  ASSERT_TRUE(bench_.start(launch));
  const pid_t child = pid_after(launch, "child ");
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  const std::string own = bench_.cgroup_of("cpuset", launch.container);
  for (const pid_t pid : {child, main->process.pid}) {
    ASSERT_TRUE(write_kernel_file(bench_.outside() + "/cgroup.procs", std::to_string(pid)));
  }
  ASSERT_EQ(::rmdir(own.c_str()), 0);
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  EXPECT_TRUE(seen->strayed);
  const auto updated = bench_.update(launch.container, "1");
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(allowed_cpus(child), "1");
  EXPECT_EQ(allowed_cpus(main->process.pid), "1");
}

}  // namespace
}  // namespace corehold
