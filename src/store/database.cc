// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:     // a statement of ours that does not suit what is in the file
    case SQLITE_READONLY:  // it was opened to be written: its header says so
      return Code::kCorrupt;
    default:
      return result == SQLITE_IOERR_SHORT_READ ? Code::kCorrupt : Code::kIo;
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  ::sqlite3_finalize(statement);
}

void Statement::bind(int place, const std::string& value) {
  ::sqlite3_bind_text(statement_.get(), place, value.data(), static_cast<int>(value.size()),
                      SQLITE_STATIC);
}

void Statement::bind(int place, std::int64_t value) {
  ::sqlite3_bind_int64(statement_.get(), place, value);
}

std::string Statement::text(int column) const {
  const auto* found = ::sqlite3_column_text(statement_.get(), column);
  const int size = ::sqlite3_column_bytes(statement_.get(), column);
  return found == nullptr
             ? ""
             : std::string(reinterpret_cast<const char*>(found), static_cast<std::size_t>(size));
}

std::int64_t Statement::number(int column) const {
  return ::sqlite3_column_int64(statement_.get(), column);
}

void Database::Close::operator()(sqlite3* handle) const { ::sqlite3_close(handle); }

Result<Database> Database::open(const std::string& path, Sharing sharing) {
  sqlite3* handle = nullptr;
  const int result = ::sqlite3_open_v2(path.c_str(), &handle,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle, path);
  if (result != SQLITE_OK) {
    return Error{code_of(result), fmt::format("open {}: {}", path, ::sqlite3_errstr(result))};
  }
  ::sqlite3_extended_result_codes(handle, 1);
  // Else the last to close a database copies its log, as much as is sound, and removes it.
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (sharing == Sharing::kNone) TRY(database.run("PRAGMA locking_mode=EXCLUSIVE"));
  return database;
}

Result<void> Database::run(const char* text) {
  if (::sqlite3_exec(handle_.get(), text, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failed(text);
  }
  return {};
}

Result<Statement> Database::compile(const char* text) {
  sqlite3_stmt* compiled = nullptr;
  if (::sqlite3_prepare_v2(handle_.get(), text, -1, &compiled, nullptr) != SQLITE_OK) {
    return failed("prepare");
  }
  Statement statement;
  statement.statement_.reset(compiled);
  return statement;
}

Result<std::string> Database::ask(const char* question) {
  Statement statement = TRY(compile(question));
  if (!TRY(step(statement, question))) return std::string();
  return statement.text(0);
}

Result<void> Database::run(Statement& statement, std::string_view attempt) {
  while (TRY(step(statement, attempt))) {
  }
  return {};
}

Result<bool> Database::step(Statement& statement, std::string_view attempt) {
  const int result = ::sqlite3_step(statement.statement_.get());
  if (result == SQLITE_ROW) return true;
  Result<bool> outcome = false;
  if (result != SQLITE_DONE) outcome = failed(attempt);
  ::sqlite3_reset(statement.statement_.get());
  ::sqlite3_clear_bindings(statement.statement_.get());
  return outcome;
}

void Database::roll_back() {
  if (::sqlite3_get_autocommit(handle_.get()) != 0) return;
  ::sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

bool Database::copy_log(Log log) {
  int in_log = 0;
  int copied = 0;
  const int mode = log == Log::kEmpty ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART;
  return ::sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, mode, &in_log, &copied) == SQLITE_OK &&
         in_log == copied;
}

Error Database::failed(std::string_view attempt) const {
  const int result = ::sqlite3_extended_errcode(handle_.get());
  const bool is_system = (result & 0xff) == SQLITE_IOERR || (result & 0xff) == SQLITE_CANTOPEN;
  int number = is_system ? ::sqlite3_system_errno(handle_.get()) : 0;
  // SQLite does not keep the errno of these.
  const bool lacks_memory_file = result == SQLITE_IOERR_SHMSIZE || result == SQLITE_IOERR_SHMOPEN ||
                                 result == SQLITE_IOERR_SHMMAP;
  if ((result & 0xff) == SQLITE_FULL || lacks_memory_file) number = ENOSPC;
  return {code_of(result),
          fmt::format("{}: {}: {}{}", path_, attempt, ::sqlite3_errmsg(handle_.get()),
                      number != 0 ? fmt::format(" ({})", errno_name(number)) : ""),
          number};
}

}  // namespace corehold
