// SPDX-License-Identifier: Apache-2.0
#include "store/pod_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "store/block_reserve.h"
#include "store/database.h"
#include "store/store_ledger.h"
#include "store/store_seal.h"
#include "sys/clock.h"
#include "sys/descriptor.h"
#include "sys/file/disk_full.h"
#include "sys/file/file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

constexpr const char* kSchemaVersion = "1";
constexpr const char* kForgottenKept = "1000";

// What is kept of the disk for one transaction of a deletion, besides twice the largest record:
// the record is written, and SQLite overwrites what it replaces or removes. Further transactions
// have the same room, because the log can always be copied into the database, whose blocks are set
// aside as well.
constexpr std::uint64_t kReserve = std::uint64_t{512} << 10U;
// What a transaction of one record writes at most besides it: the pages of the tables.
constexpr std::uint64_t kPages = std::uint64_t{64} << 10U;
constexpr std::uint64_t kPageSize = 4096;  // of SQLite, by default

std::string attempt_of(const StoredPod& pod) { return fmt::format("save pod {}", pod.uid); }
std::string attempt_of(const ForgottenPod& pod) { return fmt::format("forget pod {}", pod.uid); }
std::string attempt_of(const StoredNote& note) { return fmt::format("save note {}", note.key); }
std::string attempt_of(std::span<const StoreChange> changes) {
  std::string first =
      std::visit([](const auto& typed) { return attempt_of(typed); }, changes.front());
  if (changes.size() == 1) return first;
  return fmt::format("{} and {} more in one transaction", first, changes.size() - 1);
}

std::uint64_t size_of(const StoredPod& pod) { return pod.record.size(); }
std::uint64_t size_of(const ForgottenPod&) { return 0; }
std::uint64_t size_of(const StoredNote& note) { return note.text.size(); }
std::uint64_t size_of(std::span<const StoreChange> changes) {
  std::uint64_t size = 0;
  for (const StoreChange& change : changes) {
    size += std::visit([](const auto& typed) { return size_of(typed); }, change);
  }
  return size;
}

// Keys and digests of rows in the ledger.
std::string pod_key(const std::string& uid) { return "pod " + uid; }
std::string note_key(const std::string& key) { return "note " + key; }
std::uint64_t row_of(const StoredPod& pod) {
  return digest_of({"pod", pod.uid, fmt::to_string(pod.sequence), pod.record});
}
std::uint64_t row_of(const StoredNote& note) { return digest_of({"note", note.key, note.text}); }

off_t size_of_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

// SQLite would name the database, whichever of its files it is.
Result<void> check_files(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || S_ISREG(status.st_mode)) continue;
    return Error{Code::kIo, fmt::format("{} is not a regular file; take it away", file)};
  }
  return {};
}

Error lost(const std::string& path, const std::optional<StoreSeal>& seal) {
  const std::string why =
      seal ? fmt::format("{} changes have been saved in it", seal->committed) : "its log is there";
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  return {Code::kCorrupt,
          fmt::format("{} is {}, but {}", path, is_there ? "empty" : "missing", why)};
}

}  // namespace

class PodStore::Tables {
 public:
  explicit Tables(Database database) : database_(std::move(database)) {}
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  // What is in the log goes into the database, so that a copy of the database is whole, unless
  // room is scarce. The reserve is for the next start, too.
  ~Tables() {
    if (!reserve_ || !reserve_->ensure(2 * reserve_size())) return;
    if (!database_.copy_log(Database::Log::kEmpty)) return;
    reserve_->forget();
    [[maybe_unused]] const auto kept = reserve_->ensure(reserve_size());
  }

  bool is_new = false;
  bool has_lost_seal = false;

  // Nothing is changed before everything is known to be sound.
  Result<void> prepare(const std::optional<StoreSeal>& seal) {
    TRY(check());
    TRY(check_version());
    TRY(read_ledger());
    TRY(compare(seal));
    has_lost_seal = !seal && ledger_.commits > 0;
    TRY(database_.run("PRAGMA journal_mode=WAL"));
    TRY(database_.run("PRAGMA synchronous=FULL"));
    // In KiB. Records are read once and then only written: pages that are kept help nobody.
    TRY(database_.run("PRAGMA cache_size=-256"));
    TRY(migrate());
    TRY(compile());
    reserve_.emplace(database_.path() + "-wal");
    database_reserve_.emplace(database_.path());
    [[maybe_unused]] const auto kept = keep_room_for(0);
    if (seal) synced_ = seal->boot == boot_id() ? seal->synced : ledger_.commits;
    seal_.emplace(SealWriter::open(store_seal_path(database_.path()), seal_of_now()));
    return {};
  }

