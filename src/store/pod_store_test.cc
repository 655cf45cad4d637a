// SPDX-License-Identifier: Apache-2.0
#include "store/pod_store.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/store_seal.h"
#include "sys/file/file.h"

namespace {

// Of any file, by this process. Counted by functions that have nothing else to count in:
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int syncs = 0;

}  // namespace

// In place of the library's, also for SQLite.
extern "C" int fsync(int file) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, file));
}
extern "C" int fdatasync(int file) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

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

  // By a program that knows nothing of pods.
  void run(const char* statements) const {
    sqlite3* handle = nullptr;
    ASSERT_EQ(::sqlite3_open(path().c_str(), &handle), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(handle, statements, nullptr, nullptr, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(handle);
    ::sqlite3_close(handle);
  }
  // As after kill -9: what the files are while the store is in use.
  std::string killed() const {
    const std::string copy = directory_ + "/killed";
    fs::remove_all(copy);
    fs::create_directory(copy);
    for (const std::string& file : pod_store_files(path())) {
      if (fs::exists(file)) fs::copy_file(file, copy + "/" + fs::path(file).filename().string());
    }
    return copy + "/store.db";
  }
  static void flip(const std::string& file, std::uintmax_t byte) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(byte));
    const int before = stream.get();
    stream.seekp(static_cast<std::streamoff>(byte));
    stream.put(static_cast<char>(before ^ 4));
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

TEST_F(PodStoreTest, SyncsOnceForATransactionUnlessItCanWait) {
  PodStore store = open();
  ASSERT_TRUE(store.save({.uid = "first", .sequence = 1}));  // begins the log
  const auto syncs_of = [&](const std::string& uid, Sync sync) {
    const std::vector<StoreChange> changes{StoredPod{.uid = uid, .sequence = 2},
                                           StoredPod{.uid = uid + "2", .sequence = 3}};
    const int before = syncs;
    EXPECT_TRUE(store.apply(changes, sync));
    return syncs - before;
  };
  EXPECT_EQ(syncs_of("a", Sync::kAtOnce), 1);
  EXPECT_EQ(syncs_of("b", Sync::kLater), 0);
  EXPECT_EQ(syncs_of("c", Sync::kLater), 0);
  EXPECT_EQ(syncs_of("d", Sync::kAtOnce), 1);
  const int before = syncs;
  ASSERT_TRUE(store.save_note("key", "text"));
  EXPECT_EQ(syncs - before, 1);
  // As after the end of the process: the log is read as it is.
  EXPECT_EQ(open().load()->size(), 9U);
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
  for (const std::string suffix : {"", "-wal", "-seal"}) {
    fs::copy_file(path() + suffix, copy + suffix);
  }
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

TEST_F(PodStoreTest, MakesManyChangesInTheirOrder) {
  {
    PodStore store = open();
    ASSERT_TRUE(store.save({.uid = "gone", .sequence = 1, .record = "x"}));
    const std::vector<StoreChange> changes{StoredPod{.uid = "b", .sequence = 3, .record = "old"},
                                           ForgottenPod{.uid = "gone"},
                                           StoredPod{.uid = "a", .sequence = 2, .record = "a"},
                                           StoredNote{.key = "node", .text = "n"},
                                           StoredPod{.uid = "b", .sequence = 3, .record = "new"},
                                           ForgottenPod{.uid = "unknown"}};
    ASSERT_TRUE(store.apply(changes));
  }
  const PodStore store = open();
  EXPECT_EQ(*store.load(), (std::vector<StoredPod>{{.uid = "a", .sequence = 2, .record = "a"},
                                                   {.uid = "b", .sequence = 3, .record = "new"}}));
  EXPECT_EQ(*store.note("node"), "n");
}

TEST_F(PodStoreTest, MakesNoChangeAtAllWhenOneOfManyFails) {
  PodStore store = open();
  ASSERT_TRUE(store.save({.uid = "kept", .sequence = 1, .record = "old"}));
  const std::uint64_t too_large = ~std::uint64_t{0};
  const std::vector<StoreChange> changes{
      StoredPod{.uid = "kept", .sequence = 1, .record = "new"}, ForgottenPod{.uid = "kept"},
      StoredPod{.uid = "bad", .sequence = too_large, .record = "x"}};
  const auto made = store.apply(changes);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            path() + ": sequence 18446744073709551615 of pod bad is too large");
  EXPECT_EQ(*store.load(),
            (std::vector<StoredPod>{{.uid = "kept", .sequence = 1, .record = "old"}}));
  // And the next transaction is a new one.
  EXPECT_TRUE(store.apply(std::span(changes).first(2)));
  EXPECT_TRUE(store.load()->empty());
}

// A limit on the size of files stands for a disk that is full.
TEST_F(PodStoreTest, SaysWhatATransactionWasToSaveWhenItFails) {
  PodStore store = open();
  ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  // A signal by default, an error when it is ignored.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = fs::file_size(path() + "-wal"), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto made = store.apply(std::vector<StoreChange>{
      StoredPod{.uid = "b", .sequence = 2, .record = "b"}, ForgottenPod{.uid = "a"}});
  const auto alone = store.save({.uid = "c", .sequence = 3, .record = "c"});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kIo);
  EXPECT_EQ(made.error().message,
            path() + ": save pod b and 1 more in one transaction: disk I/O error");
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().message, path() + ": save pod c: disk I/O error");
  EXPECT_EQ(store.load()->size(), 1U);
  EXPECT_TRUE(store.save({.uid = "c", .sequence = 3, .record = "c"}));
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
  run("UPDATE ledger SET value = '9' WHERE name = 'version'; PRAGMA user_version = 9");
  const auto store = PodStore::open(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kUnsupported);
  EXPECT_EQ(store.error().message,
            path() + ": written by a later Corehold (schema 9, this one knows 1)");
}

