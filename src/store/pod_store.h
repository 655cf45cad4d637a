// SPDX-License-Identifier: Apache-2.0
//
// The pods of a node in an embedded database (SQLite), and a few notes beside them: what a
// save has answered with success survives a crash and a power cut. What a record or a note
// says is not known here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace corehold {

struct StoredPod {
  std::string uid{};
  std::uint64_t sequence = 0;  // in the order of creation
  std::string record{};        // any text

  bool operator==(const StoredPod&) const = default;
};

class PodStore {
 public:
  // Opens the database, creating it (mode 0600) when there is none, and checks it.
  //
  // Fails with kCorrupt when the file is no sound database, with kUnsupported when a later
  // version has written it, and with kIo when the system says no. All name the file.
  static Result<PodStore> open(const std::string& path);

  PodStore(PodStore&&) noexcept;
  PodStore& operator=(PodStore&&) noexcept;
  ~PodStore();

  // By sequence.
  Result<std::vector<StoredPod>> load() const;

  // Adds the pod, or replaces what is there under its UID. On failure nothing has changed.
  Result<void> save(const StoredPod& pod);

  // An unknown UID is no error.
  Result<void> forget(const std::string& uid);

  // The text under that key; "" when there is none.
  Result<std::string> note(const std::string& key) const;
  // On failure nothing has changed.
  Result<void> save_note(const std::string& key, const std::string& text);

 private:
  class Database;

  explicit PodStore(std::unique_ptr<Database> database);

  std::unique_ptr<Database> database_;  // never null but for a store that was moved from
};

// The files that make up the database at `path`: moved aside together, or not at all.
std::vector<std::string> pod_store_files(const std::string& path);

}  // namespace corehold