  Result<void> apply(std::span<const StoreChange> changes, Sync sync, Room room) {
    if (changes.empty()) return {};
    TRY(set_sync(sync));
    const std::uint64_t size = size_of(changes);
    largest_ = std::max(largest_, size);
    if (room == Room::kLeaveReserve) {
      if (const auto kept = keep_room_for(size); !kept) {
        return wrap(fmt::format("{}: {}: the disk is full, and what is left is kept for deletions",
                                database_.path(), attempt_of(changes)),
                    kept.error());
      }
    }
    auto made = transact(changes);
    // The log may have room at its beginning.
    if (!made && is_disk_full(made.error()) && database_.copy_log(Database::Log::kLeave)) {
      made = transact(changes);
    }
    if (!made) return made;
    if (sync == Sync::kAtOnce) synced_ = ledger_.commits;
    seal_->write(seal_of_now());
    return {};
  }

  Result<std::vector<StoredPod>> load() {
    std::vector<StoredPod> pods;
    while (TRY(database_.step(load_, "load pods"))) {
      pods.push_back({.uid = load_.text(0),
                      .sequence = static_cast<std::uint64_t>(load_.number(1)),
                      .record = load_.text(2)});
    }
    return pods;
  }

  Result<std::string> note(const std::string& key) {
    note_.bind(1, key);
    std::string text;
    while (TRY(database_.step(note_, "read a note"))) text = note_.text(0);
    return text;
  }

  Result<std::vector<std::string>> forgotten() {
    std::vector<std::string> uids;
    while (TRY(database_.step(forgotten_, "read what is forgotten"))) {
      uids.push_back(forgotten_.text(0));
    }
    return uids;
  }

 private:
  Result<void> check() {
    const std::string verdict = TRY(database_.ask("PRAGMA quick_check(1)"));
    if (verdict == "ok") return {};
    return Error{Code::kCorrupt, fmt::format("{}: {}", database_.path(), verdict)};
  }

  Result<bool> has_table(const char* name) {
    const std::string found = TRY(database_.ask(
        fmt::format("SELECT name FROM sqlite_master WHERE type = 'table' AND name = '{}'", name)
            .c_str()));
    return found == name;
  }

  Result<void> check_version() {
    const std::string version = TRY(database_.ask("PRAGMA user_version"));
    if (version == kSchemaVersion) return {};
    // Made by an agent that was killed before it made the tables.
    if (version == "0" && TRY(database_.ask("SELECT count(*) FROM sqlite_master")) == "0") {
      is_new = true;
      return {};
    }
    // The ledger has the version as well, to tell a later version from a damaged number.
    const bool has_ledger = TRY(has_table("ledger"));
    if (version == "0" ||
        (has_ledger &&
         TRY(database_.ask("SELECT value FROM ledger WHERE name = 'version'")) == kSchemaVersion)) {
      return Error{Code::kCorrupt,
                   fmt::format("{}: its schema version is {}, which it does not have",
                               database_.path(), version)};
    }
    return Error{Code::kUnsupported,
                 fmt::format("{}: written by a later Corehold (schema {}, this one knows {})",
                             database_.path(), version, kSchemaVersion)};
  }

  // All rows, and what the ledger says of them. A store of 0.1 has no ledger; in one that 0.1 has
  // changed since, or somebody by hand, the digest is gone, and the content is believed.
  Result<void> read_ledger() {
    if (is_new) {
      ledger_.identity = random_uuid();
      return {};
    }
    TRY(read_rows());
    if (!TRY(has_table("ledger"))) {
      ledger_.identity = random_uuid();
      return {};
    }
    ledger_.identity = TRY(database_.ask("SELECT value FROM ledger WHERE name = 'identity'"));
    const std::string commits =
        TRY(database_.ask("SELECT value FROM ledger WHERE name = 'commits'"));
    const std::string digest = TRY(database_.ask("SELECT value FROM ledger WHERE name = 'digest'"));
    const auto [end, error] =
        std::from_chars(commits.data(), commits.data() + commits.size(), ledger_.commits);
    const bool is_number = error == std::errc{} && end == commits.data() + commits.size();
    if (ledger_.identity.empty() || !is_number) {
      return Error{Code::kCorrupt, fmt::format("{}: its ledger is not whole", database_.path())};
    }
    if (digest.empty() || digest == ledger_.digest()) return {};
    return Error{Code::kCorrupt, fmt::format("{}: the digest of its rows is {}, they give {}",
                                             database_.path(), digest, ledger_.digest())};
  }