// Every store below has lost something, and stays as it was found.
class PodStoreLoss : public PodStoreTest {
 protected:
  void expect_refused(const std::string& store, const std::string& why) {
    std::map<std::string, std::string> before;
    for (const std::string& file : pod_store_files(store)) {
      if (auto content = read_file(file, std::size_t{1} << 24U)) before[file] = *content;
    }
    const auto opened = PodStore::open(store);
    ASSERT_FALSE(opened) << why;
    EXPECT_EQ(opened.error().code, Code::kCorrupt) << opened.error().message;
    EXPECT_THAT(opened.error().message, HasSubstr(store));
    EXPECT_THAT(opened.error().message, HasSubstr(why));
    for (const auto& [file, content] : before) {
      if (file.ends_with("-shm")) continue;
      EXPECT_TRUE(*read_file(file, std::size_t{1} << 24U) == content) << file;
    }
  }
};

TEST_F(PodStoreLoss, OfTheWholeFileIsNoticed) {
  {
    PodStore store = open();
    ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  }
  // SQLite takes a file of one byte for an empty one, too, and removes the log.
  for (const std::uintmax_t size : {1U, 0U}) {
    fs::resize_file(path(), size);
    expect_refused(path(), "is empty, but 1 changes have been saved in it");
  }
  fs::remove(path());
  expect_refused(path(), "is missing, but 1 changes have been saved in it");
}

TEST_F(PodStoreLoss, OfAnyPartOfTheLogIsNoticed) {
  PodStore store = open();
  for (std::uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(store.save({.uid = fmt::to_string(i), .sequence = i, .record = "x"}));
  }
  const std::string copy = killed();
  const std::string log = copy + "-wal";
  const std::uintmax_t size = fs::file_size(log);
  for (std::uintmax_t byte = 3; byte < size; byte += 997) {
    SCOPED_TRACE(byte);
    killed();
    flip(log, byte);
    expect_refused(copy, "");
    killed();
    fs::resize_file(log, byte);
    expect_refused(copy, "");
  }
  killed();
  fs::remove(log);
  expect_refused(copy, "");
  killed();
  const auto opened = PodStore::open(copy);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->load()->size(), 6U);
}

TEST_F(PodStoreLoss, OfTheNewestChangesNamesTheSealToRemove) {
  PodStore store = open();
  ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  const std::string old = *read_file(killed() + "-wal", std::size_t{1} << 24U);
  ASSERT_TRUE(store.save({.uid = "b", .sequence = 2, .record = "x"}));
  const std::string copy = killed();
  ASSERT_TRUE(write_file_atomically(copy + "-wal", old));
  expect_refused(copy,
                 "its newest changes are lost: it has 1, 2 were saved; to go on with it as "
                 "it is, remove " +
                     copy + "-seal");
  fs::remove(copy + "-seal");
  const auto opened = PodStore::open(copy);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->has_lost_seal());
  EXPECT_EQ(opened->load()->size(), 1U);
}

TEST_F(PodStoreLoss, OfAnyBitOfARecordIsNoticed) {
  {
    PodStore store = open();
    for (std::uint64_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(store.save({.uid = fmt::to_string(i), .sequence = i, .record = "0123456789"}));
    }
  }
  const std::string content = *read_file(path(), std::size_t{1} << 24U);
  for (std::size_t at = content.find("0123456789"); at != std::string::npos;
       at = content.find("0123456789", at + 1)) {
    SCOPED_TRACE(at);
    ASSERT_TRUE(write_file_atomically(path(), content));
    flip(path(), at + 3);
    expect_refused(path(), "the digest of its rows is ");
  }
}

