// SPDX-License-Identifier: Apache-2.0
//
// The seal of a store: a small file beside the database that says how many transactions have been
// committed to it. SQLite drops a damaged or shortened log without a word, and takes an empty
// file for a new database: a database with fewer transactions than its seal counts has lost some.
//
// The file is overwritten in place, never synced by itself and costs no sync. Its two slots are
// written in turn, so that a power cut in the middle of a write leaves the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "sys/descriptor.h"

namespace corehold {

struct StoreSeal {
  std::string identity{};       // of the database; random
  std::string boot{};           // of the machine, when it was written
  std::uint64_t committed = 0;  // transactions so far
  std::uint64_t synced = 0;     // of these the last that survives a power cut

  bool operator==(const StoreSeal&) const = default;
};

// The transactions that a database must have under this seal: in another boot than that in which
// the seal was written, those that were synced.
std::uint64_t required_commits(const StoreSeal& seal, const std::string& boot);

// The newest slot; no value: there is no file. Fails with kCorrupt when no slot verifies.
Result<std::optional<StoreSeal>> read_seal(const std::string& path);

// Keeps the file open. What cannot be written is left: a seal that counts too few is no harm.
class SealWriter {
 public:
  // Makes the file (mode 0600, synced) when there is none, or none that verifies.
  static SealWriter open(const std::string& path, const StoreSeal& seal);

  void write(const StoreSeal& seal);

 private:
  Descriptor file_{-1};
  int slot_ = 0;
};

}  // namespace corehold