  Result<void> read_rows() {
    Statement pods = TRY(database_.compile("SELECT uid, sequence, record FROM pods"));
    while (TRY(database_.step(pods, "read pods"))) {
      const StoredPod pod{.uid = pods.text(0),
                          .sequence = static_cast<std::uint64_t>(pods.number(1)),
                          .record = pods.text(2)};
      ledger_.put(pod_key(pod.uid), row_of(pod));
      largest_ = std::max(largest_, size_of(pod));
    }
    if (!TRY(has_table("notes"))) return {};
    Statement notes = TRY(database_.compile("SELECT key, text FROM notes"));
    while (TRY(database_.step(notes, "read notes"))) {
      const StoredNote note{.key = notes.text(0), .text = notes.text(1)};
      ledger_.put(note_key(note.key), row_of(note));
    }
    return {};
  }

  Result<void> compare(const std::optional<StoreSeal>& seal) {
    if (!seal) return {};
    const std::string seal_path = store_seal_path(database_.path());
    const std::uint64_t required = required_commits(*seal, boot_id());
    if (ledger_.commits < required) {
      return Error{Code::kCorrupt,
                   fmt::format("{}: its newest changes are lost: it has {}, {} were saved; to go "
                               "on with it as it is, remove {}",
                               database_.path(), ledger_.commits, required, seal_path)};
    }
    if (ledger_.identity == seal->identity) return {};
    return Error{Code::kCorrupt, fmt::format("{}: it is another store than that of {}; to go on "
                                             "with it as it is, remove that file",
                                             database_.path(), seal_path)};
  }

  Result<void> migrate() {
    if (TRY(has_table("ledger")) && TRY(has_table("forgotten"))) return {};
    TRY(database_.run("BEGIN IMMEDIATE"));
    auto made = make_tables();
    if (made) made = database_.run("COMMIT");
    if (!made) database_.roll_back();
    return made;
  }

