// SPDX-License-Identifier: Apache-2.0
#include "agent/boot/startup.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::string_view kFields =
    R"("source":"api","pod":{"metadata":{"name":"a","uid":"u"},"spec":{}}})";

class LoadPods : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-startup-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  // A store with the record `start` + kFields.
  void store(std::string_view start) const {
    auto store = PodStore::open(store_path(root_));
    ASSERT_TRUE(store) << store.error().message;
    const std::string record = std::string(start) + std::string(kFields);
    ASSERT_TRUE(store->save({.uid = "u", .sequence = 1, .record = record}));
  }
  Result<FoundPods> load(Damage damage) {
    return load_pods(root_, cpus_, damage, Log::to_stream(log_, LogLevel::kDebug));
  }

  std::string root_;
  State cpus_{};
  std::ostringstream log_;
};

TEST_F(LoadPods, RecordsOfThisVersionAndWithoutOneAreRead) {
  for (const char* start : {"{", R"({"version":1,)"}) {
    ASSERT_NO_FATAL_FAILURE(store(start));
    const auto found = load(Damage::kRefuse);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->pods.size(), 1U);
    EXPECT_EQ(found->pods.front().pod.uid, "u");
  }
}

TEST_F(LoadPods, ARecordOfALaterVersionStopsTheAgentAlsoWhenItRecovers) {
  ASSERT_NO_FATAL_FAILURE(store(R"({"version":2,)"));
  for (const Damage damage : {Damage::kRefuse, Damage::kMoveAside}) {
    const auto found = load(damage);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kUnsupported);
    EXPECT_THAT(found.error().message, HasSubstr("store.db: pod u: record of a pod: written by a "
                                                 "later Corehold (version 2, this one knows 1)"));
  }
  // Nothing was put away.
  const auto store = PodStore::open(store_path(root_));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->load()->size(), 1U);
}

TEST_F(LoadPods, ADamagedRecordIsPutAwayOnlyOnRequest) {
  ASSERT_NO_FATAL_FAILURE(store(R"({"sequence":"x",)"));
  const auto refused = load(Damage::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kCorrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("--recover moves it aside"));
  const auto found = load(Damage::kMoveAside);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->moved);
  EXPECT_TRUE(found->pods.empty());
}

TEST_F(LoadPods, AMissingStoreIsLostWhenTheCheckpointGivesCpusToPods) {
  apply(cpus_, Assign{{"u", "main"}, *CpuSet::parse("2-3")});
  for (int i = 0; i < 2; ++i) {
    const auto refused = load(Damage::kRefuse);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kCorrupt);
    EXPECT_THAT(refused.error().message,
                HasSubstr("store.db is missing, but " + root_ +
                          "/cpu_manager_state gives CPUs to 1 pods; --recover"));
  }
  const auto found = load(Damage::kMoveAside);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->moved);
}

TEST_F(LoadPods, AMissingStoreIsLostWhenPodsHaveFiles) {
  ASSERT_TRUE(load(Damage::kRefuse)) << "a new node";
  for (const std::string& file : pod_store_files(store_path(root_))) fs::remove(file);
  const std::string uid = "0b6f1c9e-0f5e-4a55-9c0e-2f7d1f0a9a01";
  fs::create_directories(root_ + "/volumes/" + uid + "/v");
  const auto refused = load(Damage::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("of pod " + uid + " for one"));
  EXPECT_FALSE(fs::exists(store_path(root_)));
}

TEST_F(LoadPods, ADamagedSealIsPutAwayAndTheStoreIsKept) {
  ASSERT_NO_FATAL_FAILURE(store("{"));
  fs::resize_file(store_seal_path(store_path(root_)), 1);
  const auto refused = load(Damage::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("store.db-seal: "));
  EXPECT_THAT(refused.error().message, HasSubstr("--recover"));
  const auto found = load(Damage::kMoveAside);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->moved);
  EXPECT_EQ(found->pods.size(), 1U);
}

TEST_F(LoadPods, ARealStartBelievesNoEarlierSimulation) {
  const Log log = Log::to_stream(log_, LogLevel::kDebug);
  ASSERT_TRUE(end_simulation(root_, log));
  EXPECT_EQ(log_.str(), "");
  std::ofstream(root_ + "/simulated.json") << "{}";
  ASSERT_TRUE(end_simulation(root_, log));
  EXPECT_FALSE(fs::exists(root_ + "/simulated.json"));
  EXPECT_THAT(log_.str(), HasSubstr("an agent with --simulate has used this root"));
}

}  // namespace
}  // namespace corehold
