// SPDX-License-Identifier: Apache-2.0
//
// The NodeStore on disk: the checkpoint file and the database of pods.
#pragma once

#include <string>
#include <utility>

#include "agent/node_document.h"
#include "agent/ports.h"
#include "agent/startup.h"
#include "manager/record_json.h"
#include "store/checkpoint_file.h"
#include "store/pod_store.h"

namespace corehold {

class DiskStore final : public NodeStore {
 public:
  DiskStore(PodStore pods, std::string checkpoint, CheckpointFormat format)
      : pods_(std::move(pods)), checkpoint_(std::move(checkpoint)), format_(format) {}

  Result<void> save_pod(const PodRecord& record) override {
    return pods_.save(
        {.uid = record.pod.uid, .sequence = record.sequence, .record = write_record(record)});
  }
  Result<void> forget_pod(const std::string& uid) override { return pods_.forget(uid); }
  Result<void> save(const NodeDocument& node) { return pods_.save_note(kNodeNote, node.text()); }
  Result<void> save_checkpoint(const State& state) override {
    return corehold::save_checkpoint(checkpoint_, state, format_);
  }

 private:
  PodStore pods_;
  std::string checkpoint_;
  CheckpointFormat format_;
};

}  // namespace corehold
