// SPDX-License-Identifier: Apache-2.0
//
// A trial run in a child process, for library code that may abort or crash on bad
// input where no check of ours can come first.
#pragma once

#include <functional>

#include "base/result.h"

namespace corehold {

// Runs `attempt` in a forked child with standard error closed and ten seconds of CPU
// time. True: it returned true; false: it returned false. Fails with kInvalid when the
// child died (the library could not survive the input), with kIo when there is no child
// to be had. `attempt` must not touch threads, locks or files of the parent.
Result<bool> try_in_child(const std::function<bool()>& attempt);

}  // namespace corehold
