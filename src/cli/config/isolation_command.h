// SPDX-License-Identifier: Apache-2.0
//
// `corehold isolation` for a machine whose files are somewhere else, as in tests.
#pragma once

#include <string>

namespace corehold {

struct IsolationFiles {
  std::string root{};  // the agent's directory
  // The copy of the journal of the machine's agent, beside the lock of that agent; empty: the
  // caller is not root, and has no machine to give back.
  std::string owner{};
};

// Answers or complains, and returns the exit code. What the agent of the last directory has changed
// is given back also where that directory is lost. Refuses while an agent runs here.
int release_isolation(const IsolationFiles& files);

}  // namespace corehold