TEST_F(PodStoreLoss, OfItsSealIsNoticedWhenTheSealIsThereAndSaysNothing) {
  {
    PodStore store = open();
    ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  }
  const std::string seal = path() + "-seal";
  flip(seal, 30);
  EXPECT_TRUE(PodStore::open(path())) << "the other slot is sound";
  flip(seal, 30);
  flip(seal, 4096 + 30);
  { EXPECT_TRUE(PodStore::open(path())); }
  fs::resize_file(seal, 10);
  expect_refused(path(), "does not say how many changes of the store were saved");
}

TEST_F(PodStoreLoss, OfAnotherBootIsWhatWasNotSynced) {
  StoreSeal seal{.identity = "i", .boot = "b", .committed = 9, .synced = 7};
  EXPECT_EQ(required_commits(seal, "b"), 9U);
  EXPECT_EQ(required_commits(seal, "c"), 7U);
}

TEST_F(PodStoreLoss, ByAStoreOfAnotherNodeIsNoticed) {
  const std::string other = directory_ + "/other.db";
  {
    PodStore store = open();
    auto copied = PodStore::open(other);
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(copied->save({.uid = "b", .sequence = i}));
  }
  fs::rename(other, path());
  expect_refused(path(), "it is another store than that of ");
}

TEST_F(PodStoreLoss, ByASchemaVersionThatItDoesNotHaveIsDamage) {
  { open(); }
  flip(path(), 63);  // the last byte of user_version
  expect_refused(path(), "its schema version is 5, which it does not have");
}

TEST_F(PodStoreTest, OfAVersionWithoutALedgerIsTakenOver) {
  run("PRAGMA journal_mode=WAL; CREATE TABLE pods(uid TEXT PRIMARY KEY NOT NULL, sequence INTEGER "
      "NOT NULL, record TEXT NOT NULL) WITHOUT ROWID; PRAGMA user_version = 1; INSERT INTO pods "
      "VALUES('a', 1, 'x')");
  for (int i = 0; i < 2; ++i) {
    PodStore store = open();
    EXPECT_FALSE(store.is_new());
    EXPECT_EQ(store.load()->size(), 1U);
    ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "y"}));
    EXPECT_EQ(store.load()->size(), 1U);
  }
}

TEST_F(PodStoreTest, ThatAnotherProgramHasChangedIsBelieved) {
  {
    PodStore store = open();
    ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  }
  run("UPDATE pods SET record = 'y'; INSERT INTO pods VALUES('b', 2, 'z')");
  PodStore store = open();
  EXPECT_EQ(store.load()->size(), 2U);
  EXPECT_EQ(store.load()->front().record, "y");
}

TEST_F(PodStoreTest, RemembersWhichPodsItHasForgotten) {
  {
    PodStore store = open();
    for (const char* uid : {"a", "b", "c"}) ASSERT_TRUE(store.save({.uid = uid, .sequence = 1}));
    ASSERT_TRUE(store.forget("b"));
    ASSERT_TRUE(store.forget("a"));
    ASSERT_TRUE(store.forget("never"));
  }
  EXPECT_EQ(*open().forgotten(), (std::vector<std::string>{"b", "a"}));
}

TEST_F(PodStoreTest, IsWholeInOneFileWhenItIsClosed) {
  {
    PodStore store = open();
    ASSERT_TRUE(store.save({.uid = "a", .sequence = 1, .record = "x"}));
  }
  EXPECT_EQ(fs::file_size(path() + "-wal"), 0U);
  fs::rename(path() + "-wal", directory_ + "/gone");
  EXPECT_EQ(open().load()->size(), 1U);
}

TEST_F(PodStoreTest, NamesTheFileAndTheReasonWhenItCannotBeOpened) {
  const auto store = PodStore::open(directory_ + "/missing/store.db");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kIo);
  EXPECT_EQ(store.error().message, fmt::format("open {}/missing/store.db: ENOENT", directory_));
}

TEST_F(PodStoreTest, NamesTheFileOfItsOwnThatIsNoFile) {
  open();
  for (const char* suffix : {"-wal", "-shm"}) {
    fs::remove(path() + suffix);
    fs::create_directory(path() + suffix);
    const auto opened = PodStore::open(path());
    ASSERT_FALSE(opened) << suffix;
    EXPECT_EQ(opened.error().message, path() + suffix + " is not a regular file; take it away");
    fs::remove(path() + suffix);
  }
}

}  // namespace
}  // namespace corehold
