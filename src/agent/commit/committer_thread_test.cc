// SPDX-License-Identifier: Apache-2.0
//
// The committer with the thread and the store of the agent. Run under the thread sanitizer.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/commit/committer.h"
#include "agent/commit/disk_store.h"
#include "manager/record_json.h"
#include "store/checkpoint_file.h"
#include "sys/worker.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

class CommitterThread : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-commit-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    store_.emplace(*PodStore::open(database()), checkpoint(),
                   CheckpointFormat{.version = CheckpointVersion::kV3});
    committer_.emplace(CommitterParts{.loop = loop_, .worker = worker_, .store = *store_});
    ASSERT_TRUE(worker_.start());
  }
  void TearDown() override {
    committer_.reset();
    store_.reset();
    fs::remove_all(directory_);
  }

  std::string database() const { return directory_ + "/store.db"; }
  std::string checkpoint() const { return directory_ + "/cpu_manager_state"; }

  static SavePod save(int pod, std::uint64_t generation) {
    return {.record = {.pod = {.name = fmt::format("pod-{}", pod),
                               .namespace_name = "n",
                               .uid = fmt::format("u{}", pod)},
                       .sequence = static_cast<std::uint64_t>(pod) + 1,
                       .generation = generation}};
  }

  std::string directory_;
  boost::asio::io_context loop_{1};
  WorkerThread worker_{loop_};
  std::optional<DiskStore> store_{};
  std::optional<Committer> committer_{};
};

// Each writer saves its pod again as soon as it is answered.
TEST_F(CommitterThread, SharesTransactionsBetweenWritersAndLosesNothing) {
  constexpr int kWriters = 16;
  const std::uint64_t kRounds = 20;
  std::map<std::string, std::uint64_t> answered;
  std::size_t commits = 0;
  committer_->on_commit = [&](const CommitFigures&) { ++commits; };
  committer_->on_answers = [&](const std::vector<StoreAnswer>& answers) {
    for (const StoreAnswer& answer : answers) {
      ASSERT_FALSE(answer.error) << answer.error->message;
      const auto* saved = std::get_if<SavePod>(&answer.effect);
      if (saved == nullptr) continue;
      const PodRecord& record = saved->record;
      answered[record.pod.uid] = record.generation;
      if (record.generation == kRounds) continue;
      // The loop does other things meanwhile.
      boost::asio::post(loop_, [this, next = record]() mutable {
        ++next.generation;
        committer_->add(SavePod{.record = std::move(next)});
      });
    }
    committer_->add(PersistCheckpoint{.revision = commits, .delta = {.policy = "static"}});
    const bool is_over = std::all_of(answered.begin(), answered.end(),
                                     [kRounds](const auto& pod) { return pod.second == kRounds; });
    if (is_over) loop_.stop();
  };
  for (int i = 0; i < kWriters; ++i) committer_->add(save(i, 1));
  loop_.run();
  for (const StoreAnswer& answer : committer_->close()) EXPECT_FALSE(answer.error);
  // Shared by all, or nearly: as many as there are rounds, not as there are writes.
  EXPECT_LE(commits, 3 * kRounds);
  committer_.reset();
  store_.reset();
  const auto found = PodStore::open(database())->load();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), static_cast<std::size_t>(kWriters));
  for (const StoredPod& pod : *found) EXPECT_EQ(read_record(pod.record)->generation, kRounds);
  EXPECT_EQ(load_checkpoint(checkpoint())->policy, "static");
}

TEST_F(CommitterThread, WritesWhatIsLeftBeforeItEnds) {
  committer_->add(save(1, 1));
  loop_.poll();  // begun, not answered
  committer_->add(save(2, 1));
  committer_->add(PersistCheckpoint{.revision = 1, .delta = {.policy = "none"}});
  EXPECT_EQ(committer_->close().size(), 3U);
  committer_.reset();
  store_.reset();
  EXPECT_EQ(PodStore::open(database())->load()->size(), 2U);
  EXPECT_EQ(load_checkpoint(checkpoint())->policy, "none");
}

}  // namespace
}  // namespace corehold
