// SPDX-License-Identifier: Apache-2.0
//
// An open SQLite database and its statements; errors name its file. What tables there are is not
// known here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace corehold {

// Whether other processes may open the database as well.
enum class Sharing {
  kAny,
  kNone,  // nothing is needed of the disk to read it
};

class Database;

// A compiled statement. It must not outlive its database.
class Statement {
 public:
  Statement() = default;

  void bind(int place, const std::string& value);  // `value` must last until it is run
  void bind(int place, std::int64_t value);
  std::string text(int column) const;  // of the row
  std::int64_t number(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_{};
};

class Database {
 public:
  // The file must exist. Closing the database changes nothing: the log stays.
  static Result<Database> open(const std::string& path, Sharing sharing);

  const std::string& path() const { return path_; }

  Result<void> run(const char* text);
  Result<Statement> compile(const char* text);
  // The first column of the first row.
  Result<std::string> ask(const char* question);

  // Runs a statement that has no rows. `attempt` is for the message.
  Result<void> run(Statement& statement, std::string_view attempt);
  // The next row; false: there is none, and the statement can be run again.
  Result<bool> step(Statement& statement, std::string_view attempt);

  // Ends a transaction that has failed; some errors do that by themselves.
  void roll_back();

  // Copies the log into the database, so that it can be written from its beginning again. True:
  // all of it.
  enum class Log { kLeave, kEmpty };
  bool copy_log(Log log);

  // The last error.
  Error failed(std::string_view attempt) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };

  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  std::unique_ptr<sqlite3, Close> handle_;
  std::string path_;
};

}  // namespace corehold
