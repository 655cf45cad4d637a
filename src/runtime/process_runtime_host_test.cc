// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel: confined, whatever they do; ended, and how; nothing left.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/monitor.h"
#include "runtime/testing.h"
#include "sys/kernel_file.h"
#include "sys/process.h"

namespace corehold {
namespace {

using testing::HasSubstr;

class ProcessContainers : public testing::Test {
 protected:
  RuntimeBench bench_{RuntimeBench::Kind::kCgroup};

  bool writes(const Launch& launch, const std::string& text) {
    return bench_.eventually([&] { return bench_.log_of(launch).find(text) != std::string::npos; });
  }
};

TEST_F(ProcessContainers, RunOnTheirCpusOnly) {
  const Launch launch =
      bench_.shell("main", "grep Cpus_allowed_list /proc/self/status; sleep 1000", "1");
  const auto started = bench_.start(launch);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_TRUE(writes(launch, "Cpus_allowed_list:\t1\n")) << bench_.log_of(launch);
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->running);
  EXPECT_EQ(seen->cpus.str(), "1");
  EXPECT_FALSE(seen->strayed);
  EXPECT_GT(seen->started_at.count(), 0);
  EXPECT_EQ(seen->manifest, "{}");
}

TEST_F(ProcessContainers, EndWithTheCodeOfTheirCommand) {
  const Launch launch = bench_.shell("main", "exit 7", "0-1");
  ASSERT_TRUE(bench_.start(launch));
  const auto end = bench_.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->container, launch.container);
  EXPECT_EQ(end->exit.code, 7);
  EXPECT_EQ(end->exit.signal, 0);
  EXPECT_TRUE(end->exit.known);
  EXPECT_GT(end->exit.finished_at.count(), 0);
}

}  // namespace
}  // namespace corehold

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "monitor") return corehold::run_monitor(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
