// SPDX-License-Identifier: Apache-2.0
#include "store/pod_store.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sys/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

class PodStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path() const { return directory_ + "/store.db"; }
  PodStore open() const {
    auto store = PodStore::open(path());
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }

  std::string directory_;
};

TEST_F(PodStoreTest, KeepsPodsInTheOrderOfCreation) {
  const StoredPod first{.uid = "b", .sequence = 1, .record = "{\"first\":1}"};
  const StoredPod second{.uid = "a", .sequence = 2, .record = "second"};
  {
    PodStore store = open();
    ASSERT_TRUE(store.save(second));
    ASSERT_TRUE(store.save(first));
  }
  EXPECT_EQ(*open().load(), (std::vector{first, second}));
}

TEST_F(PodStoreTest, ReplacesWhatIsThere) {
  PodStore store = open();
  ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "old"}));
  ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "new"}));
  EXPECT_EQ(*store.load(), (std::vector<StoredPod>{{.uid = "a", .sequence = 1, .record = "new"}}));
}

TEST_F(PodStoreTest, ForgetsTwiceWithoutComplaint) {
  PodStore store = open();
  ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  EXPECT_TRUE(store.forget("a"));
  EXPECT_TRUE(store.forget("a"));
  EXPECT_TRUE(store.load()->empty());
}

TEST_F(PodStoreTest, KeepsAnyText) {
  PodStore store = open();
  const std::string record("a\0'\"\n\xff", 6);
  ASSERT_TRUE(store.save({.uid = "a'b", .sequence = 1, .record = record}));
  ASSERT_EQ(store.load()->size(), 1U);
  EXPECT_EQ(store.load()->front().record, record);
  EXPECT_EQ(store.load()->front().uid, "a'b");
}

TEST_F(PodStoreTest, IsReadableByItsOwnerOnly) {
  PodStore store = open();
  ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  for (const std::string& file : pod_store_files(path())) {
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0) << file;
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << file;
  }
}

TEST_F(PodStoreTest, SurvivesTheEndOfItsProcessWithoutBeingClosed) {
  const PodStore store = open();
  PodStore other = open();
  ASSERT_TRUE(other.save({.uid = "a", .sequence = 1, .record = "x"}));
  const std::string copy = directory_ + "/copy.db";
  for (const std::string suffix : {"", "-wal"}) fs::copy_file(path() + suffix, copy + suffix);
  const auto found = PodStore::open(copy);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->load()->size(), 1U);
}

TEST_F(PodStoreTest, RefusesAFileThatIsNoDatabase) {
  ASSERT_TRUE(write_file_atomically(path(), std::string(5000, 'x')));
  const auto store = PodStore::open(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kCorrupt);
  EXPECT_TRUE(store.error().message.starts_with(path() + ": ")) << store.error().message;
}

TEST_F(PodStoreTest, NotesStayBesideThePods) {
  {
    PodStore store = open();
    EXPECT_EQ(*store.note("node"), "");
    ASSERT_TRUE(store.save_note("node", "a"));
    ASSERT_TRUE(store.save_note("node", "b"));
    ASSERT_TRUE(store.save_note("other", "c"));
  }
  PodStore store = open();
  EXPECT_EQ(*store.note("node"), "b");
  EXPECT_EQ(*store.note("other"), "c");
  EXPECT_TRUE(store.load()->empty());
}

TEST_F(PodStoreTest, RefusesADamagedDatabase) {
  {
    PodStore store = open();
    for (std::uint64_t i = 0; i < 200; ++i) {
      ASSERT_TRUE(
          store.save({.uid = fmt::to_string(i), .sequence = i, .record = std::string(500, 'x')}));
    }
  }
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(8192, '\x5a');
  }
  const auto store = PodStore::open(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kCorrupt) << store.error().message;
}

TEST_F(PodStoreTest, RefusesWhatALaterVersionHasWritten) {
  { open(); }
  {
    // user_version is the big-endian number at byte 60 of the file.
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(63);
    file.put(9);
  }
  const auto store = PodStore::open(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kUnsupported);
  EXPECT_EQ(store.error().message,
            path() + ": written by a later Corehold (schema 9, this one knows 1)");
}

TEST_F(PodStoreTest, NamesTheFileAndTheReasonWhenItCannotBeOpened) {
  const auto store = PodStore::open(directory_ + "/missing/store.db");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kIo);
  EXPECT_EQ(store.error().message, fmt::format("open {}/missing/store.db: ENOENT", directory_));
}

}  // namespace
}  // namespace corehold
