// SPDX-License-Identifier: Apache-2.0
#include "store/pod_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "sys/descriptor.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr int kSchemaVersion = 1;

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kCorrupt;
    default:
      return Code::kIo;
  }
}

std::string attempt_of(const StoredPod& pod) { return fmt::format("save pod {}", pod.uid); }
std::string attempt_of(const ForgottenPod& pod) { return fmt::format("forget pod {}", pod.uid); }
std::string attempt_of(const StoredNote& note) { return fmt::format("save note {}", note.key); }

// REQUIRES: there are two or more.
std::string attempt_of(std::span<const StoreChange> changes) {
  const std::string first =
      std::visit([](const auto& typed) { return attempt_of(typed); }, changes.front());
  return fmt::format("{} and {} more in one transaction", first, changes.size() - 1);
}

}  // namespace

class PodStore::Database {
 public:
  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    for (sqlite3_stmt* statement : {save_, forget_, load_, note_, save_note_})
      ::sqlite3_finalize(statement);
    ::sqlite3_close(handle_);
  }

  Result<void> prepare() {
    ::sqlite3_extended_result_codes(handle_, 1);
    TRY(run("PRAGMA journal_mode=WAL"));
    TRY(run("PRAGMA synchronous=FULL"));
    // In KiB. Records are read once and then only written: pages that are kept help nobody.
    TRY(run("PRAGMA cache_size=-256"));
    TRY(check());
    TRY(migrate());
    TRY(
        compile("INSERT INTO pods(uid, sequence, record) VALUES(?1, ?2, ?3) ON CONFLICT(uid) DO "
                "UPDATE SET sequence = excluded.sequence, record = excluded.record",
                save_));
    TRY(compile("DELETE FROM pods WHERE uid = ?1", forget_));
    // Later than the first version, which does not look at it.
    TRY(
        run("CREATE TABLE IF NOT EXISTS notes(key TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL)"
            " WITHOUT ROWID"));
    TRY(compile("SELECT text FROM notes WHERE key = ?1", note_));
    TRY(
        compile("INSERT INTO notes(key, text) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET text = "
                "excluded.text",
                save_note_));
    return compile("SELECT uid, sequence, record FROM pods ORDER BY sequence, uid", load_);
  }

  Result<void> apply(std::span<const StoreChange> changes, Sync sync) {
    if (changes.empty()) return {};
    TRY(set_sync(sync));
    // A statement by itself is a transaction, and says best what has failed.
    if (changes.size() == 1) return make(changes.front());
    TRY(run("BEGIN IMMEDIATE"));
    for (const StoreChange& change : changes) {
      auto made = make(change);
      if (made) continue;
      roll_back();
      return made;
    }
    if (::sqlite3_exec(handle_, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    Error error = failed(attempt_of(changes));
    roll_back();
    return error;
  }

  Result<void> make(const StoreChange& change) {
    return std::visit([this](const auto& typed) { return make(typed); }, change);
  }

  Result<void> make(const StoredPod& pod) {
    if (pod.sequence > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Error{Code::kInvalid, fmt::format("{}: sequence {} of pod {} is too large", path_,
                                               pod.sequence, pod.uid)};
    }
    bind(save_, 1, pod.uid);
    ::sqlite3_bind_int64(save_, 2, static_cast<sqlite3_int64>(pod.sequence));
    bind(save_, 3, pod.record);
    return finish(save_, attempt_of(pod));
  }

  Result<void> make(const ForgottenPod& pod) {
    bind(forget_, 1, pod.uid);
    return finish(forget_, attempt_of(pod));
  }

  Result<void> make(const StoredNote& note) {
    bind(save_note_, 1, note.key);
    bind(save_note_, 2, note.text);
    return finish(save_note_, attempt_of(note));
  }

  Result<std::vector<StoredPod>> load() {
    std::vector<StoredPod> pods;
    int result = ::sqlite3_step(load_);
    for (; result == SQLITE_ROW; result = ::sqlite3_step(load_)) {
      pods.push_back({.uid = text(load_, 0),
                      .sequence = static_cast<std::uint64_t>(::sqlite3_column_int64(load_, 1)),
                      .record = text(load_, 2)});
    }
    ::sqlite3_reset(load_);
    if (result != SQLITE_DONE) return failed("load pods");
    return pods;
  }

  Result<std::string> note(const std::string& key) {
    bind(note_, 1, key);
    const int result = ::sqlite3_step(note_);
    const std::string found = result == SQLITE_ROW ? text(note_, 0) : "";
    ::sqlite3_reset(note_);
    ::sqlite3_clear_bindings(note_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) return failed("read a note");
    return found;
  }

 private:
  // In a write-ahead log the sync of a commit covers the log from its beginning: also what was
  // committed without one.
  Result<void> set_sync(Sync sync) {
    if (sync == sync_) return {};
    TRY(run(sync == Sync::kAtOnce ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
    sync_ = sync;
    return {};
  }

  // Some errors end a transaction by themselves.
  void roll_back() {
    if (::sqlite3_get_autocommit(handle_) != 0) return;
    ::sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }

  Error failed(std::string_view attempt) const {
    const int result = ::sqlite3_extended_errcode(handle_);
    const int number = ::sqlite3_system_errno(handle_);
    const bool is_system = (result & 0xff) == SQLITE_IOERR || (result & 0xff) == SQLITE_CANTOPEN;
    return {code_of(result),
            fmt::format("{}: {}: {}{}", path_, attempt, ::sqlite3_errmsg(handle_),
                        is_system && number != 0 ? fmt::format(" ({})", errno_name(number)) : ""),
            is_system ? number : 0};
  }

  Result<void> run(const char* text) {
    if (::sqlite3_exec(handle_, text, nullptr, nullptr, nullptr) != SQLITE_OK) return failed(text);
    return {};
  }

  Result<void> compile(const char* text, sqlite3_stmt*& into) {
    if (::sqlite3_prepare_v2(handle_, text, -1, &into, nullptr) != SQLITE_OK) {
      return failed("prepare");
    }
    return {};
  }

  static void bind(sqlite3_stmt* statement, int place, const std::string& value) {
    ::sqlite3_bind_text(statement, place, value.data(), static_cast<int>(value.size()),
                        SQLITE_STATIC);
  }

  Result<void> finish(sqlite3_stmt* statement, std::string_view attempt) {
    const int result = ::sqlite3_step(statement);
    Result<void> outcome;
    if (result != SQLITE_DONE) outcome = failed(attempt);
    ::sqlite3_reset(statement);
    ::sqlite3_clear_bindings(statement);
    return outcome;
  }

  static std::string text(sqlite3_stmt* statement, int column) {
    const auto* found = ::sqlite3_column_text(statement, column);
    const int size = ::sqlite3_column_bytes(statement, column);
    return found == nullptr
               ? ""
               : std::string(reinterpret_cast<const char*>(found), static_cast<std::size_t>(size));
  }

  // The first column of the first row.
  Result<std::string> ask(const char* question) {
    sqlite3_stmt* statement = nullptr;
    TRY(compile(question, statement));
    std::string answer;
    if (::sqlite3_step(statement) == SQLITE_ROW) {
      const auto* found = ::sqlite3_column_text(statement, 0);
      if (found != nullptr) answer = reinterpret_cast<const char*>(found);
    }
    if (::sqlite3_finalize(statement) != SQLITE_OK) return failed(question);
    return answer;
  }

  Result<void> check() {
    const std::string verdict = TRY(ask("PRAGMA quick_check(1)"));
    if (verdict == "ok") return {};
    return Error{Code::kCorrupt, fmt::format("{}: {}", path_, verdict)};
  }

  Result<void> migrate() {
    const std::string version = TRY(ask("PRAGMA user_version"));
    if (version == fmt::to_string(kSchemaVersion)) return {};
    if (version != "0") {
      return Error{Code::kUnsupported,
                   fmt::format("{}: written by a later Corehold (schema {}, this one knows {})",
                               path_, version, kSchemaVersion)};
    }
    return run(
        "BEGIN IMMEDIATE;"
        "CREATE TABLE pods(uid TEXT PRIMARY KEY NOT NULL, sequence INTEGER NOT NULL,"
        " record TEXT NOT NULL) WITHOUT ROWID;"
        "PRAGMA user_version = 1;"
        "COMMIT");
  }

  sqlite3* handle_;
  std::string path_;
  Sync sync_ = Sync::kAtOnce;  // as prepare() sets it
  sqlite3_stmt* save_ = nullptr;
  sqlite3_stmt* forget_ = nullptr;
  sqlite3_stmt* load_ = nullptr;
  sqlite3_stmt* note_ = nullptr;
  sqlite3_stmt* save_note_ = nullptr;
};

PodStore::PodStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
PodStore::PodStore(PodStore&&) noexcept = default;
PodStore& PodStore::operator=(PodStore&&) noexcept = default;
PodStore::~PodStore() = default;

Result<PodStore> PodStore::open(const std::string& path) {
  {
    // SQLite takes the mode of the others from this file.
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) {
      return errno_error(fmt::format("open {}", path), errno);
    }
  }
  sqlite3* handle = nullptr;
  const int result = ::sqlite3_open_v2(path.c_str(), &handle,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto database = std::make_unique<Database>(handle, path);
  if (result != SQLITE_OK) {
    return Error{code_of(result), fmt::format("open {}: {}", path, ::sqlite3_errstr(result))};
  }
  TRY(database->prepare());
  return PodStore(std::move(database));
}

Result<std::vector<StoredPod>> PodStore::load() const { return database_->load(); }
Result<void> PodStore::apply(std::span<const StoreChange> changes, Sync sync) {
  return database_->apply(changes, sync);
}
Result<void> PodStore::save(const StoredPod& pod) {
  const StoreChange change = pod;
  return apply({&change, 1});
}
Result<void> PodStore::forget(const std::string& uid) {
  const StoreChange change = ForgottenPod{.uid = uid};
  return apply({&change, 1});
}
Result<void> PodStore::save_note(const std::string& key, const std::string& text) {
  const StoreChange change = StoredNote{.key = key, .text = text};
  return apply({&change, 1});
}
Result<std::string> PodStore::note(const std::string& key) const { return database_->note(key); }

std::vector<std::string> pod_store_files(const std::string& path) {
  return {path, path + "-wal", path + "-shm"};
}

}  // namespace corehold
