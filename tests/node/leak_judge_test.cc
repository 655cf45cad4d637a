// SPDX-License-Identifier: Apache-2.0
#include "leak_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold::proof {
namespace {

using testing::ElementsAre;

// CPUs 2-3 are granted from 100 to 200, and CPU 2 again from 300 to 400.
class TheLeakJudge : public testing::Test {
 protected:
  TheLeakJudge() {
    judge_.add_grant(CpuSet::parse("2-3").value(), 100, 200, 0);
    judge_.add_grant(CpuSet::parse("2").value(), 300, 400, 0);
  }

  void add(const std::string& kind, const std::vector<Sample>& samples) {
    judge_.add_samples(kind, samples, samples.size(),
                       [&](const Sample& sample) { leaks_.push_back(sample.time); });
  }

  LeakJudge judge_;
  std::vector<Nanoseconds> leaks_;
};

TEST_F(TheLeakJudge, FindsSamplesWithinAGrantAndOnACpuOfIt) {
  add("service", {{90, 2}, {110, 2}, {120, 0}, {150, 3}, {160, 0}, {170, 0}});
  EXPECT_THAT(leaks_, ElementsAre(110, 150));
  EXPECT_EQ(judge_.kinds().at("service").leaks, 2U);
  EXPECT_EQ(judge_.verdict({}), Verdict::kLeak);
}

TEST_F(TheLeakJudge, DoesNotCountWhatMayHaveBeenBeforeOrAfter) {
  // The clock was read before the grant; the next was read after its end.
  add("service", {{99, 2}, {120, 0}, {199, 2}, {201, 2}, {250, 2}, {260, 0}, {299, 2}, {310, 0}});
  EXPECT_THAT(leaks_, ElementsAre());
  EXPECT_EQ(judge_.verdict({.samples = 8}), Verdict::kProven);
}

TEST_F(TheLeakJudge, JudgesEachKindApart) {
  add("service", {{90, 2}, {110, 0}, {120, 0}, {130, 0}, {500, 2}, {510, 0}});
  add("session", {{90, 2}, {110, 0}, {120, 0}, {500, 0}});
  EXPECT_EQ(judge_.kinds().at("service"),
            (LeakCounts{.neighbours = 1, .samples = 6, .during = 2, .near = 2, .back = 1}));
  EXPECT_EQ(judge_.kinds().at("session"),
            (LeakCounts{.neighbours = 1, .samples = 4, .during = 1, .near = 1}));
  EXPECT_EQ(judge_.verdict({.during_each = 1}), Verdict::kProven);
  EXPECT_EQ(judge_.verdict({.during_each = 2}), Verdict::kNotEnough) << "too few of the session";
  EXPECT_EQ(judge_.verdict({.back_each = true}), Verdict::kNotEnough)
      << "the session never came back";
}

TEST_F(TheLeakJudge, IsBackOnlyAfterTheLastGrantOfACpu) {
  add("service", {{250, 2}, {260, 3}, {270, 0}});
  EXPECT_EQ(judge_.kinds().at("service").near, 2U);
  EXPECT_EQ(judge_.kinds().at("service").back, 1U);
}

TEST_F(TheLeakJudge, IsNotContentWithoutWhatMakesAProof) {
  EXPECT_EQ(judge_.verdict({}), Verdict::kNotEnough) << "nobody was near";
  add("service", {{90, 2}, {95, 0}});
  EXPECT_EQ(judge_.verdict({.samples = 2}), Verdict::kProven);
  EXPECT_EQ(judge_.verdict({.samples = 3}), Verdict::kNotEnough);
  judge_.add_looks("service", 10, 1);
  EXPECT_EQ(judge_.verdict({.samples = 2}), Verdict::kNotEnough) << "a sample was lost";
}

TEST_F(TheLeakJudge, FindsAHolderThatRanElsewhere) {
  judge_.add_grant(CpuSet::parse("5").value(), 100, 200, 1);
  EXPECT_EQ(judge_.verdict({}), Verdict::kLeak);
}

}  // namespace
}  // namespace corehold::proof
