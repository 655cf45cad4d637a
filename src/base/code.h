// SPDX-License-Identifier: Apache-2.0
//
// How a Code is shown outside: the one table that gives it a name and the reason a
// kubelet gives when it refuses a pod. And the exit codes of every command.
#pragma once

#include <string_view>

#include "base/result.h"

namespace corehold {

// Process exit codes; which one a command ends with does not depend on a Code.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// The code's name in lower case, for logs and metric labels: "invalid", "exhausted".
std::string_view name_of(Code code);

// The reason on a pod refused with this code: "SMTAlignmentError", "OutOfcpu", else
// "UnexpectedAdmissionError".
std::string_view admission_reason(Code code);

}  // namespace corehold
