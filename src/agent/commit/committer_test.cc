// SPDX-License-Identifier: Apache-2.0
#include "agent/commit/committer.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/commit/testing.h"
#include "sys/worker_testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SavePod save(const std::string& uid, Durability durability = Durability::kSynced) {
  return {.record = {.pod = {.uid = uid}}, .durability = durability};
}
SavePod save_lazily(const std::string& uid) { return save(uid, Durability::kLazy); }

std::string words_of(const StoreAnswer& answer) {
  struct Words {
    std::string operator()(const SavePod& effect) const { return "saved " + effect.record.pod.uid; }
    std::string operator()(const ForgetPod& effect) const { return "forgotten " + effect.uid; }
    std::string operator()(const PersistCheckpoint& effect) const {
      return fmt::format("checkpoint {}", effect.revision);
    }
  };
  return std::visit(Words{}, answer.effect) +
         (answer.error ? ": " + answer.error->message : std::string());
}

class CommitterTest : public testing::Test {
 protected:
  CommitterTest() {
    committer_.on_answers = [this](const std::vector<StoreAnswer>& answers) {
      std::vector<std::string> words;
      words.reserve(answers.size());
      for (const StoreAnswer& answer : answers) words.push_back(words_of(answer));
      diary_.push_back(fmt::format("answers {}", fmt::join(words, ", ")));
      if (on_answers_) std::exchange(on_answers_, nullptr)();
    };
    committer_.on_commit = [this](const CommitFigures& figures) { figures_ = figures; };
  }

  // What the loop has to do already.
  void poll() {
    loop_.restart();
    loop_.poll();
  }
  // One batch, if there is one.
  bool commit() {
    poll();
    const bool any = worker_.step();
    poll();
    return any;
  }

  boost::asio::io_context loop_;
  std::vector<std::string> diary_;
  FakeStore store_{diary_};
  ManualWorker worker_;
  std::function<void()> on_answers_{};
  CommitFigures figures_{};
  Committer committer_{{.loop = loop_, .worker = worker_, .store = store_}};
};

TEST_F(CommitterTest, WritesTogetherWhatTheLoopBringsTogether) {
  for (const char* uid : {"a", "b", "c"}) {
    boost::asio::post(loop_, [this, uid] { committer_.add(save(uid)); });
  }
  EXPECT_TRUE(commit());
  EXPECT_THAT(diary_,
              ElementsAre("commit save a save b save c", "answers saved a, saved b, saved c"));
  EXPECT_FALSE(commit());
}

TEST_F(CommitterTest, CollectsWhatIsAskedWhileItWrites) {
  committer_.add(save("a"));
  poll();
  ASSERT_EQ(worker_.waiting(), 1U);
  committer_.add(save("b"));
  poll();
  committer_.add(ForgetPod{.uid = "a"});
  poll();
  ASSERT_EQ(worker_.waiting(), 1U);
  EXPECT_TRUE(commit());
  EXPECT_TRUE(commit());
  EXPECT_THAT(diary_, ElementsAre("commit save a", "answers saved a", "commit save b forget a",
                                  "answers saved b, forgotten a"));
}

TEST_F(CommitterTest, AnswersEveryCheckpointOfABatchByTheNewest) {
  committer_.add(PersistCheckpoint{.revision = 1});
  committer_.add(save("a"));
  committer_.add(PersistCheckpoint{.revision = 2});
  store_.checkpoint_failure = Error{Code::kIo, "full"};
  EXPECT_TRUE(commit());
  EXPECT_EQ(diary_.back(), "answers checkpoint 1: full, saved a, checkpoint 2: full");
  EXPECT_EQ(figures_.records, 1U);
  EXPECT_TRUE(figures_.has_checkpoint);
  EXPECT_TRUE(figures_.checkpoint_failed);
  EXPECT_FALSE(figures_.records_failed);
}

TEST_F(CommitterTest, FailsAllRecordsOfABatchTogetherAndNotTheCheckpoint) {
  std::vector<std::string> noted;
  const auto note = [&](const std::optional<Error>& error) {
    noted.push_back(error ? error->message : "noted");
  };
  store_.failure = Error{Code::kIo, "full"};
  committer_.add(save("a"));
  committer_.add(PersistCheckpoint{.revision = 1});
  committer_.add(ForgetPod{.uid = "b"});
  committer_.add(SaveNote{.key = "node", .text = "x"}, note);
  EXPECT_TRUE(commit());
  store_.failure.reset();
  committer_.add(SaveNote{.key = "node", .text = "y"}, note);
  EXPECT_TRUE(commit());
  EXPECT_THAT(diary_, ElementsAre("commit save a checkpoint 1 forget b note node",
                                  "answers saved a: full, checkpoint 1, forgotten b: full",
                                  "commit note node"));
  EXPECT_THAT(noted, ElementsAre("full", "noted"));
}