  Result<void> make_tables() {
    // `pods` is of 0.1, `notes` later; 0.1 does not look at the others. The triggers run in every
    // version: they drop the digest, which this one then saves anew.
    TRY(
        database_.run("CREATE TABLE IF NOT EXISTS pods(uid TEXT PRIMARY KEY NOT NULL, sequence "
                      "INTEGER NOT NULL, record TEXT NOT NULL) WITHOUT ROWID;"
                      "CREATE TABLE IF NOT EXISTS notes(key TEXT PRIMARY KEY NOT NULL, text TEXT "
                      "NOT NULL) WITHOUT ROWID;"
                      "CREATE TABLE IF NOT EXISTS ledger(name TEXT PRIMARY KEY NOT NULL, value "
                      "TEXT NOT NULL) WITHOUT ROWID;"
                      "CREATE TABLE IF NOT EXISTS forgotten(number INTEGER PRIMARY KEY, uid TEXT "
                      "NOT NULL)"));
    for (const char* table : {"pods", "notes"}) {
      for (const char* change : {"INSERT", "UPDATE", "DELETE"}) {
        TRY(database_.run(fmt::format("CREATE TRIGGER IF NOT EXISTS {0}_{1} AFTER {1} ON {0} BEGIN "
                                      "DELETE FROM ledger WHERE name = 'digest'; END",
                                      table, change)
                              .c_str()));
      }
    }
    Statement save = TRY(database_.compile(kSaveLedger));
    TRY(save_in_ledger(save, "version", kSchemaVersion));
    TRY(save_in_ledger(save, "identity", ledger_.identity));
    TRY(save_in_ledger(save, "commits", fmt::to_string(ledger_.commits)));
    return database_.run(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  }

  Result<void> compile() {
    save_ = TRY(database_.compile(
        "INSERT INTO pods(uid, sequence, record) VALUES(?1, ?2, ?3) ON CONFLICT(uid) DO UPDATE SET "
        "sequence = excluded.sequence, record = excluded.record"));
    forget_ = TRY(database_.compile("DELETE FROM pods WHERE uid = ?1"));
    remember_ = TRY(database_.compile("INSERT INTO forgotten(uid) VALUES(?1)"));
    trim_ = TRY(database_.compile(
        fmt::format("DELETE FROM forgotten WHERE number <= last_insert_rowid() - {}",
                    kForgottenKept)
            .c_str()));
    forgotten_ = TRY(database_.compile("SELECT uid FROM forgotten ORDER BY number"));
    note_ = TRY(database_.compile("SELECT text FROM notes WHERE key = ?1"));
    save_note_ = TRY(
        database_.compile("INSERT INTO notes(key, text) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE "
                          "SET text = excluded.text"));
    save_ledger_ = TRY(database_.compile(kSaveLedger));
    load_ = TRY(database_.compile("SELECT uid, sequence, record FROM pods ORDER BY sequence, uid"));
    page_count_ = TRY(database_.compile("PRAGMA page_count"));
    return {};
  }

  static constexpr const char* kSaveLedger =
      "INSERT INTO ledger(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = "
      "excluded.value";

  Result<void> save_in_ledger(Statement& statement, const std::string& name,
                              const std::string& value) {
    statement.bind(1, name);
    statement.bind(2, value);
    return database_.run(statement, "save the ledger");
  }

  // In a write-ahead log the sync of a commit covers the log from its beginning: also what was
  // committed without one.
  Result<void> set_sync(Sync sync) {
    if (sync == sync_) return {};
    TRY(database_.run(sync == Sync::kAtOnce ? "PRAGMA synchronous=FULL"
                                            : "PRAGMA synchronous=NORMAL"));
    sync_ = sync;
    return {};
  }

  Result<void> transact(std::span<const StoreChange> changes) {
    // Changed together with the database, or not at all.
    Undo undo{.commits = ledger_.commits};
    auto made = database_.run("BEGIN IMMEDIATE");
    for (const StoreChange& change : changes) {
      if (!made) break;
      made = std::visit([&](const auto& typed) { return make(typed, undo); }, change);
    }
    if (made) {
      ++ledger_.commits;
      made = save_in_ledger(save_ledger_, "commits", fmt::to_string(ledger_.commits));
    }
    if (made) made = save_in_ledger(save_ledger_, "digest", ledger_.digest());
    if (made) {
      made = database_.run("COMMIT");
      if (!made) made = database_.failed(attempt_of(changes));
    }
    if (made) return made;
    database_.roll_back();
    take_back(undo);
    return made;
  }

  // The ledger's rows before a transaction, the last to be restored first.
  struct Undo {
    std::uint64_t commits = 0;
    std::vector<std::pair<std::string, std::optional<std::uint64_t>>> rows{};
  };

  void put_row(const std::string& key, std::uint64_t digest, Undo& undo) {
    undo.rows.emplace_back(key, ledger_.find(key));
    ledger_.put(key, digest);
  }

  void take_back(const Undo& undo) {
    ledger_.commits = undo.commits;
    for (auto row = undo.rows.rbegin(); row != undo.rows.rend(); ++row) {
      if (row->second) {
        ledger_.put(row->first, *row->second);
      } else {
        ledger_.erase(row->first);
      }
    }
  }

  Result<void> make(const StoredPod& pod, Undo& undo) {
    if (pod.sequence > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Error{Code::kInvalid, fmt::format("{}: sequence {} of pod {} is too large",
                                               database_.path(), pod.sequence, pod.uid)};
    }
    save_.bind(1, pod.uid);
    save_.bind(2, static_cast<std::int64_t>(pod.sequence));
    save_.bind(3, pod.record);
    TRY(database_.run(save_, attempt_of(pod)));
    put_row(pod_key(pod.uid), row_of(pod), undo);
    return {};
  }

  Result<void> make(const ForgottenPod& pod, Undo& undo) {
    const std::string key = pod_key(pod.uid);
    const auto before = ledger_.find(key);
    if (!before) return {};
    forget_.bind(1, pod.uid);
    TRY(database_.run(forget_, attempt_of(pod)));
    remember_.bind(1, pod.uid);
    TRY(database_.run(remember_, attempt_of(pod)));
    TRY(database_.run(trim_, attempt_of(pod)));
    undo.rows.emplace_back(key, before);
    ledger_.erase(key);
    return {};
  }

  Result<void> make(const StoredNote& note, Undo& undo) {
    save_note_.bind(1, note.key);
    save_note_.bind(2, note.text);
    TRY(database_.run(save_note_, attempt_of(note)));
    put_row(note_key(note.key), row_of(note), undo);
    return {};
  }

  std::uint64_t reserve_size() const { return kReserve + 2 * largest_; }

  // Before a transaction of that size which must leave the reserve as it is: the log can grow by
  // it, and the database when the log is copied.
  Result<void> keep_room_for(std::uint64_t size) {
    // Records are in pages of their own, each with a few bytes of its own.
    const std::uint64_t grown = size + size / 16 + kPages;
    TRY(reserve_->ensure(reserve_size() + grown));
    return database_reserve_->ensure_size(TRY(pages()) * kPageSize + grown + kReserve);
  }

  // Of the database, when the log has been copied into it.
  Result<std::uint64_t> pages() {
    std::uint64_t count = 0;
    while (TRY(database_.step(page_count_, "count the pages"))) {
      count = static_cast<std::uint64_t>(page_count_.number(0));
    }
    return count;
  }

  StoreSeal seal_of_now() const {
    return {.identity = ledger_.identity,
            .boot = boot_id(),
            .committed = ledger_.commits,
            .synced = synced_};
  }

  Database database_;
  // Once the database is known to be sound.
  std::optional<BlockReserve> reserve_{};           // of the log
  std::optional<BlockReserve> database_reserve_{};  // for what is in the log
  StoreLedger ledger_{};
  std::optional<SealWriter> seal_{};
  std::uint64_t synced_ = 0;   // the transactions that survive a power cut
  std::uint64_t largest_ = 0;  // record or transaction so far, in bytes
  Sync sync_ = Sync::kAtOnce;  // as prepare() sets it
  Statement save_{};
  Statement forget_{};
  Statement remember_{};
  Statement trim_{};
  Statement forgotten_{};
  Statement load_{};
  Statement note_{};
  Statement save_note_{};
  Statement save_ledger_{};
  Statement page_count_{};
};

PodStore::PodStore(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
PodStore::PodStore(PodStore&&) noexcept = default;
PodStore& PodStore::operator=(PodStore&&) noexcept = default;
PodStore::~PodStore() = default;

Result<PodStore> PodStore::open(const std::string& path) {
  TRY(check_files(path));
  const std::optional<StoreSeal> seal = TRY(read_seal(store_seal_path(path)));
  // SQLite would make a new database, and remove the log. A file of one byte is empty to SQLite.
  const bool is_new = size_of_file(path) <= 1;
  if (is_new && (seal || size_of_file(path + "-wal") > 0)) return lost(path, seal);
  {
    // SQLite takes the mode of the others from this file.
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) {
      return errno_error(fmt::format("open {}", path), errno);
    }
  }
  const auto open_as = [&](Sharing sharing) -> Result<PodStore> {
    auto tables = std::make_unique<Tables>(TRY(Database::open(path, sharing)));
    tables->is_new = is_new;
    TRY(tables->prepare(seal));
    return PodStore(std::move(tables));
  };
  auto opened = open_as(Sharing::kAny);
  if (opened || !is_disk_full(opened.error())) return opened;
  // The disk has no room for what processes share (store.db-shm).
  return open_as(Sharing::kNone);
}

Result<std::vector<StoredPod>> PodStore::load() const { return tables_->load(); }
Result<void> PodStore::apply(std::span<const StoreChange> changes, Sync sync, Room room) {
  return tables_->apply(changes, sync, room);
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
Result<std::string> PodStore::note(const std::string& key) const { return tables_->note(key); }
Result<std::vector<std::string>> PodStore::forgotten() const { return tables_->forgotten(); }
bool PodStore::is_new() const { return tables_->is_new; }
bool PodStore::has_lost_seal() const { return tables_->has_lost_seal; }

std::vector<std::string> pod_store_files(const std::string& path) {
  return {path, path + "-wal", path + "-shm", store_seal_path(path)};
}

}  // namespace corehold
