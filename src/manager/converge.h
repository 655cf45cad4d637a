// SPDX-License-Identifier: Apache-2.0
//
// converge(): whatever is wanted, not yet so, and permitted by what has been confirmed
// becomes an effect.
#pragma once

#include "manager/turn.h"

namespace corehold {

void converge(Turn& turn);

void on_podinfo_written(Turn& turn, const PodInfoWritten& command);

}  // namespace corehold
