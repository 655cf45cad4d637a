// SPDX-License-Identifier: Apache-2.0
#include "agent/commit/disk_store.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "store/checkpoint_file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

CpuSet checkpoint_cpus(std::string_view list) { return *CpuSet::parse(list); }

class DiskStoreCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-disk-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    store_.emplace(*PodStore::open(directory_ + "/store.db"), path(), kFormat);
    apply(state_, SetShared{checkpoint_cpus("0-7")});
    assign("a", "1");
    assign("b", "2-3");
    ASSERT_TRUE(commit({whole_delta(state_)}).checkpoint);
  }
  void TearDown() override {
    store_.reset();
    fs::remove_all(directory_);
  }

  void assign(const std::string& uid, std::string_view list) {
    apply(state_, SetShared{state_.shared - checkpoint_cpus(list)});
    apply(state_, Assign{{uid, "main"}, checkpoint_cpus(list)});
  }
  void forget(const std::string& uid) {
    apply(state_, SetShared{state_.shared | state_.find(uid, "main")->assigned});
    apply(state_, Forget{{uid, "main"}});
  }
  CommitResult commit(const std::vector<StateDelta>& deltas) {
    StoreBatch batch;
    for (const StateDelta& delta : deltas) batch.effects.emplace_back(PersistCheckpoint{0, delta});
    return store_->commit(batch);
  }

  std::string path() const { return directory_ + "/cpu_manager_state"; }
  std::string bytes() const { return *read_checkpoint_file(path()); }
  // What a checkpoint of the whole state is, whatever was written before.
  std::string whole() const { return encode_checkpoint(state_, kFormat); }

  static constexpr CheckpointFormat kFormat{.version = CheckpointVersion::kV3};
  std::string directory_;
  State state_{.policy = "static"};
  std::optional<DiskStore> store_{};
};

TEST_F(DiskStoreCheckpoint, IsWrittenWholeFromWhatHasChanged) {
  EXPECT_EQ(bytes(), whole());
  forget("a");
  assign("c", "4-5");
  ASSERT_TRUE(commit({delta_of(state_, {"a", "c"})}).checkpoint);
  EXPECT_EQ(bytes(), whole());
}

TEST_F(DiskStoreCheckpoint, OfOneBatchLeadsToTheLast) {
  forget("b");
  const StateDelta first = delta_of(state_, {"b"});
  assign("c", "2");
  ASSERT_TRUE(commit({first, delta_of(state_, {"c"})}).checkpoint);
  EXPECT_EQ(bytes(), whole());
}

TEST_F(DiskStoreCheckpoint, IsRightAfterAWriteThatFailed) {
  const std::string before = bytes();
  const std::string aside = path() + ".aside";
  fs::rename(path(), aside);
  fs::create_directory(path());  // nothing can be written in its place
  const State sound = state_;
  assign("c", "4-5");
  forget("a");
  EXPECT_FALSE(commit({delta_of(state_, {"a", "c"})}).checkpoint);
  fs::remove(path());
  fs::rename(aside, path());
  EXPECT_EQ(bytes(), before);
  // The manager takes back what was not saved, and names its pods again.
  state_ = sound;
  assign("d", "6");
  ASSERT_TRUE(commit({delta_of(state_, {"a", "c", "d"})}).checkpoint);
  EXPECT_EQ(bytes(), whole());
}

TEST_F(DiskStoreCheckpoint, OfAnotherLifeOfTheManagerReplacesEverything) {
  state_ = {.policy = "none", .shared = checkpoint_cpus("0-7")};
  assign("z", "7");
  ASSERT_TRUE(commit({whole_delta(state_)}).checkpoint);
  EXPECT_EQ(bytes(), whole());
}

}  // namespace
}  // namespace corehold
