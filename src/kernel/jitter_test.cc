// SPDX-License-Identifier: Apache-2.0
#include "kernel/jitter.h"

#include <sched.h>

#include <thread>

#include <gtest/gtest.h>

namespace corehold {
namespace {

// In a thread of its own: the affinity stays with the thread.
template <typename Body>
void apart(const Body& body) {
  std::thread thread(body);
  thread.join();
}

TEST(Jitter, LooksAtTheClockOnItsCpu) {
  apart([] {
    const auto allowed = allowed_cpus();
    ASSERT_TRUE(allowed) << allowed.error().message;
    const auto result = measure_jitter({.cpu = allowed->last(),
                                        .duration = std::chrono::milliseconds(2),
                                        .threshold = std::chrono::nanoseconds(0)});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(::sched_getcpu(), allowed->last().value);
    EXPECT_GE(result->watched, std::chrono::milliseconds(2));
    EXPECT_GE(result->rounds, 1U);
    // Without a threshold every round is a pause, and together they are all of the time.
    EXPECT_EQ(result->pauses.count(), result->rounds);
    EXPECT_EQ(result->pauses.sum(), static_cast<std::uint64_t>(result->watched.count()));
    EXPECT_LE(result->shortest, result->pauses.max());
  });
}

TEST(Jitter, SaysThatACpuCannotBeHad) {
  apart([] {
    const auto result = measure_jitter({.cpu = CpuId(kMaxCpus - 1)});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "stay on CPU 4095: sched_setaffinity: EINVAL");
  });
}

}  // namespace
}  // namespace corehold
