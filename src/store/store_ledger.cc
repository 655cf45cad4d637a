// SPDX-License-Identifier: Apache-2.0
#include "store/store_ledger.h"

#include <fmt/format.h>

#include "base/digest.h"

namespace corehold {

void StoreLedger::put(const std::string& key, std::uint64_t digest) {
  std::uint64_t& row = rows_[key];
  sum_ += digest - row;
  row = digest;
}

void StoreLedger::erase(const std::string& key) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return;
  sum_ -= found->second;
  rows_.erase(found);
}

std::optional<std::uint64_t> StoreLedger::find(const std::string& key) const {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return std::nullopt;
  return found->second;
}

std::string StoreLedger::digest() const {
  return fmt::format("{:016x}", digest_of({identity, fmt::to_string(commits), fmt::to_string(sum_),
                                           fmt::to_string(rows_.size())}));
}

}  // namespace corehold
