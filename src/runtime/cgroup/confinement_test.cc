// SPDX-License-Identifier: Apache-2.0
//
// Finding cgroups and writing to them, on a tree of plain files. What the kernel makes of
// it is tested on real ones (label host).
#include "runtime/cgroup/confinement.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

using testing::HasSubstr;

class FakeCgroups : public testing::Test {
 protected:
  FakeCgroups() {
    std::string pattern = testing::TempDir() + "cgroups-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    top_ = pattern;
    put("proc/mounts", "tmpfs / tmpfs rw 0 0\n");
    put("proc/self/cgroup", "0::/\n");
  }
  ~FakeCgroups() override { static_cast<void>(remove_tree(top_)); }

  void put(const std::string& path, const std::string& text) const {
    const std::string full = top_ + "/" + path;
    CHECK(make_directories(full.substr(0, full.rfind('/')), 0755).has_value());
    std::ofstream(full) << text;
  }
  std::string get(const std::string& path) const {
    const auto text = read_file(top_ + "/" + path, 65536);
    return text ? *text : text.error().message;
  }
  void mount_v2() const {
    put("proc/mounts", fmt::format("cgroup2 {}/cg cgroup2 rw,nosuid 0 0\n", top_));
    put("cg/cgroup.controllers", "cpuset cpu io memory\n");
    put("cg/cgroup.subtree_control", "io\n");
    put("cg/cpuset.cpus.effective", "0-7\n");
  }
  // A v2 cgroup as the kernel would make it.
  void make_v2(const std::string& path, const std::string& effective) const {
    for (const char* file : {"cgroup.subtree_control", "cpuset.cpus", "cpuset.mems", "cpu.max",
                             "cpu.weight", "cgroup.procs"}) {
      put(fmt::format("{}/{}", path, file), "\n");
    }
    put(path + "/cpuset.cpus.effective", effective + "\n");
    put(path + "/memory.max", "max\n");
    put(path + "/memory.oom.group", "0\n");
    put(path + "/memory.current", "0\n");
  }
  // The cgroups of the container "main" of pod "u", on CPUs 2-3.
  void make_v2_container() const {
    for (const char* path : {"cg/corehold", "cg/corehold/pods", "cg/corehold/pods/u"}) {
      make_v2(path, "0-7");
    }
    make_v2("cg/corehold/pods/u/main", "2-3");
  }
  void mount_v1() const {
    put("proc/mounts", fmt::format("cgroup {0}/cs cgroup rw,cpuset 0 0\n"
                                   "cgroup {0}/cpu cgroup rw,cpu,cpuacct 0 0\n"
                                   "cgroup {0}/mem cgroup rw,memory 0 0\n",
                                   top_));
    for (const char* path : {"cs", "cs/corehold", "cs/corehold/u", "cs/corehold/u/main"}) {
      put(fmt::format("{}/cpuset.cpus", path), "0-7\n");
      put(fmt::format("{}/cpuset.mems", path), "0\n");
      put(fmt::format("{}/cpuset.effective_cpus", path), "0-7\n");
    }
    for (const char* path : {"cpu", "cpu/corehold", "cpu/corehold/u", "cpu/corehold/u/main"}) {
      for (const char* file : {"cpu.shares", "cpu.cfs_quota_us"}) {
        put(fmt::format("{}/{}", path, file), "0\n");
      }
    }
    put("mem/memory.limit_in_bytes", "9223372036854771712\n");
  }
  ConfinementOptions options() const { return {.name = "corehold", .proc = top_ + "/proc"}; }

  std::string top_{};
  ContainerProcesses container_{.ref = {.pod = "u", .container = "main"}, .cgroup = "pods/u/main"};
};

TEST_F(FakeCgroups, AreFoundInVersion2First) {
  mount_v2();
  const auto found = find_confinement(options());
  EXPECT_EQ(found->capabilities().confined_by, ConfinedBy::kCgroupV2);
  EXPECT_EQ(found->capabilities().note, "");
  EXPECT_EQ(found->describe().at("base").as_string(), top_ + "/cg/corehold");
}

