// SPDX-License-Identifier: Apache-2.0
//
// Whether what a node finds at its start belongs together: the store, the checkpoint and the
// containers of the runtime. Each may be sound by itself and yet be missing, or be a copy from
// another time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "container/seen_container.h"
#include "state/state.h"

namespace corehold {

struct FoundTogether {
  const std::string& checkpoint;  // paths
  const std::string& store;
  const std::set<std::string>& pods;  // UIDs in the store
  const State& cpus;                  // of the checkpoint
  const std::vector<SeenContainer>& seen;
  bool is_store_new = false;
  bool has_checkpoint = true;
  bool had_checkpoint = false;  // the store says that one was saved
  bool pins_cpus = true;        // the policy has a checkpoint
};

// Fails with kCorrupt when something is lost; the message says what, and what to do.
Result<void> check_together(const FoundTogether& found);

}  // namespace corehold
