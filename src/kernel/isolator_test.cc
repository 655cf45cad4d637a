// SPDX-License-Identifier: Apache-2.0
#include "kernel/isolator.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/task.h"
#include "kernel/testing.h"
#include "sys/descriptor.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

// systemd without a bus: it writes the cgroups of its units itself.
class FakeUnits final : public Units {
 public:
  explicit FakeUnits(const MadeFiles& files) : files_(files) {}

  void begin() override { ++rounds; }
  Result<CpuSet> allowed_cpus(const std::string& unit) override {
    if (failure) return *failure;
    return allowed[unit];
  }
  Result<void> set_allowed_cpus(const std::string& unit, const CpuSet& set) override {
    if (failure) return *failure;
    if (refuses_none && set.empty()) return Error{Code::kIo, "refused"};
    allowed[unit] = set;
    if (late_failure) return *late_failure;
    writes.push_back(fmt::format("{}={}", unit, set.str()));
    if (is_late) return {};
    return write_kernel_file(files_.root() + "/cgroup/" + unit + "/cpuset.cpus", set.str());
  }

  std::map<std::string, CpuSet> allowed{};
  std::vector<std::string> writes{};
  std::optional<Error> failure{};
  std::optional<Error> late_failure{};  // after the unit was changed
  bool refuses_none = false;
  bool is_late = false;  // it answers, and has not written the cgroup yet
  int rounds = 0;

 private:
  const MadeFiles& files_;
};

class IsolatorV2 : public testing::Test {
 protected:
  IsolatorV2() {
    files_.write("proc/sys/kernel/random/boot_id", "boot-1\n");
    files_.write("cgroup/cgroup.subtree_control", "cpuset cpu\n");
    group("corehold");
    group("corehold/pods");
  }

  void group(const std::string& name, const std::string& cpus_of_it = "") {
    files_.write("cgroup/" + name + "/cpuset.cpus", cpus_of_it);
    const std::filesystem::path path = files_.root() + "/cgroup/" + name;
    std::filesystem::create_symlink("cpuset.cpus", path / "cpuset.cpus.effective");
    files_.write("cgroup/" + name + "/cgroup.events", "populated 1\n");
  }
  std::string path(const std::string& name) const {
    return files_.root() + "/cgroup/" + name + "/cpuset.cpus";
  }
  std::string cpus_of(const std::string& name) const { return *read_kernel_file(path(name)); }

  Isolator isolator(bool has_units = false) {
    return {{.journal = files_.root() + "/isolation.json",
             .places = {.mount = files_.root() + "/cgroup",
                        .own = "/corehold",
                        .proc = files_.root() + "/proc",
                        .has_units = has_units,
                        .patience = 1ms}},
            units_};
  }
  static IsolationWish wish(std::string_view held) {
    return {.level = IsolationLevel::kFence, .online = cpus("0-7"), .held = cpus(held)};
  }
  IsolationJournal journal() const {
    return *read_journal(files_.root() + "/isolation.json", files_.root() + "/proc");
  }

  MadeFiles files_{};
  FakeUnits units_{files_};
};

TEST_F(IsolatorV2, FencesOffTheCgroupsOfOthersAndGivesThemBack) {
  group("jobs");
  group("limited", "0-3\n");
  group("corehold/agent");
  Isolator machine = isolator();
  const auto fenced = machine.apply(wish("2-3"));
  ASSERT_TRUE(fenced) << fenced.error().message;
  EXPECT_THAT(fenced->leftovers, IsEmpty());
  EXPECT_EQ(cpus_of("jobs"), "0-1,4-7");
  EXPECT_EQ(cpus_of("limited"), "0-1");
  EXPECT_EQ(cpus_of("corehold/agent"), "0-1,4-7");
  EXPECT_EQ(cpus_of("corehold"), "");
  EXPECT_EQ(cpus_of("corehold/pods"), "");
  EXPECT_EQ(journal().held, cpus("2-3"));
  const auto lifted = machine.apply(wish(""));
  ASSERT_TRUE(lifted) << lifted.error().message;
  EXPECT_EQ(cpus_of("jobs"), "");
  EXPECT_EQ(cpus_of("limited"), "0-3");
  EXPECT_THAT(journal().entries, IsEmpty());
}

TEST_F(IsolatorV2, GivesBackWhatAnEarlierAgentHasTaken) {
  group("jobs", "0-5\n");
  ASSERT_TRUE(isolator().apply(wish("2-3")));
  ASSERT_EQ(cpus_of("jobs"), "0-1,4-5");
  ASSERT_TRUE(isolator().apply(wish("2")));
  ASSERT_EQ(cpus_of("jobs"), "0-1,3-5");
  ASSERT_TRUE(isolator().apply(wish("")));
  EXPECT_EQ(cpus_of("jobs"), "0-5");
}