TEST_F(FakeCgroups, AreNotTakenFromAVersion2WithoutCpusets) {
  mount_v2();
  put("cg/cgroup.controllers", "hugetlb\n");
  put("proc/mounts",
      fmt::format("cgroup2 {0}/cg cgroup2 rw 0 0\ncgroup {0}/cs cgroup rw,cpuset 0 0\n"
                  "cgroup {0}/cpu cgroup rw,cpu,cpuacct 0 0\n"
                  "cgroup {0}/mem cgroup rw,memory 0 0\n",
                  top_));
  put("cs/x", "");
  put("cpu/x", "");
  put("mem/x", "");
  const auto found = find_confinement(options());
  EXPECT_EQ(found->capabilities().confined_by, ConfinedBy::kCgroupV1);
  EXPECT_EQ(found->capabilities().note, "");
}

TEST_F(FakeCgroups, OfVersion1NeedNoOtherHierarchy) {
  put("proc/mounts", fmt::format("cgroup {0}/cs cgroup rw,cpuset 0 0\n", top_));
  put("cs/x", "");
  EXPECT_EQ(find_confinement(options())->capabilities().note,
            "there is no cpu cgroup: CPU shares and limits have no effect; "
            "there is no memory cgroup: memory limits have no effect");
}

TEST_F(FakeCgroups, AreTheOnesThatAreGiven) {
  mount_v2();
  make_v2("cg/corehold.slice/pods", "0-7");
  put("cg/corehold.slice/pods/cgroup.controllers", "cpuset cpu\n");
  auto asked = options();
  asked.cgroup = "/corehold.slice/pods";
  const auto found = find_confinement(asked);
  EXPECT_EQ(found->capabilities().confined_by, ConfinedBy::kCgroupV2);
  EXPECT_EQ(found->describe().at("base").as_string(), top_ + "/cg/corehold.slice/pods");
}

TEST_F(FakeCgroups, AreReplacedByNoOthersWhenThoseGivenCannotBeUsed) {
  mount_v2();
  auto asked = options();
  asked.cgroup = "/corehold.slice/pods";
  EXPECT_THAT(find_confinement(asked)->capabilities().note,
              testing::StartsWith(top_ + "/cg/corehold.slice/pods cannot be written: "));
  make_v2("cg/corehold.slice/pods", "0-7");
  put("cg/corehold.slice/pods/cgroup.controllers", "cpu\n");
  EXPECT_THAT(find_confinement(asked)->capabilities().note,
              HasSubstr("was delegated without the cpuset controller"));
}

TEST_F(FakeCgroups, AreReplacedByAffinityWhereThereAreNone) {
  const auto found = find_confinement(options());
  EXPECT_EQ(found->capabilities().confined_by, ConfinedBy::kAffinity);
  EXPECT_THAT(found->capabilities().note, testing::StartsWith("there is no cpuset cgroup: "));
}

TEST_F(FakeCgroups, AreReplacedByAffinityWhereTheyCannotBeWritten) {
  // Root may write everything but what is not there to be written.
  put("proc/mounts", fmt::format("cgroup {0}/gone cgroup ro,cpuset 0 0\n", top_));
  EXPECT_THAT(find_confinement(options())->capabilities().note,
              testing::StartsWith(top_ + "/gone cannot be written: "));
}

TEST_F(FakeCgroups, SurviveBeingDescribed) {
  mount_v2();
  const auto found = find_confinement(options());
  const auto opened = open_confinement(found->describe());
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->describe(), found->describe());
  const auto affinity = make_affinity("why");
  EXPECT_EQ((*open_confinement(affinity->describe()))->describe(), affinity->describe());
  EXPECT_FALSE(open_confinement({{"kind", "chains"}}));
}

