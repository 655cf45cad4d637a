// SPDX-License-Identifier: Apache-2.0
//
// What the process runtime does with each field of a pod's spec: honours it, accepts it without
// effect where that is harmless, or refuses it by name. Every field of core/v1 that can be set is
// in the table once (pod_fields_test.cc of the agent compares it with the types of the API and with
// docs/node.md), so that no field is ignored that somebody relies on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pod/pod.h"

namespace corehold {

enum class FieldUse { kHonoured, kWithoutEffect, kRefused };

struct PodField {
  std::string_view type{};  // "PodSpec", as in core/v1
  std::string_view name{};
  FieldUse use = FieldUse::kHonoured;
  std::string_view inner{};    // type of what an honoured field holds; "": no other fields
  std::string_view allowed{};  // values of a refused field that ask for nothing: "true", "a|b"
  std::string_view why{};      // of a refused field: the reason, and what to do instead
};

std::span<const PodField> pod_fields();

// The fields that are set and refused, as "field path: what is wrong". False, 0 characters, an
// empty list and an empty object count as not set. Some of them are mistakes of read_spec() as
// well. Beside the fields of the table: emptyDir.sizeLimit on disk, limits of ephemeral-storage
// and the annotation for AppArmor.
std::vector<std::string> unsupported_fields(const Pod& pod);

}  // namespace corehold
