// SPDX-License-Identifier: Apache-2.0
//
// The pods of a node in an embedded database (SQLite), and a few notes beside them: what was
// answered with success survives a crash and, unless it was asked for with Sync::kLater, a power
// cut. Many changes can be made in one transaction, which costs one sync. What a record or a note
// says is not known here. A store is used by one thread at a time; which one does not matter.
//
// A database that has lost anything is not opened: a digest of all rows is saved with each
// transaction (store_ledger.h), and their number also beside the database (store_seal.h). Part of
// the disk is kept for changes that may not fail for want of room (block_reserve.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace corehold {

struct StoredPod {
  std::string uid{};
  std::uint64_t sequence = 0;  // in the order of creation
  std::string record{};        // any text

  bool operator==(const StoredPod&) const = default;
};

// An unknown UID is no error.
struct ForgottenPod {
  std::string uid{};
};
struct StoredNote {
  std::string key{};
  std::string text{};
};
// Adds the pod or note, or replaces what is there under its UID or key; or removes a pod.
using StoreChange = std::variant<StoredPod, ForgottenPod, StoredNote>;

// When a transaction is on the disk, and not only in the memory of the kernel.
enum class Sync {
  kAtOnce,  // before it is answered: it survives a power cut, and all transactions before it do
  kLater,   // together with the next that is kAtOnce; it survives the end of the process
};

// Which part of the disk a transaction may use.
enum class Room {
  kLeaveReserve,  // it fails with ENOSPC where it would not leave the reserve as it is
  kUseReserve,    // all: it takes something away, so that there will be room again
};

class PodStore {
 public:
  // Opens the database, creating it (mode 0600) when there is none, and checks it.
  //
  // Fails with kCorrupt when the file is no sound database, or is missing, empty or older than
  // what its seal counts; with kUnsupported when a later version has written it, and with kIo when
  // the system says no. All name the file, and leave everything as it was.
  static Result<PodStore> open(const std::string& path);

  PodStore(PodStore&&) noexcept;
  PodStore& operator=(PodStore&&) noexcept;
  ~PodStore();

  // By sequence.
  Result<std::vector<StoredPod>> load() const;

  // Makes all changes, in their order, in one transaction. On failure nothing has changed.
  Result<void> apply(std::span<const StoreChange> changes, Sync sync = Sync::kAtOnce,
                     Room room = Room::kUseReserve);

  // One change by itself.
  Result<void> save(const StoredPod& pod);
  Result<void> forget(const std::string& uid);
  Result<void> save_note(const std::string& key, const std::string& text);

  // The text under that key; "" when there is none.
  Result<std::string> note(const std::string& key) const;

  // UIDs of the pods that were forgotten last, a thousand or so.
  Result<std::vector<std::string>> forgotten() const;

  // There was no database.
  bool is_new() const;
  // There was a database, which had a seal once, and no seal: whether it is the newest is unknown.
  bool has_lost_seal() const;

 private:
  class Tables;

  explicit PodStore(std::unique_ptr<Tables> tables);

  std::unique_ptr<Tables> tables_;  // never null but for a store that was moved from
};

// The files that make up the database at `path`: moved aside together, or not at all.
std::vector<std::string> pod_store_files(const std::string& path);
inline std::string store_seal_path(const std::string& path) { return path + "-seal"; }

}  // namespace corehold
