// SPDX-License-Identifier: Apache-2.0
#include "sys/process/mark_reader.h"

#include <atomic>
#include <future>
#include <memory>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::chrono::milliseconds kShort{5};

// Processes 1 to `count`, of which the first `hanging` do not answer before the gate is opened.
class MarksOfProcesses : public testing::Test {
 protected:
  ~MarksOfProcesses() override { shared_->gate.set_value(); }

  MarkReader reader(pid_t hanging, std::size_t most = 64) const {
    return MarkReader(
        [shared = shared_, hanging](pid_t pid) -> std::optional<std::string> {
          ++shared->asked;
          if (pid <= hanging) shared->opened.wait();
          if (pid % 2 == 0) return "mark";
          return std::nullopt;
        },
        {.with_one = kShort, .with_last = 4 * kShort, .hanging = most});
  }
  static std::vector<pid_t> processes(std::size_t count) {
    std::vector<pid_t> all(count);
    std::iota(all.begin(), all.end(), 1);
    return all;
  }

  struct Shared {
    std::promise<void> gate{};
    std::shared_future<void> opened = gate.get_future().share();
    std::atomic<int> asked = 0;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();  // with threads that hang
};

TEST_F(MarksOfProcesses, AreThoseOfProcessesThatHaveOne) {
  const auto marks = reader(0).read(processes(5));
  EXPECT_THAT(marks.found, ElementsAre(Pair(2, "mark"), Pair(4, "mark")));
  EXPECT_THAT(marks.unread, IsEmpty());
  EXPECT_THAT(reader(0).read({}).found, IsEmpty());
}

TEST_F(MarksOfProcesses, AreReadThoughSomeDoNotAnswer) {
  const auto marks = reader(3).read(processes(6));
  EXPECT_THAT(marks.found, ElementsAre(Pair(4, "mark"), Pair(6, "mark")));
  EXPECT_THAT(marks.unread, ElementsAre(1, 2, 3));
}

TEST_F(MarksOfProcesses, AreAskedForOnceOfProcessesThatDoNotAnswer) {
  const MarkReader all = reader(2);
  all.read(processes(2));
  const int before = shared_->asked;
  EXPECT_THAT(all.read(processes(4)).unread, ElementsAre(1, 2));
  EXPECT_EQ(shared_->asked, before + 2) << "of 3 and 4 alone";
}

TEST_F(MarksOfProcesses, AreGivenUpWhenTooManyDoNotAnswer) {
  const auto marks = reader(10, 3).read(processes(12));
  EXPECT_EQ(marks.unread.size(), 12U);
  EXPECT_THAT(marks.found, IsEmpty());
  EXPECT_EQ(shared_->asked, 3);
}

}  // namespace
}  // namespace corehold