TEST_F(IsolatorV2, LeavesAloneWhatSomebodyElseHasSetSince) {
  group("jobs");
  Isolator machine = isolator();
  ASSERT_TRUE(machine.apply(wish("2-3")));
  files_.write("cgroup/jobs/cpuset.cpus", "0\n");
  ASSERT_TRUE(machine.apply(wish("")));
  EXPECT_EQ(cpus_of("jobs"), "0");
  EXPECT_THAT(journal().entries, IsEmpty());
}

TEST_F(IsolatorV2, KnowsNothingOfAnotherBoot) {
  group("jobs", "0-5\n");
  ASSERT_TRUE(isolator().apply(wish("2-3")));
  files_.write("proc/sys/kernel/random/boot_id", "boot-2\n");
  files_.write("cgroup/jobs/cpuset.cpus", "0-1,4-5\n");
  ASSERT_TRUE(isolator().apply(wish("")));
  EXPECT_EQ(cpus_of("jobs"), "0-1,4-5");
}

TEST_F(IsolatorV2, RepairsThreeTimesAndThenNamesTheOtherWriter) {
  group("jobs");
  Isolator machine = isolator();
  ASSERT_TRUE(machine.apply(wish("2-3")));
  for (int time = 0; time < kMostRepairs; ++time) {
    files_.write("cgroup/jobs/cpuset.cpus", "0-7\n");
    const auto again = machine.apply(wish("2-3"));
    ASSERT_TRUE(again);
    EXPECT_THAT(again->leftovers, IsEmpty());
    EXPECT_EQ(cpus_of("jobs"), "0-1,4-7");
  }
  files_.write("cgroup/jobs/cpuset.cpus", "0-7\n");
  const auto again = machine.apply(wish("2-3"));
  ASSERT_TRUE(again);
  ASSERT_EQ(again->leftovers.size(), 1U);
  EXPECT_EQ(again->leftovers[0].what, "file " + path("jobs"));
  EXPECT_EQ(cpus_of("jobs"), "0-7");
}

TEST_F(IsolatorV2, ForgetsAGroupThatIsGone) {
  group("jobs");
  Isolator machine = isolator();
  ASSERT_TRUE(machine.apply(wish("2-3")));
  std::filesystem::remove_all(files_.root() + "/cgroup/jobs");
  const auto lifted = machine.apply(wish(""));
  ASSERT_TRUE(lifted);
  EXPECT_THAT(lifted->leftovers, IsEmpty());
  EXPECT_THAT(journal().entries, IsEmpty());
}

TEST_F(IsolatorV2, NamesAGroupWithoutCpusetAndFencesTheOthers) {
  group("jobs");
  files_.write("cgroup/odd/cgroup.events", "populated 1\n");
  const auto fenced = isolator().apply(wish("2-3"));
  ASSERT_TRUE(fenced);
  ASSERT_EQ(fenced->leftovers.size(), 1U);
  EXPECT_EQ(fenced->leftovers[0].what, "/odd");
  EXPECT_THAT(fenced->leftovers[0].reason, HasSubstr("cgroup/odd/cpuset.cpus: ENOENT"));
  EXPECT_EQ(cpus_of("jobs"), "0-1,4-7");
}

TEST_F(IsolatorV2, SetsUnitsThroughSystemdAndOtherCgroupsDirectly) {
  group("system.slice");
  group("by-hand");
  units_.allowed["system.slice"] = cpus("0-5");
  Isolator machine = isolator(true);
  const auto fenced = machine.apply(wish("2-3"));
  ASSERT_TRUE(fenced) << fenced.error().message;
  EXPECT_THAT(fenced->leftovers, IsEmpty());
  EXPECT_THAT(units_.writes, ElementsAre("system.slice=0-1,4-5"));
  EXPECT_EQ(cpus_of("by-hand"), "0-1,4-7");
  ASSERT_TRUE(machine.apply(wish("2-3")));
  EXPECT_EQ(units_.writes.size(), 1U);
  ASSERT_TRUE(machine.apply(wish("")));
  EXPECT_EQ(units_.allowed["system.slice"], cpus("0-5"));
}

