// SPDX-License-Identifier: Apache-2.0
#include "cli/config/isolation_command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/code.h"
#include "cli/cli.h"
#include "kernel/isolator.h"
#include "sys/descriptor.h"
#include "sys/file/file.h"
#include "sys/file/file_lock.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class IsolationCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-cli-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directory(root_ + "/run");
    for (const char* name : {"ours", "theirs"}) {
      ASSERT_TRUE(replace_file(root_ + "/" + name, "0-1\n"));
    }
    IsolationJournal journal = *read_journal(journal_path(root_));
    journal.level = IsolationLevel::kIrqs;
    journal.held = *CpuSet::parse("2-3");
    note(journal, change("ours", "0-1"));
    note(journal, change("theirs", "0-2"));
    journal.leftovers = {{.what = "cpuset /docker", .reason = "somebody's", .advice = "ask them"}};
    journal.displaced = {"task 12 (db), pinned to CPUs 3"};
    ASSERT_TRUE(replace_file(journal_path(root_), journal_text(journal)));
  }
  void TearDown() override {
    fs::remove_all(root_);
    fs::remove_all(root_ + "-machine");
  }

  Change change(const std::string& name, const std::string& value) const {
    return {.target = {Target::Kind::kFile, root_ + "/" + name}, .before = "0-3", .value = value};
  }
  std::string text(const std::string& name) const { return *read_kernel_file(root_ + "/" + name); }

  void run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "isolation");
    arguments.insert(arguments.end(), {"--root", root_});
    std::reverse(arguments.begin(), arguments.end());
    CLI::App app;
    add_isolation(app, code_);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    app.parse(arguments);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
  }

  // The machine's agent is another one here: its copy of the journal is below the root.
  std::string owner() const { return root_ + "-machine/isolation"; }
  void release() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code_ = release_isolation({.root = root_, .owner = owner()});
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
  }
  void write_copy(std::string_view journal) {
    fs::create_directory(root_ + "-machine");
    ASSERT_TRUE(replace_file(owner(), fmt::format("{}\n{}", journal_path(root_), journal)));
  }

  std::string root_{};
  int code_ = -1;
  std::string out_{};
  std::string err_{};
};

TEST_F(IsolationCommand, ShowsWhatIsChangedAndWhetherOurValueStands) {
  run({"show"});
  EXPECT_EQ(code_, 0) << err_;
  EXPECT_THAT(out_, HasSubstr("level          irqs\n"
                              "held           CPUs 2-3\n"
                              "not kept away  cpuset /docker: somebody's\n"
                              "                 ask them\n"
                              "displaced      task 12 (db), pinned to CPUs 3\n"));
  EXPECT_THAT(out_, HasSubstr("/ours    0-3     0-1      0-1  yes\n"));
  EXPECT_THAT(out_, HasSubstr("/theirs  0-3     0-2      0-1  no\n"));
}

TEST_F(IsolationCommand, ShowsTheSameForPrograms) {
  run({"show", "-o", "json"});
  EXPECT_EQ(code_, 0) << err_;
  EXPECT_THAT(out_, HasSubstr("\"held\": \"2-3\""));
  EXPECT_THAT(out_, HasSubstr("\"stands\":\"no\""));
}

TEST_F(IsolationCommand, GivesBackWhereOurValueStands) {
  release();
  EXPECT_EQ(code_, 0) << err_;
  EXPECT_EQ(out_, "2 values given back\n");
  EXPECT_EQ(text("ours"), "0-3");
  EXPECT_EQ(text("theirs"), "0-1");
  EXPECT_FALSE(fs::exists(owner()));
  EXPECT_TRUE(read_journal(journal_path(root_))->entries.empty());
}

// Else the next agent would take the copy for what there is to give back.
TEST_F(IsolationCommand, LeavesNoCopyOfTheJournal) {
  write_copy(*read_kernel_file(journal_path(root_)));
  release();
  EXPECT_EQ(out_, "2 values given back\n") << err_;
  EXPECT_EQ(text("ours"), "0-3");
  EXPECT_FALSE(fs::exists(owner()));
}

TEST_F(IsolationCommand, GivesBackByTheCopyWhereTheDirectoryIsLost) {
  // The values that the journal is about are where they were.
  write_copy(*read_kernel_file(journal_path(root_)));
  const std::string lost = root_;
  root_ += "-lost";
  fs::create_directory(lost + "-lost-machine");
  fs::rename(lost + "-machine/isolation", owner());
  release();
  EXPECT_EQ(out_, "2 values given back\n") << err_;
  EXPECT_EQ(*read_kernel_file(lost + "/ours"), "0-3");
  EXPECT_FALSE(fs::exists(root_)) << "it is not made for that";
  for (const auto& left : fs::directory_iterator(root_ + "-machine")) {
    EXPECT_EQ(left.path().filename(), "agent.lock");
  }
  fs::remove_all(root_ + "-machine");
  root_ = lost;
}

TEST_F(IsolationCommand, GivesBackByTheCopyWhereTheJournalIsDamaged) {
  write_copy(*read_kernel_file(journal_path(root_)));
  ASSERT_TRUE(replace_file(journal_path(root_), "{"));
  release();
  EXPECT_EQ(code_, 0) << err_;
  EXPECT_THAT(err_, HasSubstr("isolation.json.corrupt-"));
  EXPECT_EQ(out_, "2 values given back\n");
  EXPECT_EQ(text("ours"), "0-3");
}

// The lock of this process is its own, so that another one has to hold it.
class LockHolder {
 public:
  explicit LockHolder(const std::string& path) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const Descriptor said(ends[0]);
    const Descriptor saying(ends[1]);
    holder_ = ::fork();
    if (holder_ == 0) {
      const auto lock = FileLock::take(path);
      static_cast<void>(::write(saying.get(), "x", 1));
      while (true) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(said.get(), &byte, 1), 1);
  }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;
  ~LockHolder() {
    ::kill(holder_, SIGKILL);
    ::waitpid(holder_, nullptr, 0);
  }

 private:
  pid_t holder_ = -1;
};

TEST_F(IsolationCommand, TouchesNothingWhileAnAgentRuns) {
  fs::create_directory(root_ + "-machine");
  for (const std::string& lock : {root_ + "/run/lock", root_ + "-machine/agent.lock"}) {
    const LockHolder agent(lock);
    release();
    EXPECT_EQ(code_, 1) << lock;
    EXPECT_THAT(err_, HasSubstr("an agent runs here: stop it first"));
    EXPECT_EQ(text("ours"), "0-1");
  }
}

TEST_F(IsolationCommand, HasNothingToGiveBackWhereThereIsNoJournal) {
  fs::remove(journal_path(root_));
  release();
  EXPECT_EQ(code_, 0);
  EXPECT_EQ(out_, "nothing of the machine is changed\n");
}

}  // namespace
}  // namespace corehold