TEST_F(CommitterTest, FailsWhatMayNotUseTheReserveOfAFullDiskAlone) {
  std::optional<Error> noted;
  store_.refused_others = Error{Code::kIo, "full"};
  committer_.add(save("new"));
  SavePod deletion = save("deleted");
  deletion.record.deleted_at = WallTime{1};
  committer_.add(deletion);
  committer_.add(ForgetPod{.uid = "gone"});
  committer_.add(PersistCheckpoint{.revision = 1});
  committer_.add(SaveNote{.key = "node", .text = "x"},
                 [&](const std::optional<Error>& error) { noted = error; });
  EXPECT_TRUE(commit());
  EXPECT_EQ(diary_.back(), "answers saved new: full, saved deleted, forgotten gone, checkpoint 1");
  EXPECT_TRUE(noted);
  EXPECT_TRUE(figures_.records_failed);
}

TEST_F(CommitterTest, WritesALazyRecordAtOnceAndSyncsNothingForIt) {
  committer_.add(save_lazily("lazy"));
  committer_.add(ForgetPod{.uid = "gone", .durability = Durability::kLazy});
  EXPECT_TRUE(commit());
  EXPECT_THAT(diary_,
              ElementsAre("commit save lazy forget gone", "answers saved lazy, forgotten gone"));
  EXPECT_EQ(figures_.records, 2U);
  EXPECT_FALSE(figures_.are_records_synced);
}

TEST_F(CommitterTest, SyncsALazyRecordTogetherWithOneThatIsNot) {
  committer_.add(save_lazily("lazy"));
  committer_.add(save("a"));
  EXPECT_TRUE(commit());
  EXPECT_THAT(diary_, ElementsAre("commit save lazy save a", "answers saved lazy, saved a"));
  EXPECT_TRUE(figures_.are_records_synced);
}

TEST_F(CommitterTest, SyncsNoRecordForACheckpointAndOneForANote) {
  committer_.add(save_lazily("lazy"));
  committer_.add(PersistCheckpoint{.revision = 1});
  EXPECT_TRUE(commit());
  EXPECT_FALSE(figures_.are_records_synced);
  committer_.add(save_lazily("lazy"));
  committer_.add(SaveNote{.key = "node", .text = "x"}, [](const std::optional<Error>&) {});
  EXPECT_TRUE(commit());
  EXPECT_TRUE(figures_.are_records_synced);
}

TEST_F(CommitterTest, KeepsTheOrderOfALazyRecordAndAnotherOfTheSamePod) {
  committer_.add(save_lazily("a"));
  committer_.add(ForgetPod{.uid = "a"});
  EXPECT_TRUE(commit());
  EXPECT_EQ(diary_.front(), "commit save a forget a");
}

TEST_F(CommitterTest, WritesALazyRecordAsSoonAsTheBatchBeforeItIsWritten) {
  committer_.add(save("a"));
  poll();
  committer_.add(save_lazily("lazy"));
  EXPECT_TRUE(commit());
  EXPECT_THAT(diary_, ElementsAre("commit save a", "answers saved a"));
  EXPECT_TRUE(commit());
  EXPECT_EQ(diary_.back(), "answers saved lazy");
  EXPECT_FALSE(figures_.are_records_synced);
}

TEST_F(CommitterTest, SettlesWithAllThatTheAnswersLeadTo) {
  committer_.add(save_lazily("a"));
  on_answers_ = [this] { committer_.add(PersistCheckpoint{.revision = 1}); };
  committer_.settle();
  EXPECT_THAT(diary_, ElementsAre("commit save a", "answers saved a", "commit checkpoint 1",
                                  "answers checkpoint 1"));
  // The loop hears of it later, and nobody is answered twice.
  while (commit()) continue;
  EXPECT_EQ(diary_.size(), 4U);
}

TEST_F(CommitterTest, ClosesWhenEverythingIsWrittenAndAnswersNobody) {
  committer_.add(save("a"));
  poll();
  committer_.add(save("b"));
  committer_.add(save_lazily("lazy"));
  const std::vector<StoreAnswer> answers = committer_.close();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(words_of(answers.back()), "saved lazy");
  EXPECT_THAT(diary_, ElementsAre("commit save a", "commit save b save lazy"));
  committer_.add(save("late"));
  while (commit()) continue;
  EXPECT_EQ(diary_.size(), 2U);
}

TEST_F(CommitterTest, ClosesWithoutAnythingToDo) { EXPECT_THAT(committer_.close(), IsEmpty()); }

}  // namespace
}  // namespace corehold