// Up to kernel 6.1 the cpuset of a cgroup with processes cannot be emptied.
TEST_F(IsolatorV2, LiftsAUnitToAllCpusBeforeItHasNoneOfItsOwn) {
  group("system.slice");
  Isolator machine = isolator(true);
  ASSERT_TRUE(machine.apply(wish("2-3")));
  ASSERT_TRUE(machine.apply(wish("")));
  EXPECT_THAT(units_.writes,
              ElementsAre("system.slice=0-1,4-7", "system.slice=0-7", "system.slice="));
}

TEST_F(IsolatorV2, GivesBackAUnitThatWasChangedAlthoughTheWriteFailed) {
  group("system.slice");
  units_.late_failure = Error{Code::kIo, "no answer within 3000 ms"};
  ASSERT_EQ(isolator(true).apply(wish("2-3"))->leftovers.size(), 1U);
  ASSERT_EQ(units_.allowed["system.slice"], cpus("0-1,4-7"));
  units_.late_failure.reset();
  ASSERT_TRUE(isolator(true).apply(wish("")));
  EXPECT_EQ(units_.allowed["system.slice"], cpus(""));
  EXPECT_THAT(journal().entries, IsEmpty());
}

// systemd has changed the unit and not yet handed the controller down to its cgroup.
TEST_F(IsolatorV2, GivesBackAUnitWhoseCgroupHadNoCpusetYet) {
  files_.write("cgroup/system.slice/cgroup.events", "populated 1\n");
  units_.is_late = true;
  const auto fenced = isolator(true).apply(wish("2-3"));
  ASSERT_TRUE(fenced);
  ASSERT_EQ(fenced->leftovers.size(), 1U);
  EXPECT_THAT(fenced->leftovers[0].reason, HasSubstr("cpuset.cpus: ENOENT after 1 ms"));
  EXPECT_EQ(journal().entries.size(), 1U);
  units_.is_late = false;
  group("system.slice");
  ASSERT_TRUE(isolator(true).apply(wish("")));
  EXPECT_EQ(units_.allowed["system.slice"], cpus(""));
  EXPECT_THAT(journal().entries, IsEmpty());
}

// What stands in the cgroup until then is within the new CPUs as well.
TEST_F(IsolatorV2, WaitsUntilSystemdHasWrittenMoreCpus) {
  group("system.slice");
  Isolator machine = isolator(true);
  ASSERT_TRUE(machine.apply(wish("2-7")));
  ASSERT_EQ(cpus_of("system.slice"), "0-1");
  units_.is_late = true;
  const auto early = machine.apply(wish("2-3"));
  ASSERT_EQ(early->leftovers.size(), 1U);
  EXPECT_THAT(early->leftovers[0].reason, HasSubstr("is \"0-1\""));
  files_.write("cgroup/system.slice/cpuset.cpus", "0-1,4-7\n");
  EXPECT_THAT(machine.apply(wish("2-3"))->leftovers, IsEmpty());
  EXPECT_EQ(cpus_of("system.slice"), "0-1,4-7");
}

TEST_F(IsolatorV2, KeepsAJournalThatCanBeReadWhateverGroupsAreCalled) {
  group("\xff");
  files_.write("cgroup/\xfe/cgroup.events", "populated 1\n");
  const auto fenced = isolator().apply(wish("2-3"));
  ASSERT_TRUE(fenced);
  ASSERT_EQ(fenced->leftovers.size(), 1U);
  EXPECT_EQ(fenced->leftovers[0].what, "/\xef\xbf\xbd");
  EXPECT_EQ(cpus_of("\xff"), "0-1,4-7");
  ASSERT_TRUE(isolator().apply(wish("")));
  EXPECT_EQ(cpus_of("\xff"), "");
}

TEST_F(IsolatorV2, FencesAGroupAgainHoweverOftenItIsMadeAnew) {
  Isolator machine = isolator();
  for (int time = 0; time < 3 * kMostRepairs; ++time) {
    group("jobs");
    const auto fenced = machine.apply(wish("2-3"));
    ASSERT_TRUE(fenced);
    EXPECT_THAT(fenced->leftovers, IsEmpty());
    ASSERT_EQ(cpus_of("jobs"), "0-1,4-7") << time;
    std::filesystem::remove_all(files_.root() + "/cgroup/jobs");
  }
}

TEST_F(IsolatorV2, ForgetsGroupsThatAreGoneWhileCpusAreHeldAndKeepsUnitsThatAreStopped) {
  group("jobs");
  group("db.slice");
  Isolator machine = isolator(true);
  ASSERT_TRUE(machine.apply(wish("2-3")));
  ASSERT_EQ(journal().entries.size(), 2U);
  std::filesystem::remove_all(files_.root() + "/cgroup/jobs");
  std::filesystem::remove_all(files_.root() + "/cgroup/db.slice");
  ASSERT_TRUE(machine.apply(wish("2-3")));
  ASSERT_EQ(journal().entries.size(), 1U);
  EXPECT_EQ(journal().entries.begin()->first.name, "db.slice");
  units_.allowed["db.slice"] = cpus("1");
  ASSERT_TRUE(machine.apply(wish("2-3")));
  EXPECT_THAT(journal().entries, IsEmpty()) << "somebody else has set it since";
}

