// SPDX-License-Identifier: Apache-2.0
#include "agent/view/event_book.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using namespace std::chrono_literals;

class EventBookTest : public testing::Test {
 protected:
  EventBookTest() { node_.running.pods["u1"].record.pod = {.name = "a", .namespace_name = "n"}; }

  EventBook::Change add(const std::string& message, WallTime now) {
    return book_.add(
        {.about = {.pod = "u1", .container = "main"}, .reason = "Started", .message = message},
        node_, now);
  }
  EventView at(std::size_t index) const { return book_.all().at(index); }

  NodeState node_;
  EventBook book_{"host", 3};
};

TEST_F(EventBookTest, CountsWhatRepeatsItself) {
  add("x", 1000ms);
  add("y", 2000ms);
  add("x", 3000ms);
  ASSERT_EQ(book_.size(), 2U);
  EXPECT_EQ(at(0).message, "y");
  EXPECT_EQ(at(1).message, "x");
  EXPECT_EQ(at(1).count, 2);
  EXPECT_EQ(at(1).first_at, 1000ms);
  EXPECT_EQ(at(1).last_at, 3000ms);
}

TEST_F(EventBookTest, ForgetsWhatIsLongestAgo) {
  for (int i = 0; i < 5; ++i) add(fmt::to_string(i), 1000ms * (i + 1));
  ASSERT_EQ(book_.size(), 3U);
  EXPECT_EQ(at(0).message, "2");
  EXPECT_EQ(add("0", 9000ms).gone->message, "2");
  EXPECT_EQ(at(2).count, 1);
}

TEST_F(EventBookTest, NamesTheObjectThatAnEventIsAbout) {
  add("x", 1000ms);
  EXPECT_EQ(at(0).kind, "Pod");
  EXPECT_EQ(at(0).namespace_name, "n");
  EXPECT_EQ(at(0).name, "a");
  EXPECT_EQ(at(0).container, "main");
  book_.add({.reason = "CpusOffline"}, node_, 2000ms);
  EXPECT_EQ(at(1).kind, "Node");
  EXPECT_EQ(at(1).name, "host");
}

}  // namespace
}  // namespace corehold
