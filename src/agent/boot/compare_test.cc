// SPDX-License-Identifier: Apache-2.0
#include "agent/boot/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::HasSubstr;

class CheckTogether : public testing::Test {
 protected:
  Result<void> check(FoundTogether found) const { return check_together(found); }
  FoundTogether found() const {
    return {
        .checkpoint = checkpoint_, .store = store_, .pods = pods_, .cpus = cpus_, .seen = seen_};
  }
  void hold(const std::string& uid) { apply(cpus_, Assign{{uid, "main"}, *CpuSet::parse("2-3")}); }
  void see(const std::string& uid, bool is_running) {
    seen_.push_back({.container = {uid, "main"}, .running = is_running});
  }
  std::string refusal(const FoundTogether& found) const {
    const auto checked = check_together(found);
    EXPECT_TRUE(!checked && checked.error().code == Code::kCorrupt);
    return checked ? "" : checked.error().message;
  }

  std::string checkpoint_ = "/r/cpu_manager_state";
  std::string store_ = "/r/store.db";
  std::set<std::string> pods_{};
  State cpus_{.policy = "static", .shared = *CpuSet::parse("0-7")};
  std::vector<SeenContainer> seen_{};
};

TEST_F(CheckTogether, ANewNodeAndOneWhosePodsAreKnownAreSound) {
  FoundTogether first = found();
  first.is_store_new = true;
  first.has_checkpoint = false;
  EXPECT_TRUE(check_together(first));
  pods_ = {"a", "b"};
  hold("a");
  see("b", true);
  EXPECT_TRUE(check_together(found()));
}

TEST_F(CheckTogether, AMissingCheckpointIsLostWhenContainersRunOrPodsAreKnown) {
  pods_ = {"a"};
  FoundTogether without = found();
  without.has_checkpoint = false;
  EXPECT_TRUE(check_together(without)) << "no checkpoint was ever saved: policy none before";
  without.had_checkpoint = true;
  EXPECT_EQ(refusal(without), checkpoint_ +
                                  " is missing, but the store has 1 pods; restore it, or "
                                  "--recover rebuilds it from what runs");
  without.pins_cpus = false;
  EXPECT_TRUE(check_together(without));
  see("a", true);
  without.pins_cpus = true;
  EXPECT_THAT(refusal(without), HasSubstr("is missing, but 1 containers of this node run"));
}

TEST_F(CheckTogether, ANewStoreIsALostOneWhenContainersRun) {
  see("a", true);
  see("b", false);
  FoundTogether with_new = found();
  with_new.is_store_new = true;
  EXPECT_EQ(refusal(with_new), store_ +
                                   " is missing, but 1 containers of this node run; restore "
                                   "it, or --recover rebuilds it from what runs");
}

TEST_F(CheckTogether, CpusOfAPodThatIsNotKnownAreALostStore) {
  pods_ = {"a"};
  hold("b");
  EXPECT_THAT(refusal(found()), HasSubstr("gives CPUs to pod b, which /r/store.db does not know"));
  see("b", false);
  EXPECT_THAT(refusal(found()), HasSubstr("--recover takes the CPUs of such pods back"));
  see("b", true);
  EXPECT_TRUE(check_together(found())) << "it will be adopted";
}

}  // namespace
}  // namespace corehold