TEST_F(IsolatorV2, TouchesNothingWhereAllCpusThatAreOnlineAreHeld) {
  group("jobs");
  Isolator machine = isolator();
  ASSERT_TRUE(machine.apply(wish("2-3")));
  IsolationWish all = wish("2-3");
  all.online = cpus("2-3");
  const auto report = machine.apply(all);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->leftovers.size(), 1U);
  EXPECT_EQ(report->leftovers[0].reason, "containers hold all CPUs that are online: 2-3");
  EXPECT_EQ(cpus_of("jobs"), "0-1,4-7");
}

TEST_F(IsolatorV2, UsesTheCopyOfAJournalThatCannotBeRead) {
  group("jobs", "0-5\n");
  const auto agent = [&] {
    return Isolator({.journal = files_.root() + "/isolation.json",
                     .owner = files_.root() + "/run/isolation",
                     .places = {.mount = files_.root() + "/cgroup",
                                .own = "/corehold",
                                .proc = files_.root() + "/proc"}},
                    units_);
  };
  ASSERT_TRUE(agent().apply(wish("2-3")));
  files_.write("isolation.json", "{");
  const auto lifted = agent().apply(wish(""));
  ASSERT_TRUE(lifted) << lifted.error().message;
  EXPECT_EQ(cpus_of("jobs"), "0-5");
  ASSERT_EQ(lifted->leftovers.size(), 1U);
  EXPECT_EQ(lifted->leftovers[0].what, files_.root() + "/isolation.json");
  EXPECT_THAT(lifted->leftovers[0].reason, HasSubstr("isolation.json.corrupt-"));
  EXPECT_FALSE(std::filesystem::exists(files_.root() + "/run/isolation"));
  files_.write("isolation.json", "{");
  EXPECT_FALSE(agent().apply(wish(""))) << "there is no copy";
}

// All CPUs is what a unit has on the way to none of its own.
TEST_F(IsolatorV2, GoesOnGivingBackWhereAnEarlierAgentHasEnded) {
  group("system.slice");
  ASSERT_TRUE(isolator(true).apply(wish("2-3")));
  units_.refuses_none = true;
  ASSERT_EQ(isolator(true).apply(wish(""))->leftovers.size(), 1U);
  ASSERT_EQ(units_.allowed["system.slice"], cpus("0-7"));
  units_.refuses_none = false;
  ASSERT_TRUE(isolator(true).apply(wish("")));
  EXPECT_EQ(units_.allowed["system.slice"], cpus(""));
  EXPECT_THAT(journal().entries, IsEmpty());
}

TEST_F(IsolatorV2, LeavesAllCpusToAUnitThatSomebodyElseHasGivenThem) {
  group("system.slice");
  ASSERT_TRUE(isolator(true).apply(wish("2-3")));
  ASSERT_TRUE(units_.set_allowed_cpus("system.slice", cpus("0-7")));
  ASSERT_TRUE(isolator(true).apply(wish("")));
  EXPECT_EQ(units_.allowed["system.slice"], cpus("0-7"));
}

// An agent with another directory does not take its fence for what the machine had.
TEST_F(IsolatorV2, TakesOverTheJournalOfTheMachinesLastAgent) {
  group("jobs", "0-5\n");
  const auto agent = [&](const std::string& name) {
    files_.write(name + "/any", "");
    return Isolator({.journal = files_.root() + "/" + name + "/isolation.json",
                     .owner = files_.root() + "/run/isolation",
                     .places = {.mount = files_.root() + "/cgroup",
                                .own = "/corehold",
                                .proc = files_.root() + "/proc"}},
                    units_);
  };
  ASSERT_TRUE(agent("first").apply(wish("2-3")));
  ASSERT_EQ(cpus_of("jobs"), "0-1,4-5");
  ASSERT_TRUE(agent("second").apply(wish("4")));
  EXPECT_EQ(cpus_of("jobs"), "0-3,5");
  EXPECT_FALSE(std::filesystem::exists(files_.root() + "/first/isolation.json"));
  ASSERT_TRUE(agent("first").apply(wish("")));
  EXPECT_EQ(cpus_of("jobs"), "0-5");
  EXPECT_FALSE(std::filesystem::exists(files_.root() + "/run/isolation"));
  ASSERT_TRUE(agent("first").apply(wish("2-3")));
  std::filesystem::remove_all(files_.root() + "/first");
  ASSERT_TRUE(agent("first").apply(wish("")));
  EXPECT_EQ(cpus_of("jobs"), "0-5") << "its directory was lost";
}

