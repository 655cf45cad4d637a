// SPDX-License-Identifier: Apache-2.0
#include "isolation/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Change change(const std::string& name, const std::string& before, const std::string& value,
              IsolationLevel level = IsolationLevel::kFence) {
  return {.target = {Target::Kind::kFile, name}, .level = level, .before = before, .value = value};
}

TEST(IsolationJournal, KeepsTheFirstValueAndTheLastWrite) {
  IsolationJournal journal;
  note(journal, change("a", "0-7", "0-3"));
  note(journal, change("a", "0-3", "0-1"));
  const JournalEntry* entry = find_entry(journal, {Target::Kind::kFile, "a"});
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->before, "0-7");
  EXPECT_EQ(entry->written, "0-1");
}

TEST(IsolationJournal, NotesNothingThatFollowsFromAnotherChange) {
  IsolationJournal journal;
  Change move = change("1 100", "/", "x/tasks");
  move.restore = Restore::kNever;
  note(journal, move);
  EXPECT_THAT(journal.entries, IsEmpty());
}

TEST(IsolationJournal, RestoresTheLastWriteFirstAndOnlyLevelsAboveTheOneKept) {
  IsolationJournal journal;
  note(journal, change("a", "", "0-1"));
  note(journal, change("irq", "0-7", "0-1", IsolationLevel::kIrqs));
  note(journal, change("b", "", "0-1"));
  const Changes irqs = plan_restore(journal, IsolationLevel::kFence);
  ASSERT_EQ(irqs.size(), 1U);
  EXPECT_EQ(irqs[0].target.name, "irq");
  EXPECT_EQ(irqs[0].before, "0-1");
  EXPECT_EQ(irqs[0].value, "0-7");
  const Changes all = plan_restore(journal, IsolationLevel::kContainers);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].target.name, "b");
  EXPECT_EQ(all[2].target.name, "a");
}

TEST(IsolationJournal, RepairsThreeTimesAndThenNamesTheOtherWriter) {
  IsolationJournal journal;
  note(journal, change("a", "0-7", "0-1"));
  for (int time = 0; time < kMostRepairs; ++time) {
    const auto plan = check_writers(journal, {change("a", "0-3", "0-1")});
    EXPECT_EQ(plan.changes.size(), 1U) << time;
    EXPECT_THAT(plan.leftovers, IsEmpty()) << time;
    note(journal, plan.changes[0]);
    confirm(journal, plan.changes[0].target);
  }
  const auto plan = check_writers(journal, {change("a", "0-3", "0-1"), change("b", "", "0-1")});
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].target.name, "b");
  ASSERT_EQ(plan.leftovers.size(), 1U);
  EXPECT_EQ(plan.leftovers[0].what, "file a");
  EXPECT_THAT(plan.leftovers[0].reason,
              HasSubstr("set it to \"0-3\" 4 times after Corehold had set it to \"0-1\""));
}

// Who has written now and then does not insist.
TEST(IsolationJournal, ForgivesRepairsAfterSomeQuietLooks) {
  IsolationJournal journal;
  const Target a{Target::Kind::kFile, "a"};
  const auto overwritten = [&] {
    const Changes changes{change("a", "0-3", "0-1")};
    count_look(journal, IsolationLevel::kFence, changes);
    const auto plan = check_writers(journal, changes);
    for (const Change& each : plan.changes) note(journal, each);
    confirm(journal, a);
    return plan.changes.size() == 1;
  };
  note(journal, change("a", "0-7", "0-1"));
  confirm(journal, a);
  for (int time = 0; time < 3 * kMostRepairs; ++time) {
    EXPECT_TRUE(overwritten()) << time;
    for (int look = 0; look < kQuietLooks; ++look) {
      count_look(journal, IsolationLevel::kIrqs, {});
      count_look(journal, IsolationLevel::kFence, {});
    }
  }
  // Who writes again and again is named, though not between any two looks.
  for (int time = 0; time < kMostRepairs; ++time) {
    EXPECT_TRUE(overwritten()) << time;
    for (int look = 1; look < kQuietLooks; ++look) count_look(journal, IsolationLevel::kFence, {});
    journal = *parse_journal(journal_text(journal));
  }
  EXPECT_FALSE(overwritten());
}

TEST(IsolationJournal, CountsNoRepairThatIsNotMade) {
  IsolationJournal journal;
  note(journal, change("a", "0-7", "0-1"));
  confirm(journal, {Target::Kind::kFile, "a"});
  for (int time = 0; time < 2 * kMostRepairs; ++time) {
    EXPECT_EQ(check_writers(journal, {change("a", "0-3", "0-1")}).changes.size(), 1U);
  }
}

TEST(IsolationJournal, TakesACgroupThatWasMadeAnewForNoOtherWriter) {
  IsolationJournal journal;
  const Target cpuset{Target::Kind::kCpuset, "c"};
  note(journal, change("a", "0-5", "0-1"));
  note(journal, {.target = cpuset, .value = "0-3"});
  for (int time = 0; time < 2 * kMostRepairs; ++time) {
    confirm(journal, {Target::Kind::kFile, "a"});
    confirm(journal, cpuset);
    // The kernel takes a CPU that goes offline out of a cpuset of cgroup v1.
    const Change narrowed{.target = cpuset, .before = "0-2", .value = "0-3"};
    const auto plan = check_writers(journal, {change("a", "", "0-1"), narrowed});
    ASSERT_EQ(plan.changes.size(), 2U) << time;
    for (const Change& each : plan.changes) note(journal, each);
  }
  EXPECT_EQ(find_entry(journal, {Target::Kind::kFile, "a"})->before, "");
}

