// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/code.h"

namespace corehold {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{Code::kInvalid, "odd"};
  return number / 2;
}

Result<int> quarter(int number) {
  const int once = TRY(half(number));
  return TRY(half(once));
}

Result<void> only_even(int number) {
  TRY(half(number));
  return {};
}

Result<std::unique_ptr<int>> boxed(int number) {
  auto box = TRY(Result<std::unique_ptr<int>>(std::make_unique<int>(number)));
  return box;
}

TEST(ResultTry, PassesTheValueOn) { EXPECT_EQ(*quarter(12), 3); }

TEST(ResultTry, ReturnsTheFirstError) {
  ASSERT_FALSE(quarter(6));
  EXPECT_EQ(quarter(6).error(), (Error{Code::kInvalid, "odd"}));
}

TEST(ResultTry, WorksForResultsWithoutValue) {
  EXPECT_TRUE(only_even(2));
  EXPECT_FALSE(only_even(3));
}

TEST(ResultTry, MovesWhatCannotBeCopied) { EXPECT_EQ(**boxed(7), 7); }

TEST(ErrorWrap, PutsTheContextInFront) {
  EXPECT_EQ(wrap("pod db/pg-0", {Code::kExhausted, "no CPUs"}).message, "pod db/pg-0: no CPUs");
}

TEST(CodeTable, NamesTheAdmissionReasonsOfAKubelet) {
  EXPECT_EQ(admission_reason(Code::kUnaligned), "SMTAlignmentError");
  EXPECT_EQ(admission_reason(Code::kExhausted), "OutOfcpu");
  EXPECT_EQ(admission_reason(Code::kIo), "UnexpectedAdmissionError");
  EXPECT_EQ(name_of(Code::kNotFound), "not-found");
}

TEST(ErrorWrap, KeepsCodeAndNumber) {
  EXPECT_EQ(wrap("save", {Code::kNotFound, "open /a: ENOENT", 2}),
            (Error{Code::kNotFound, "save: open /a: ENOENT", 2}));
}

}  // namespace
}  // namespace corehold
