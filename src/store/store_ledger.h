// SPDX-License-Identifier: Apache-2.0
//
// The ledger of a store: which database it is, how many transactions it has seen, and a digest of
// all its rows, kept in step with each change without reading the others. It is saved in the
// database with each transaction, so that a row that was damaged, lost or brought back is noticed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace corehold {

class StoreLedger {
 public:
  std::string identity{};
  std::uint64_t commits = 0;

  // A row with that key is there, and has this content.
  void put(const std::string& key, std::uint64_t digest);
  void erase(const std::string& key);
  // Its digest; no value: there is no such row.
  std::optional<std::uint64_t> find(const std::string& key) const;

  // Of all rows, the identity and the number of transactions.
  std::string digest() const;

 private:
  std::map<std::string, std::uint64_t> rows_{};
  std::uint64_t sum_ = 0;  // of all digests; does not depend on the order of rows
};

}  // namespace corehold
