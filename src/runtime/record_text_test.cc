// SPDX-License-Identifier: Apache-2.0
#include "runtime/record_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::HasSubstr;

const boost::json::object kRecord{{"pid", 12}, {"text", "a\"b,\"digest\":\"c"}};

TEST(RecordText, IsReadAsItWasWritten) {
  const auto read = read_record_text(record_text(kRecord) + "\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kRecord);
}

TEST(RecordText, OfVersionsThatWroteNoDigestIsBelieved) {
  const auto read = read_record_text(R"({"pid":12})");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (boost::json::object{{"pid", 12}}));
}

TEST(RecordText, IsNeverReadAsAnythingElseWhateverBitIsFlipped) {
  const std::string whole = record_text(kRecord) + "\n";
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string text = whole;
      text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << bit));
      const auto read = read_record_text(text);
      if (!read) {
        ++refused;
        EXPECT_EQ(read.error().code, Code::kCorrupt);
        continue;
      }
      EXPECT_EQ(read->at("pid"), 12) << text;
      EXPECT_EQ(read->at("text"), kRecord.at("text")) << text;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(RecordText, SaysWhatIsWrong) {
  const std::string whole = record_text(kRecord);
  EXPECT_EQ(read_record_text("").error().message, "it is empty");
  EXPECT_EQ(read_record_text("[1]").error().message, "not an object");
  std::string other = whole;
  other[7] = '3';
  EXPECT_THAT(read_record_text(other).error().message,
              testing::AllOf(HasSubstr("its digest is "), HasSubstr(", its content gives ")));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(read_record_text(whole.substr(0, size))) << size;
  }
}

TEST(RecordText, IsToldFromOneThatWasInterrupted) {
  const std::string whole = record_text(kRecord);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    EXPECT_FALSE(goes_on_behind_record(whole.substr(0, size))) << size;
  }
  EXPECT_TRUE(goes_on_behind_record(whole + "J"));
}

}  // namespace
}  // namespace corehold