TEST(IsolationJournal, TakesItsOwnValueForNoRepairHoweverOftenItChanges) {
  IsolationJournal journal;
  std::string now = "0-7";
  for (const char* next : {"0-6", "0-5", "0-4", "0-3", "0-2", "0-1"}) {
    const auto plan = check_writers(journal, {change("a", now, next)});
    ASSERT_EQ(plan.changes.size(), 1U);
    note(journal, plan.changes[0]);
    now = next;
  }
  EXPECT_EQ(find_entry(journal, {Target::Kind::kFile, "a"})->repairs, 0);
}

TEST(IsolationJournal, KnowsItsOwnValueWhetherTheLastWriteWasMadeOrNot) {
  IsolationJournal journal;
  const Target a{Target::Kind::kFile, "a"};
  note(journal, change("a", "0-7", "0-3"));
  EXPECT_TRUE(is_ours(*find_entry(journal, a), "0-7"));
  EXPECT_TRUE(is_ours(*find_entry(journal, a), "0-3"));
  confirm(journal, a);
  EXPECT_FALSE(is_ours(*find_entry(journal, a), "0-7"));
  note(journal, change("a", "0-3", "0-1"));
  const auto loaded = parse_journal(journal_text(journal));
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(is_ours(*find_entry(*loaded, a), "0-3"));
  EXPECT_TRUE(is_ours(*find_entry(*loaded, a), "0-1"));
  EXPECT_EQ(find_entry(*loaded, a)->before, "0-7");
}

TEST(IsolationJournal, RestoresTheLastValueOfSomebodyElse) {
  IsolationJournal journal;
  note(journal, change("a", "0-7", "0-1"));
  note(journal, {.target = {Target::Kind::kCpuset, "c"}, .before = "", .value = "0-1"});
  confirm(journal, {Target::Kind::kFile, "a"});
  confirm(journal, {Target::Kind::kCpuset, "c"});
  note(journal, change("a", "0-5", "0-1"));
  note(journal, {.target = {Target::Kind::kCpuset, "c"}, .before = "0-5", .value = "0-1"});
  EXPECT_EQ(find_entry(journal, {Target::Kind::kFile, "a"})->before, "0-5");
  EXPECT_EQ(find_entry(journal, {Target::Kind::kCpuset, "c"})->before, "");
}

TEST(IsolationJournal, ComparesCpusAsSets) {
  EXPECT_TRUE(is_same_value(Compare::kCpuList, "0,1,2", "0-2"));
  EXPECT_FALSE(is_same_value(Compare::kCpuList, "", "0-2"));
  EXPECT_FALSE(is_same_value(Compare::kText, "0,1,2", "0-2"));
  EXPECT_FALSE(is_same_value(Compare::kCpuList, "n/a", "0"));
}

TEST(IsolationJournal, ReadsWhatItWrites) {
  IsolationJournal journal{.boot = "b-1", .level = IsolationLevel::kIrqs};
  journal.held = *CpuSet::parse("2-3");
  note(journal, change("/sys/a b\"c", "0-7\n", "0-1"));
  Change text = change("n", "1", "0", IsolationLevel::kFull);
  text.target.kind = Target::Kind::kUnit;
  text.compare = Compare::kText;
  note(journal, text);
  journal.since = 77;
  journal.rests = {*CpuSet::parse("0-1"), *CpuSet::parse("0-3")};
  journal.looked = 78;
  journal.pins = {{12, {.start = 34, .name = "db", .cpus = *CpuSet::parse("3")}}};
  journal.leftovers = {{.what = "a", .reason = "b", .advice = "c"},
                       {.stays = Leftover::Stays::kByNature, .what = "d"}};
  journal.displaced = {"task 12 (db), pinned to CPUs 3"};
  const auto read = parse_journal(journal_text(journal));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, journal);
}

// Anybody may give a task such a name, and root a cgroup.
TEST(IsolationJournal, ReadsWhatItWritesOfNamesThatAreNotUtf8) {
  IsolationJournal journal{.boot = "b-1"};
  note(journal, change("/cgroup/\xff\"/cpuset.cpus", "", "0-1"));
  journal.pins = {{12, {.start = 34, .name = "\xff", .cpus = *CpuSet::parse("3")}}};
  journal.leftovers = {{.what = "\xff", .reason = "\xff", .advice = "\xff"}};
  journal.displaced = {"task 12 (\xff)"};
  const auto read = parse_journal(journal_text(journal));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries, journal.entries);
  EXPECT_EQ(read->pins.at(12).name, "\xef\xbf\xbd");
}

TEST(IsolationJournal, ReadsWhatEarlierVersionsHaveWritten) {
  const auto read = parse_journal(
      R"({"version":1,"boot":"b","level":"fence","held":"2","since":7,"entries":[{"kind":"file",)"
      R"("name":"a","level":"fence","before":"","written":"0-1","previous":"0-1","compare":"cpus",)"
      R"("repairs":1}],"pins":[],"leftovers":[],"displaced":[]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries.size(), 1U);
}

TEST(IsolationJournal, RefusesWhatItHasNotWritten) {
  const std::string good = journal_text({.boot = "b-1"});
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), good.substr(0, good.size() / 2),
        std::string(R"({"version":2})")}) {
    const auto read = parse_journal(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kCorrupt);
    EXPECT_THAT(read.error().message, HasSubstr("not a journal of isolation"));
  }
}

TEST(IsolationLevel, HasNamesThatCanBeRead) {
  for (const IsolationLevel level : kIsolationLevels) EXPECT_EQ(parse_level(name_of(level)), level);
  EXPECT_EQ(parse_level("most"), std::nullopt);
}

}  // namespace
}  // namespace corehold
