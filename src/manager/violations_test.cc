// SPDX-License-Identifier: Apache-2.0
//
// A state that breaks a promise is found out: each is broken by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/testing.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::Contains;
using testing::IsEmpty;

// CPUs 0-7, CPU 0 reserved. db holds 2-7, is told 2-5 and has five seconds.
class Violations : public testing::Test {
 protected:
  Violations() {
    node_.rules().scale_delay = std::chrono::seconds(5);
    node_.create(pod_of("db", {"main cpu=2 memory=1Gi"}));
    node_.resize("db", "6");
    node_.resize("db", "4");
  }

  std::vector<std::string> found() { return violations(node_.rules(), node_.node()); }
  PlacedPod& pod() { return node_.node().placing.pods.at("db"); }
  PlacedContainer& container() { return pod().containers.at("main"); }
  void book_pending(std::optional<CpuSet> kept) {
    apply(node_.node().placing.bookings.cpus, SetPending{{"db", "main"}, std::move(kept)});
  }

  TestNode node_{machine("1s4c2t"), {.reserved = cpus("0"), .reserved_count = 1}};
};

TEST_F(Violations, ThereAreNoneInTheMiddleOfADelay) { EXPECT_THAT(found(), IsEmpty()); }

TEST_F(Violations, WhatIsKeptIsInTheBooks) {
  book_pending(std::nullopt);
  EXPECT_THAT(found(), Contains("container main of pod db is to keep CPUs 2-5, by the books none"));
}

TEST_F(Violations, NothingIsPendingWithoutAResize) {
  pod().resize.under_way.reset();
  EXPECT_THAT(found(), Contains("container main of pod db is to keep CPUs none, by the books 2-5"));
  EXPECT_THAT(found(),
              Contains("container main of pod db has a delay for CPUs 2-5 and is to keep none"));
}

TEST_F(Violations, APendingSetKeepsWhatWasPromisedAndIsLessThanIsHeld) {
  for (const char* kept : {"4-7", "2-7"}) {
    book_pending(cpus(kept));
    EXPECT_THAT(found(), Contains(std::string("container main of pod db: pending ") + kept +
                                  " is not between promised 2-3 and assigned 2-7"));
  }
}

TEST_F(Violations, ADelayIsForWhatIsKept) {
  container().shrink->after = cpus("2-6");
  EXPECT_THAT(found(),
              Contains("container main of pod db has a delay for CPUs 2-6 and is to keep 2-5"));
}

TEST_F(Violations, FilesListOnlyWhatIsKeptAndHeld) {
  CpuSet& listed = pod().files.told->at("main").cpus;
  listed = cpus("2-6");
  EXPECT_THAT(found(), Contains("the files of container main of pod db list CPUs 2-6, of which it "
                                "is to keep 2-5"));
  listed = cpus("1-5");
  EXPECT_THAT(found(), Contains("the files of container main of pod db list CPUs 1-5, of which it "
                                "holds 2-7"));
}

TEST_F(Violations, FilesListOnlyWhatCanBeUsed) {
  container().confirmed = cpus("2-4");
  EXPECT_THAT(found(), Contains("the files of container main of pod db list CPUs 2-5, of which it "
                                "may use 2-4"));
}

}  // namespace
}  // namespace corehold
