// SPDX-License-Identifier: Apache-2.0
#include "agent/api/write_turns.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::ElementsAre;

class WriteTurnsTest : public testing::Test {
 protected:
  // A write that changes the object, which is then not free.
  bool write(const std::string& key, const std::string& name) {
    return turns_.take(key, [this, key, name] {
      written_.push_back(name);
      busy_.insert(key);
    });
  }
  void free(const std::string& key) {
    busy_.erase(key);
    turns_.look();
    loop_.restart();
    loop_.run();
  }

  boost::asio::io_context loop_;
  std::set<std::string> busy_;
  std::vector<std::string> written_;
  WriteTurns turns_{loop_, [this](const std::string& key) { return !busy_.contains(key); }};
};

TEST_F(WriteTurnsTest, LetsTheFirstGoAtOnceAndTheOthersInTheirOrder) {
  EXPECT_TRUE(write("a", "1"));
  EXPECT_FALSE(write("a", "2"));
  EXPECT_FALSE(write("a", "3"));
  EXPECT_THAT(written_, ElementsAre("1"));
  free("a");
  EXPECT_THAT(written_, ElementsAre("1", "2"));
  free("a");
  EXPECT_THAT(written_, ElementsAre("1", "2", "3"));
}

TEST_F(WriteTurnsTest, LetsWritersOfOtherObjectsPass) {
  EXPECT_TRUE(write("a", "1"));
  EXPECT_FALSE(write("a", "2"));
  EXPECT_TRUE(write("b", "3"));
  EXPECT_THAT(written_, ElementsAre("1", "3"));
}

TEST_F(WriteTurnsTest, KeepsTheOrderOfTheWritesThatWait) {
  EXPECT_TRUE(write("a", "1"));
  EXPECT_FALSE(write("a", "2"));
  busy_.erase("a");
  EXPECT_FALSE(write("a", "3"));
  free("a");
  free("a");
  EXPECT_THAT(written_, ElementsAre("1", "2", "3"));
}

TEST_F(WriteTurnsTest, GoesOnBehindAWriteThatChangesNothing) {
  EXPECT_TRUE(write("a", "1"));
  EXPECT_FALSE(turns_.take("a", [this] { written_.emplace_back("refused"); }));
  EXPECT_FALSE(write("a", "2"));
  free("a");
  EXPECT_THAT(written_, ElementsAre("1", "refused", "2"));
}

// Each of 16 writers writes again as soon as its write is done: none gets ahead of another.
TEST_F(WriteTurnsTest, GivesEveryWriterItsTurnBeforeAnyHasAnother) {
  constexpr int kWriters = 16;
  constexpr int kRounds = 20;
  std::vector<int> done(kWriters, 0);
  const auto write_by = [&](int writer) {
    turns_.take("a", [this, writer] {
      written_.push_back(std::to_string(writer));
      busy_.insert("a");
    });
  };
  for (int writer = 0; writer < kWriters; ++writer) write_by(writer);
  for (int i = 0; i < kWriters * kRounds; ++i) {
    ASSERT_EQ(written_.size(), static_cast<std::size_t>(i) + 1);
    const int writer = std::stoi(written_.back());
    ++done[static_cast<std::size_t>(writer)];
    write_by(writer);
    free("a");
    const auto [fewest, most] = std::minmax_element(done.begin(), done.end());
    EXPECT_LE(*most - *fewest, 1);
  }
}

}  // namespace
}  // namespace corehold
