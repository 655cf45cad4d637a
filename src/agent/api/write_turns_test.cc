// SPDX-License-Identifier: Apache-2.0
#include "agent/api/write_turns.h"

#include <set>
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

}  // namespace
}  // namespace corehold
