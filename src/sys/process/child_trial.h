// SPDX-License-Identifier: Apache-2.0
//
// A trial run in a child process, for library code that may abort or crash on bad
// input, or complain only on standard error, where no check of ours can come first.
#pragma once

#include <functional>

#include "base/result.h"

namespace corehold {

enum class Verdict {
  kAccepted,    // the attempt returned true
  kComplained,  // so it did, but something was written to standard error
  kRefused,     // the attempt returned false
  kDied,        // a crash, an abort, or more than ten seconds of CPU time
};

// Runs `attempt` in a forked child whose standard error nobody sees. Fails with kIo when
// there is no child to be had. `attempt` must not touch threads, locks or files of the
// parent.
Result<Verdict> try_in_child(const std::function<bool()>& attempt);

}  // namespace corehold