TEST_F(FakeCgroups, OfVersion2AreHandedControllersDownAndSet) {
  mount_v2();
  for (const char* path : {"cg/corehold", "cg/corehold/pods", "cg/corehold/pods/u"}) {
    make_v2(path, "0-7");
  }
  make_v2("cg/corehold/pods/u/main", "2-3");
  const auto found = find_confinement(options());
  const auto confined = found->confine(container_, {.cpus = *CpuSet::parse("2-3"),
                                                    .mems = *NodeSet::parse("0"),
                                                    .limits = {.cpu_shares = 2048}});
  ASSERT_TRUE(confined) << confined.error().message;
  // Three writes; the fake keeps the last.
  for (const char* path : {"cg", "cg/corehold", "cg/corehold/pods", "cg/corehold/pods/u"}) {
    EXPECT_EQ(get(fmt::format("{}/cgroup.subtree_control", path)), "+memory") << path;
  }
  EXPECT_EQ(get("cg/corehold/pods/u/main/cgroup.subtree_control"), "\n");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpuset.cpus"), "2-3");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpuset.mems"), "0");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpu.weight"), "79");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpu.max"), "max 100000");
  EXPECT_EQ(get("cg/corehold/pods/u/cpu.weight"), "79");
  const auto limited =
      found->confine(container_, {.cpus = *CpuSet::parse("2-3"), .limits = {.quota = 1500}});
  ASSERT_TRUE(limited);
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpu.max"), "150000 100000");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpuset.mems"), "\n");
  EXPECT_EQ(found->look(container_)->cpus.str(), "2-3");
}

TEST_F(FakeCgroups, OfVersion2NeedNoOtherController) {
  mount_v2();
  put("cg/cgroup.controllers", "cpuset io\n");
  make_v2_container();
  const auto found = find_confinement(options());
  EXPECT_EQ(found->capabilities().note,
            fmt::format("{}/cg/corehold has no cpu controller: CPU weights and limits have no "
                        "effect; and no memory controller: memory limits have no effect",
                        top_));
  const auto confined = found->confine(
      container_, {.cpus = *CpuSet::parse("2-3"), .limits = {.memory_limit = 1 << 20}});
  ASSERT_TRUE(confined) << confined.error().message;
  EXPECT_EQ(get("cg/cgroup.subtree_control"), "+cpuset");
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "max\n");
}

TEST_F(FakeCgroups, OfVersion2LimitMemoryInWholePages) {
  mount_v2();
  make_v2_container();
  const auto found = find_confinement(options());
  ASSERT_TRUE(found->confine(
      container_, {.cpus = *CpuSet::parse("2-3"), .limits = {.memory_limit = 100'000'000}}));
  const std::string page_floor =
      std::to_string(100'000'000 / ::sysconf(_SC_PAGESIZE) * ::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), page_floor);
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.oom.group"), "1");
  EXPECT_EQ(get("cg/corehold/pods/u/memory.max"), "max\n");
  ASSERT_TRUE(found->confine(container_, {.cpus = *CpuSet::parse("2-3")}));
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "max");
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.oom.group"), "0");
}

TEST_F(FakeCgroups, AreLimitedAlsoWhereTheKernelMakesNoPartition) {
  mount_v2();
  make_v2_container();
  put("cg/cpuset.cpus.isolated", "\n");
  for (const char* path :
       {"cg/corehold", "cg/corehold/pods", "cg/corehold/pods/u", "cg/corehold/pods/u/main"}) {
    put(fmt::format("{}/cpuset.cpus.exclusive", path), "\n");
  }
  // It takes what is written and is never a partition.
  ASSERT_EQ(
      ::symlink("/dev/null", (top_ + "/cg/corehold/pods/u/main/cpuset.cpus.partition").c_str()), 0);
  const Placement placement{
      .cpus = *CpuSet::parse("2-3"),
      .limits = {.memory_limit = 36'864'000, .partition = CpuPartition::kIsolated}};
  const auto refused = find_confinement(options())->confine(container_, placement);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("is no isolated partition"));
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpuset.cpus"), "2-3");
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "36864000");
}

TEST_F(FakeCgroups, AreNotGivenLessMemoryThanARunningContainerUses) {
  mount_v2();
  make_v2_container();
  // Of 50 MB the kernel can take 15.
  put("cg/corehold/pods/u/main/memory.current", "50000000\n");
  put("cg/corehold/pods/u/main/memory.stat",
      "anon 35000000\nfile 15000000\ninactive_file 5000000\nactive_file 10000000\n");
  put("cg/corehold/pods/u/main/memory.max", "81920000\n");
  container_.supervisor = ::getpid();
  const auto found = find_confinement(options());
  const auto refused = found->confine(
      container_, {.cpus = *CpuSet::parse("2-3"), .limits = {.memory_limit = 32'768'000}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(refused.error().message,
            "set memory limit of container main (pod u) to 32768000 bytes: attempting to set "
            "container \"main\" memory limit (32768000) below current usage (35000000)");
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "81920000\n");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpuset.cpus"), "2-3");
  EXPECT_TRUE(found->confine(
      container_, {.cpus = *CpuSet::parse("2-3"), .limits = {.memory_limit = 36'864'000}}));
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "36864000");
  // What an earlier attempt has left is nobody's.
  container_.supervisor = 0;
  EXPECT_TRUE(found->confine(
      container_, {.cpus = *CpuSet::parse("2-3"), .limits = {.memory_limit = 32'768'000}}));
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "32768000");
}

