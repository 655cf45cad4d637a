// SPDX-License-Identifier: Apache-2.0
//
// How many files the agent may have open: connections, logs and watched processes count.
// Containers keep the limit that the agent was started with, since programs that use
// select(2) break with more.
#pragma once

namespace corehold {

// Raises the soft limit to the hard one and leaves the old one in the environment, for the
// monitors that this process starts.
void raise_open_files();

// In a monitor: back to what the agent was started with.
void restore_open_files();

}  // namespace corehold
