// SPDX-License-Identifier: Apache-2.0
#include "store/pod_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "sys/descriptor.h"
#include "sys/file.h"

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

  Result<void> save(const StoredPod& pod) {
    if (pod.sequence > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Error{Code::kInvalid, fmt::format("{}: sequence {} of pod {} is too large", path_,
                                               pod.sequence, pod.uid)};
    }
    bind(save_, 1, pod.uid);
    ::sqlite3_bind_int64(save_, 2, static_cast<sqlite3_int64>(pod.sequence));
    bind(save_, 3, pod.record);
    return finish(save_, fmt::format("save pod {}", pod.uid));
  }

  Result<void> forget(const std::string& uid) {
    bind(forget_, 1, uid);
    return finish(forget_, fmt::format("forget pod {}", uid));
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

  Result<void> save_note(const std::string& key, const std::string& text) {
    bind(save_note_, 1, key);
    bind(save_note_, 2, text);
    return finish(save_note_, fmt::format("save note {}", key));
  }

 private:
  Error failed(std::string_view attempt) const {
    const int result = ::sqlite3_extended_errcode(handle_);
    const int number = ::sqlite3_system_errno(handle_);
    const bool is_system = (result & 0xff) == SQLITE_IOERR || (result & 0xff) == SQLITE_CANTOPEN;
    return {code_of(result),
            fmt::format("{}: {}: {}{}", path_, attempt, ::sqlite3_errmsg(handle_),
                        is_system && number != 0 ? fmt::format(" ({})", errno_name(number)) : "")};
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
      return Error{Code::kIo, fmt::format("open {}: {}", path, errno_name(errno))};
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
Result<void> PodStore::save(const StoredPod& pod) { return database_->save(pod); }
Result<std::string> PodStore::note(const std::string& key) const { return database_->note(key); }
Result<void> PodStore::save_note(const std::string& key, const std::string& text) {
  return database_->save_note(key, text);
}
Result<void> PodStore::forget(const std::string& uid) { return database_->forget(uid); }

std::vector<std::string> pod_store_files(const std::string& path) {
  return {path, path + "-wal", path + "-shm"};
}

}  // namespace corehold
