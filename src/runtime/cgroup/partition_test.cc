// SPDX-License-Identifier: Apache-2.0
//
// What is written for a partition, on a tree of plain files. What the kernel makes of it is tested
// in guests (tests/machine/partition.py).
#include "runtime/cgroup/partition.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

using testing::HasSubstr;

CpuSet cpus(const char* text) { return *CpuSet::parse(text); }

class Partitions : public testing::Test {
 protected:
  Partitions() {
    std::string pattern = testing::TempDir() + "partitions-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    mount_ = pattern;
    put("cpuset.cpus.isolated", "");
    for (const char* cgroup : {"top", "top/pods", "top/pods/a", "top/pods/b"}) make(cgroup);
  }
  ~Partitions() override { static_cast<void>(remove_tree(mount_)); }

  void put(const std::string& path, const std::string& text) const {
    const std::string full = fmt::format("{}/{}", mount_, path);
    CHECK(make_directories(full.substr(0, full.rfind('/')), 0755).has_value());
    std::ofstream(full) << text << '\n';
  }
  void make(const std::string& cgroup) const {
    put(cgroup + "/cpuset.cpus", "");
    put(cgroup + "/cpuset.cpus.exclusive", "");
    put(cgroup + "/cpuset.cpus.partition", "member");
  }
  std::string get(const std::string& path) const {
    const auto text = read_kernel_file(fmt::format("{}/{}", mount_, path));
    return text ? *text : text.error().message;
  }
  std::string path(const std::string& cgroup) const { return fmt::format("{}/{}", mount_, cgroup); }

  std::string mount_;
};

TEST_F(Partitions, AreThereWhereTheKernelListsThem) {
  EXPECT_TRUE(has_partitions(mount_));
  EXPECT_FALSE(has_partitions(mount_ + "/top"));
}

TEST_F(Partitions, MakeTheirCpusExclusiveAllTheWayDown) {
  ASSERT_TRUE(set_partition(mount_, path("top/pods/a"), cpus("2-3")));
  for (const char* cgroup : {"top", "top/pods", "top/pods/a"}) {
    EXPECT_EQ(get(fmt::format("{}/cpuset.cpus.exclusive", cgroup)), "2-3") << cgroup;
  }
  EXPECT_EQ(get("top/pods/a/cpuset.cpus"), "2-3");
  EXPECT_EQ(get("top/pods/a/cpuset.cpus.partition"), "isolated");
  EXPECT_EQ(get("top/pods/cpuset.cpus.partition"), "member");
}

TEST_F(Partitions, ShareTheirAncestors) {
  ASSERT_TRUE(set_partition(mount_, path("top/pods/a"), cpus("2-3")));
  ASSERT_TRUE(set_partition(mount_, path("top/pods/b"), cpus("6-7")));
  EXPECT_EQ(get("top/cpuset.cpus.exclusive"), "2-3,6-7");
  ASSERT_TRUE(set_partition(mount_, path("top/pods/a"), cpus("2-5")));
  EXPECT_EQ(get("top/pods/cpuset.cpus.exclusive"), "2-7");
  ASSERT_TRUE(set_partition(mount_, path("top/pods/a"), cpus("2")));
  EXPECT_EQ(get("top/pods/a/cpuset.cpus"), "2");
  EXPECT_EQ(get("top/pods/a/cpuset.cpus.exclusive"), "2");
  EXPECT_EQ(get("top/cpuset.cpus.exclusive"), "2,6-7");
}

TEST_F(Partitions, LeaveNothingBehind) {
  ASSERT_TRUE(set_partition(mount_, path("top/pods/a"), cpus("2-3")));
  ASSERT_TRUE(set_partition(mount_, path("top/pods/b"), cpus("6-7")));
  ASSERT_TRUE(end_partition(mount_, path("top/pods/a")));
  EXPECT_EQ(get("top/pods/a/cpuset.cpus.partition"), "member");
  EXPECT_EQ(get("top/pods/a/cpuset.cpus"), "2-3");
  EXPECT_EQ(get("top/cpuset.cpus.exclusive"), "6-7");
  ASSERT_TRUE(remove_tree(path("top/pods/b")));
  forget_partition(mount_, path("top/pods/b"));
  EXPECT_EQ(get("top/pods/cpuset.cpus.exclusive"), "");
  EXPECT_EQ(get("top/cpuset.cpus.exclusive"), "");
}

TEST_F(Partitions, TellTheKernelsReasonWhenTheyAreInvalid) {
  put("top/pods/a/cpuset.cpus.partition", "isolated invalid (Cpu list not exclusive)");
  const PartitionView view = read_partition(path("top/pods/a"));
  EXPECT_EQ(view.kind, PartitionView::Kind::kInvalid);
  EXPECT_THAT(view.text, HasSubstr("not exclusive"));
  EXPECT_EQ(read_partition(path("top/pods/b")).kind, PartitionView::Kind::kMember);
  EXPECT_EQ(read_partition(path("nowhere")).kind, PartitionView::Kind::kMember);
}

TEST_F(Partitions, TellThatTheKernelMakesNone) {
  const std::string file = path("top/pods/a/cpuset.cpus.partition");
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", file.c_str()), 0);
  const auto refused = set_partition(mount_, path("top/pods/a"), cpus("2-3"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("is no isolated partition: the kernel says"));
  EXPECT_EQ(get("top/pods/a/cpuset.cpus"), "2-3");
  EXPECT_EQ(get("top/pods/a/cpuset.cpus.exclusive"), "");
  EXPECT_EQ(get("top/cpuset.cpus.exclusive"), "");
}

TEST_F(Partitions, ThatHaveBecomeInvalidAreMadeFromTheBeginning) {
  ASSERT_TRUE(set_partition(mount_, path("top/pods/a"), cpus("2-3")));
  put("top/pods/a/cpuset.cpus.partition", "isolated invalid (Cpu list not exclusive)");
  ASSERT_TRUE(set_partition(mount_, path("top/pods/a"), cpus("2-3")));
  EXPECT_EQ(get("top/pods/a/cpuset.cpus.partition"), "isolated");
}

}  // namespace
}  // namespace corehold
