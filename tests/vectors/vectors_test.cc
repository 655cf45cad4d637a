// SPDX-License-Identifier: Apache-2.0
//
// Every line of the repository's own copy of the public vectors, family by family:
// none fails, and none is skipped but under a name written down here.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "runner.h"

namespace corehold::vectors {
namespace {

struct Family {
  std::string name;
  int lines;                               // in the repository's copy
  int least_passed;                        // so that the test cannot pass on skipped lines
  std::set<std::string> may_be_skipped{};  // the exceptions, by name
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

class PublicVectors : public testing::TestWithParam<Family> {};

TEST_P(PublicVectors, AllLinesAgreeOrFallUnderAKnownException) {
  const Family& family = GetParam();
  const auto reports = run_directory(COREHOLD_SOURCE_DIR "/tests/vectors/data",
                                     {.family = family.name, .failures_kept = 10});
  ASSERT_TRUE(reports) << reports.error().message;
  ASSERT_EQ(reports->size(), 1U);
  const Report& report = reports->front();
  SCOPED_TRACE(format_reports(*reports));
  EXPECT_EQ(report.failed, 0);
  EXPECT_GE(report.passed, family.least_passed);
  EXPECT_EQ(report.passed + report.failed + report.skipped_total(), family.lines);
  for (const auto& [exception, lines] : report.skipped) {
    EXPECT_TRUE(family.may_be_skipped.contains(exception)) << lines << " lines: " << exception;
  }
}

const std::set<std::string> kAllocateExceptions{"hang", "slice aliasing", "irregular machine",
                                                "kubelet gives CPUs that are not available"};

const std::set<std::string> kPolicyExceptions{"hang",
                                              "slice aliasing",
                                              "irregular machine",
                                              "option pair only the kubelet refuses",
                                              "gate PodLevelResourceManagers",
                                              "kubelet leaves a CPU given twice or to nobody",
                                              "kubelet leaves a reserved CPU given",
                                              "kubelet leaves a core split under full-pcpus-only",
                                              "kubelet leaves an empty shared pool"};

// The numbers passed are those of today: a line that is newly skipped shows.
INSTANTIATE_TEST_SUITE_P(
    Family, PublicVectors,
    testing::Values(Family{.name = "cpuset", .lines = 1522, .least_passed = 1522},
                    Family{.name = "allocate",
                           .lines = 19883,
                           .least_passed = 19416,
                           .may_be_skipped = kAllocateExceptions},
                    Family{.name = "static_policy",
                           .lines = 1803,
                           .least_passed = 1341,
                           .may_be_skipped = kPolicyExceptions},
                    Family{.name = "hints", .lines = 8791, .least_passed = 8791},
                    Family{.name = "merge", .lines = 16109, .least_passed = 16109},
                    Family{.name = "checkpoint", .lines = 1470, .least_passed = 1470},
                    Family{.name = "quantity_qos",
                           .lines = 3564,
                           .least_passed = 3078,
                           .may_be_skipped = {"quantity beyond int64"}},
                    Family{.name = "declared_features",
                           .lines = 3158,
                           .least_passed = 3081,
                           .may_be_skipped = {"panic", "unsorted feature list"}}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace corehold::vectors
