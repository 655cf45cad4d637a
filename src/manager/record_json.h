// SPDX-License-Identifier: Apache-2.0
//
// PodRecord as the text that the store keeps. Fields that a later version adds are
// ignored; fields that are missing have their defaults.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "manager/node_state.h"

namespace corehold {

std::string write_record(const PodRecord& record);

// Fails with kCorrupt, naming the field, on anything that write_record could not have
// written or that is not of its shape.
Result<PodRecord> read_record(std::string_view text);

// "api", "static", "run", "run-waiting".
std::string_view name_of(Source source);

}  // namespace corehold
