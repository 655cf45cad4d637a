// SPDX-License-Identifier: Apache-2.0
//
// Containers on the real kernel whose start hangs: their hostPath is on a file system that does not
// answer, which is FUSE spoken by nobody.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/descriptor.h"

namespace corehold {
namespace {

using testing::HasSubstr;

class ContainersThatDoNotStart : public ProcessContainers {
 protected:
  void SetUp() override {
    fuse_.reset(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!fuse_.is_open()) GTEST_SKIP() << "there is no /dev/fuse";
    ASSERT_EQ(::mkdir(directory_.c_str(), 0755), 0);
    const std::string options =
        fmt::format("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", fuse_.get());
    ASSERT_EQ(::mount("corehold-test", directory_.c_str(), "fuse", 0, options.c_str()), 0);
    bench_.set_start_timeout(std::chrono::seconds(1));
    bench_.restart();
  }
  void TearDown() override {
    fuse_.close();
    ::umount2(directory_.c_str(), MNT_DETACH);
  }

  Launch hanging(const std::string& name) {
    Launch launch = bench_.shell(name, "exec sleep 1000", "1");
    launch.host_paths = {{.volume = "v", .path = directory_ + "/data"}};
    return launch;
  }
  bool is_let_go(const Launch& launch) const {
    return ContainerDirectory::of(bench_.root(), launch.container).has_main();
  }

  Descriptor fuse_{-1};
  std::string directory_ = bench_.root() + "/hangs";
};

TEST_F(ContainersThatDoNotStart, FailInTheirTime) {
  const auto started = bench_.start(hanging("main"));
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message,
              HasSubstr("it has not started within 1 s; does the file system of each hostPath and "
                        "of the command answer?"));
  EXPECT_TRUE(bench_.list()->empty());
}

TEST_F(ContainersThatDoNotStart, EndInTheirTimeThoughTheirAgentWasRestarted) {
  // An attempt that ends before this test could restart its agent says nothing, and is repeated.
  std::optional<Result<Started>> started;
  Launch launch;
  for (int attempt = 0; attempt < 10; ++attempt) {
    launch = hanging(fmt::format("c{}", attempt));
    started.reset();
    bench_.runtime().launch(launch, [&](Result<Started> done) { started = std::move(done); });
    ASSERT_TRUE(bench_.eventually([&] { return started.has_value() || is_let_go(launch); }));
    if (!started) break;
  }
  ASSERT_FALSE(started.has_value());
  bench_.restart();
  const auto main = ContainerDirectory::of(bench_.root(), launch.container).read_main();
  ASSERT_TRUE(main);
  ASSERT_TRUE(bench_.list());
  ASSERT_TRUE(bench_.eventually([&] {
    const auto now = bench_.look(launch.container);
    return now && !now->running;
  }));
  EXPECT_TRUE(has_ended(main->process.pid));
  const auto seen = bench_.look(launch.container);
  ASSERT_TRUE(seen && seen->exit);
  EXPECT_EQ(seen->exit->code, 128);
  EXPECT_THAT(seen->exit->message, HasSubstr("it has not started within 1 s"));
}

}  // namespace
}  // namespace corehold
