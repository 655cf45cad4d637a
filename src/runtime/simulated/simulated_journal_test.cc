// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/simulated_journal.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

class Journal : public testing::Test {
 protected:
  Journal() {
    std::string pattern = testing::TempDir() + "journal-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
  }
  ~Journal() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ + "/simulated.json"; }
  std::uintmax_t size() const { return std::filesystem::file_size(path()); }
  SimulatedJournal::Records load() const {
    const auto records = SimulatedJournal(path()).load();
    EXPECT_TRUE(records) << records.error().message;
    return records ? *records : SimulatedJournal::Records{};
  }

  std::string directory_;
  const ContainerRef main_{"u", "main"};
};

TEST_F(Journal, KeepsWhatWasWrittenChangedAndRemoved) {
  SimulatedJournal journal(path());
  ASSERT_TRUE(journal.load());
  ASSERT_TRUE(journal.write(main_, {{"cpus", "1"}, {"attempt", 3}}));
  ASSERT_TRUE(journal.write({"u", "gone"}, {{"cpus", "2"}}));
  ASSERT_TRUE(journal.change({main_}, {{"cpus", "4-5"}}));
  ASSERT_TRUE(journal.remove({"u", "gone"}));
  const auto records = load();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.at(main_).at("cpus"), "4-5");
  EXPECT_EQ(records.at(main_).at("attempt"), 3);
}

TEST_F(Journal, AChangeCostsTheSameHoweverManyContainersThereAre) {
  SimulatedJournal journal(path());
  ASSERT_TRUE(journal.load());
  for (int number = 0; number < 200; ++number) {
    ASSERT_TRUE(
        journal.write({"u", std::to_string(number)}, {{"manifest", std::string(1000, 'x')}}));
  }
  const std::uintmax_t before = size();
  ASSERT_TRUE(journal.change({ContainerRef{"u", "7"}}, {{"cpus", "1"}}));
  EXPECT_LT(size() - before, 100U);
}

TEST_F(Journal, IsWrittenAnewWhenMostOfItIsOutdated) {
  SimulatedJournal journal(path());
  ASSERT_TRUE(journal.load());
  ASSERT_TRUE(journal.write(main_, {{"cpus", "1"}}));
  std::uintmax_t largest = 0;
  for (int round = 0; round < 5000; ++round) {
    ASSERT_TRUE(journal.change({main_}, {{"cpus", std::to_string(round)}}));
    largest = std::max(largest, size());
  }
  EXPECT_LT(size(), largest);
  EXPECT_LT(largest, 100'000U);
  EXPECT_EQ(load().at(main_).at("cpus"), "4999");
}

TEST_F(Journal, LeavesOutALastLineThatWasTorn) {
  {
    SimulatedJournal journal(path());
    ASSERT_TRUE(journal.load());
    ASSERT_TRUE(journal.write(main_, {{"cpus", "1"}}));
  }
  std::ofstream(path(), std::ios::app) << R"({"pod":"u","cont)";
  SimulatedJournal again(path());
  ASSERT_EQ(again.load()->at(main_).at("cpus"), "1");
  ASSERT_TRUE(again.change({main_}, {{"cpus", "2"}}));
  EXPECT_EQ(load().at(main_).at("cpus"), "2");
}

TEST_F(Journal, IsNeverReadAsAnythingElseWhateverBitIsFlipped) {
  {
    SimulatedJournal journal(path());
    ASSERT_TRUE(journal.load());
    ASSERT_TRUE(journal.write(main_, {{"cpus", "1"}}));
    ASSERT_TRUE(journal.change({main_}, {{"cpus", "2"}}));
  }
  const auto whole = read_file(path(), 10'000);
  ASSERT_TRUE(whole);
  int refused = 0;
  for (std::size_t at = 0; at < whole->size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string text = *whole;
      text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << bit));
      std::ofstream(path()) << text;
      const auto read = SimulatedJournal(path()).load();
      if (!read) {
        ++refused;
        EXPECT_EQ(read.error().code, Code::kCorrupt);
        EXPECT_EQ(read.error().message.find(path() + ": not a list of simulated containers"), 0U);
        continue;
      }
      ASSERT_EQ(read->size(), 1U) << text;
      EXPECT_EQ(read->at(main_).at("cpus"), "2") << text;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_F(Journal, ReadsTheListOfVersion01) {
  std::ofstream(path()) << R"([{"pod":"u","container":"main","cpus":"1"}])"
                        << "\n";
  SimulatedJournal journal(path());
  ASSERT_EQ(journal.load()->at(main_).at("cpus"), "1");
  ASSERT_TRUE(journal.change({main_}, {{"cpus", "2"}}));
  EXPECT_EQ(load().at(main_).at("cpus"), "2");
}

TEST_F(Journal, SaysWhatCannotBeWrittenAndForgetsIt) {
  SimulatedJournal journal(directory_ + "/missing/simulated.json");
  ASSERT_TRUE(journal.load());
  const auto written = journal.write(main_, {{"cpus", "1"}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "write " + journal.path() + ": ENOENT");
}

}  // namespace
}  // namespace corehold
