// SPDX-License-Identifier: Apache-2.0
//
// CHECK(condition): abort on a broken invariant of ours. Never for what comes
// from outside (a file, a pod, a socket, the kernel): that is an Error.
#pragma once

namespace corehold {

// Prints where and what to standard error, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace corehold

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::corehold::check_failed(#condition, __FILE__, __LINE__))
