// SPDX-License-Identifier: Apache-2.0
//
// A store without a disk.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "agent/commit/node_store.h"

namespace corehold {

// Writes down each batch as one line, and fails when told to.
class FakeStore final : public NodeStore {
 public:
  explicit FakeStore(std::vector<std::string>& diary) : diary_(diary) {}

  CommitResult commit(const StoreBatch& batch) override {
    std::string line = "commit";
    for (const StoreEffect& effect : batch.effects) line += " " + std::visit(WordsOf{}, effect);
    for (const SaveNote& note : batch.notes) line += " note " + note.key;
    diary_.push_back(std::move(line));
    CommitResult result;
    if (failure) result.records = *failure;
    result.refused_others = refused_others;
    if (checkpoint_failure) result.checkpoint = *checkpoint_failure;
    return result;
  }

  std::optional<Error> failure{};         // of records
  std::optional<Error> refused_others{};  // of records that may not use the reserve
  std::optional<Error> checkpoint_failure{};

 private:
  struct WordsOf {
    std::string operator()(const SavePod& effect) const { return "save " + effect.record.pod.uid; }
    std::string operator()(const ForgetPod& effect) const { return "forget " + effect.uid; }
    std::string operator()(const PersistCheckpoint& effect) const {
      return fmt::format("checkpoint {}", effect.revision);
    }
  };

  std::vector<std::string>& diary_;
};

}  // namespace corehold