TEST_F(IsolatorV2, NamesUnitsWhileSystemdDoesNotAnswerAndFencesTheRest) {
  group("system.slice");
  group("by-hand");
  units_.failure = Error{Code::kIo, "talk to systemd: no answer within 3000 ms"};
  Isolator machine = isolator(true);
  const auto fenced = machine.apply(wish("2-3"));
  ASSERT_TRUE(fenced);
  ASSERT_EQ(fenced->leftovers.size(), 1U);
  EXPECT_EQ(fenced->leftovers[0].what, "/system.slice");
  EXPECT_EQ(fenced->leftovers[0].reason, "talk to systemd: no answer within 3000 ms");
  EXPECT_EQ(cpus_of("by-hand"), "0-1,4-7");
  units_.failure.reset();
  EXPECT_THAT(machine.apply(wish("2-3"))->leftovers, IsEmpty());
  EXPECT_EQ(units_.rounds, 2);
}

TEST_F(IsolatorV2, TouchesNothingWithAJournalThatItCannotRead) {
  group("jobs");
  files_.write("isolation.json", "{");
  const auto fenced = isolator().apply(wish("2-3"));
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().code, Code::kCorrupt);
  EXPECT_THAT(fenced.error().message, HasSubstr("isolation.json: not a journal of isolation"));
  EXPECT_EQ(cpus_of("jobs"), "");
}

TEST_F(IsolatorV2, LooksForGroupsBesideEachLevelOfTheContainersCgroup) {
  group("corehold.slice");
  group("corehold.slice/pods.service");
  group("corehold.slice/pods.service/pods");
  group("corehold.slice/pods.service/holder");
  group("corehold.slice/agent.service");
  std::filesystem::remove_all(files_.root() + "/cgroup/corehold");
  Isolator machine({.journal = files_.root() + "/isolation.json",
                    .places = {.mount = files_.root() + "/cgroup",
                               .own = "/corehold.slice/pods.service",
                               .proc = files_.root() + "/proc"}},
                   units_);
  ASSERT_TRUE(machine.apply(wish("2-3")));
  EXPECT_EQ(cpus_of("corehold.slice"), "");
  EXPECT_EQ(cpus_of("corehold.slice/pods.service"), "");
  EXPECT_EQ(cpus_of("corehold.slice/pods.service/pods"), "");
  EXPECT_EQ(cpus_of("corehold.slice/pods.service/holder"), "0-1,4-7");
  EXPECT_EQ(cpus_of("corehold.slice/agent.service"), "0-1,4-7");
}

TEST(SetAffinity, KnowsATaskByItsStart) {
  const auto self = read_task(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(set_affinity(self->tid, self->start, self->affinity, "/proc"));
  const auto other = set_affinity(self->tid, self->start + 1, self->affinity, "/proc");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kNotFound);
}

TEST(SystemdUnits, SayThatThereIsNoSystemd) {
  const MadeFiles files;
  SystemdUnits units(
      {.own_socket = files.root() + "/private", .bus_socket = files.root() + "/bus"});
  const auto cpus_of = units.allowed_cpus("system.slice");
  ASSERT_FALSE(cpus_of);
  EXPECT_EQ(cpus_of.error().message,
            fmt::format("talk to systemd over {}/private: ENOENT; talk to systemd over {}/bus: "
                        "ENOENT",
                        files.root(), files.root()));
}

// A bus that takes the connection and says nothing.
TEST(SystemdUnits, DoNotWaitForOneThatHangs) {
  const MadeFiles files;
  const std::string path = files.root() + "/private";
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(socket.get(), 8), 0);
  SystemdUnits units({.own_socket = path, .bus_socket = path, .patience = 1ms});
  const auto cpus_of = units.allowed_cpus("system.slice");
  ASSERT_FALSE(cpus_of);
  EXPECT_EQ(cpus_of.error().message,
            fmt::format("talk to systemd over {0}: no answer within 1 ms; talk to systemd over "
                        "{0}: no answer within 1 ms",
                        path));
  EXPECT_EQ(units.set_allowed_cpus("user.slice", {}).error().message, cpus_of.error().message);
}

}  // namespace
}  // namespace corehold
