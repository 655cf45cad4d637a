// SPDX-License-Identifier: Apache-2.0
#include "held_cpus.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold::proof {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

CpuSet cpus(const char* text) { return CpuSet::parse(text).value(); }

TEST(Doubles, AreNoneWhereEachCpuHasOneHolder) {
  EXPECT_THAT(doubles({.exclusive = {{"a/c0", cpus("2-3")}, {"b/c0", cpus("4")}},
                       .shared = cpus("0-1,5-7")}),
              IsEmpty());
}

TEST(Doubles, NameBothHolders) {
  EXPECT_THAT(
      doubles({.exclusive = {{"a/c0", cpus("2-4")}, {"b/c0", cpus("4")}}, .shared = cpus("0-2")}),
      ElementsAre("a/c0 and b/c0 have 4", "a/c0 and the shared containers have 2"));
}

TEST(Differences, AreNoneForContainersThatDoNotRun) {
  EXPECT_THAT(
      differences({.exclusive = {{"a/c0", cpus("2")}}, .shared = {}},
                  {.exclusive = {{"a/c0", cpus("2")}, {"b/c0", cpus("3")}}, .shared = cpus("0-1")}),
      IsEmpty());
}

TEST(Differences, NameWhatIsOtherwise) {
  EXPECT_THAT(differences({.exclusive = {{"a/c0", cpus("2")}, {"b/c0", cpus("3")}},
                           .shared = cpus("0-1,4")},
                          {.exclusive = {{"a/c0", cpus("2,4")}}, .shared = cpus("0-1,3")}),
              ElementsAre("a/c0 has 2, and the agent says 2,4",
                          "b/c0 has 3, and the agent does not know it",
                          "the shared containers have 0-1,4, and the agent says 0-1,3"));
}

TEST(HeldInMap, ReadsTheAgentsAnswer) {
  const auto held = held_in_map(boost::json::parse(
      R"({"shared":"0-1","containers":[{"uid":"a","container":"c0","assigned":"2-3"}]})"));
  ASSERT_TRUE(held);
  EXPECT_EQ(*held, (HeldCpus{.exclusive = {{"a/c0", cpus("2-3")}}, .shared = cpus("0-1")}));
  EXPECT_FALSE(held_in_map(boost::json::parse(R"({"kind":"Status"})")));
}

TEST(HeldInCgroups, ReadsContainersThatHaveProcesses) {
  const fs::path folder = fs::temp_directory_path() / ("held-" + std::to_string(getpid()));
  const auto make = [&](const char* name, const char* events, const char* effective) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name / "cgroup.events") << events;
    std::ofstream(folder / name / "cpuset.cpus.effective") << effective << "\n";
  };
  make("pods/a/c0", "populated 1\nfrozen 0\n", "2-3");
  make("pods/a/c1", "populated 0\nfrozen 0\n", "0-7");
  make("shared", "populated 1\nfrozen 0\n", "0-1,4-7");
  const auto held = held_in_cgroups(folder);
  fs::remove_all(folder);
  ASSERT_TRUE(held);
  EXPECT_EQ(*held, (HeldCpus{.exclusive = {{"a/c0", cpus("2-3")}}, .shared = cpus("0-1,4-7")}));
}

}  // namespace
}  // namespace corehold::proof