TEST_F(FakeCgroups, SayHowManyWereKilledForMemory) {
  mount_v2();
  make_v2_container();
  const auto found = find_confinement(options());
  EXPECT_EQ(found->look(container_)->oom_kills, 0);
  put("cg/corehold/pods/u/main/memory.events", "max 7\noom 2\noom_kill 3\noom_group_kill 1\n");
  EXPECT_EQ(found->look(container_)->oom_kills, 3);
}

TEST_F(FakeCgroups, OfVersion1LimitMemoryWhereALimitIsAskedFor) {
  mount_v1();
  container_.cgroup = "u/main";
  const auto found = find_confinement(options());
  EXPECT_EQ(found->capabilities().note, "");
  const auto confined = found->confine(container_, {.cpus = *CpuSet::parse("0-7")});
  ASSERT_TRUE(confined) << confined.error().message;
  EXPECT_NE(::access((top_ + "/mem/corehold").c_str(), F_OK), 0);

  put("mem/corehold/u/main/memory.limit_in_bytes", "9223372036854771712\n");
  ASSERT_TRUE(found->confine(
      container_, {.cpus = *CpuSet::parse("0-7"), .limits = {.memory_limit = 65'536'000}}));
  EXPECT_EQ(get("mem/corehold/u/main/memory.limit_in_bytes"), "65536000");
  put("mem/corehold/u/main/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_EQ(found->look(container_)->oom_kills, 2);
  ASSERT_TRUE(found->confine(container_, {.cpus = *CpuSet::parse("0-7")}));
  EXPECT_EQ(get("mem/corehold/u/main/memory.limit_in_bytes"), "9223372036854771712");
}

TEST_F(FakeCgroups, ThatWereDescribedBeforeThereWereMemoryLimitsHaveNone) {
  mount_v2();
  make_v2_container();
  auto description = find_confinement(options())->describe();
  description.erase("hasMemory");
  const auto opened = open_confinement(description);
  ASSERT_TRUE(opened);
  ASSERT_TRUE((*opened)->confine(
      container_, {.cpus = *CpuSet::parse("2-3"), .limits = {.memory_limit = 65'536'000}}));
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "max\n");
}

// The fake kernel has no inheritance: what is effective is put there.
TEST_F(FakeCgroups, OfVersion2ShareTheCpusOfTheirParent) {
  mount_v2();
  make_v2("cg/corehold", "0-7");
  for (const char* path : {"cg/corehold/shared", "cg/corehold/shared/u"}) make_v2(path, "4-7");
  make_v2("cg/corehold/shared/u/main", "4-7");
  container_.cgroup = "shared/u/main";
  container_.shared_parent = "shared";
  const auto found = find_confinement(options());
  const auto confined =
      found->confine(container_, {.cpus = *CpuSet::parse("4-7"), .limits = {.cpu_shares = 2048}});
  ASSERT_TRUE(confined) << confined.error().message;
  EXPECT_EQ(get("cg/corehold/shared/cpuset.cpus"), "4-7");
  EXPECT_EQ(get("cg/corehold/shared/u/cpuset.cpus"), "\n");
  EXPECT_EQ(get("cg/corehold/shared/u/main/cpuset.cpus"), "\n");
  EXPECT_EQ(get("cg/corehold/shared/u/main/cpu.weight"), "79");
  EXPECT_EQ(get("cg/corehold/shared/u/cpu.weight"), "79");
  EXPECT_EQ(get("cg/corehold/shared/cpu.weight"),
            std::to_string(cpu_weight(std::int64_t{8} * 1024)));

  put("cg/corehold/shared/cpuset.cpus.effective", "6-7\n");
  const auto moved = found->set_cpus({.cgroup = "shared"}, *CpuSet::parse("6-7"));
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(get("cg/corehold/shared/cpuset.cpus"), "6-7");
  EXPECT_EQ(get("cg/corehold/shared/u/main/cpuset.cpus"), "\n");

  put("cg/corehold/shared/cpuset.cpus.effective", "4-7\n");
  const auto refused = found->set_cpus({.cgroup = "shared"}, *CpuSet::parse("2-3"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            fmt::format("set CPUs of the containers that share to 2-3: the kernel lets "
                        "{}/cg/corehold/shared run on 4-7 instead",
                        top_));
}

TEST_F(FakeCgroups, OfVersion2LoseCpusThatSomebodyGaveThemBesideTheirParents) {
  mount_v2();
  make_v2("cg/corehold", "0-7");
  for (const char* path : {"cg/corehold/shared", "cg/corehold/shared/u"}) make_v2(path, "4-7");
  make_v2("cg/corehold/shared/u/main", "4-7");
  put("cg/corehold/shared/u/main/cpuset.cpus", "4\n");
  container_.cgroup = "shared/u/main";
  container_.shared_parent = "shared";
  ASSERT_TRUE(find_confinement(options())->confine(container_, {.cpus = *CpuSet::parse("4-7")}));
  EXPECT_EQ(get("cg/corehold/shared/u/main/cpuset.cpus"), "\n");
}

TEST_F(FakeCgroups, ChangeTheirCpusAndNothingElse) {
  mount_v2();
  make_v2_container();
  put("cg/corehold/pods/u/main/cpu.weight", "79\n");
  put("cg/corehold/pods/u/main/memory.max", "81920000\n");
  put("cg/corehold/pods/u/main/cpuset.mems", "0\n");
  ASSERT_TRUE(find_confinement(options())->set_cpus(container_, *CpuSet::parse("2-3")));
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpuset.cpus"), "2-3");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpuset.mems"), "0\n");
  EXPECT_EQ(get("cg/corehold/pods/u/main/cpu.weight"), "79\n");
  EXPECT_EQ(get("cg/corehold/pods/u/main/memory.max"), "81920000\n");
}

TEST_F(FakeCgroups, AreNotTakenForSetUntilTheKernelSaysSo) {
  mount_v2();
  for (const char* path : {"cg/corehold", "cg/corehold/pods", "cg/corehold/pods/u"}) {
    make_v2(path, "0-7");
  }
  make_v2("cg/corehold/pods/u/main", "0-1");
  const auto confined =
      find_confinement(options())->confine(container_, {.cpus = *CpuSet::parse("2-3")});
  ASSERT_FALSE(confined);
  EXPECT_EQ(confined.error().message,
            fmt::format("set CPUs of container main (pod u) to 2-3: the kernel lets "
                        "{}/cg/corehold/pods/u/main run on 0-1 instead",
                        top_));
}

TEST_F(FakeCgroups, MayLackACpuThatIsOffline) {
  mount_v2();
  put("cg/cpuset.cpus.effective", "0-2,4-7\n");
  for (const char* path : {"cg/corehold", "cg/corehold/pods", "cg/corehold/pods/u"}) {
    make_v2(path, "0-7");
  }
  make_v2("cg/corehold/pods/u/main", "2");
  EXPECT_TRUE(find_confinement(options())->confine(container_, {.cpus = *CpuSet::parse("2-3")}));
}

TEST_F(FakeCgroups, ThatHaveGoneAreNotFound) {
  mount_v2();
  const auto seen = find_confinement(options())->look(container_);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, Code::kNotFound);
  EXPECT_EQ(*find_confinement(options())->kill(container_), 0U);
  EXPECT_TRUE(*find_confinement(options())->remove(container_));
}

TEST(CpuWeight, IsTheKubelets) {
  EXPECT_EQ(cpu_weight(2), 1);
  EXPECT_EQ(cpu_weight(1024), 39);
  EXPECT_EQ(cpu_weight(2048), 79);
  EXPECT_EQ(cpu_weight(262144), 10000);
  EXPECT_EQ(cpu_weight(0), 1);
  EXPECT_EQ(cpu_weight(1 << 30), 10000);
}

}  // namespace
}  // namespace corehold
