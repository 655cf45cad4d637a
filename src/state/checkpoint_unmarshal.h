// SPDX-License-Identifier: Apache-2.0
//
// A JSON tree into the fields of a checkpoint by Go's rules: unknown members are
// skipped, the last duplicate wins (members of a map are merged), null empties a
// map and leaves anything else alone, and a value of the wrong kind is an error
// that does not stop the others from being read. Internal to the checkpoint code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cpuset/list_format.h"
#include "gotext/go_json.h"
#include "state/checkpoint.h"

namespace corehold {

// No value: Go's nil map, which is empty but dumped differently.
template <typename T>
using GoMap = std::optional<std::map<std::string, T>>;

struct PodSet {
  std::string text;
  std::vector<NumberRange> cpus;
};

// The fields of all versions together; starts as Go's constructors leave it.
struct CheckpointFields {
  std::string policy{};
  std::string default_set{};
  GoMap<GoMap<std::string>> entries{std::in_place};
  GoMap<GoMap<std::string>> promised{std::in_place};
  GoMap<GoMap<std::string>> baselines{std::in_place};
  GoMap<std::string> by_id{std::in_place};
  GoMap<PodSet> pod_entries{std::in_place};
  std::uint64_t checksum = 0;
  std::string data{};
  std::uint64_t data_checksum = 0;
};

// The structs of the formats: which fields a reader knows.
enum class CheckpointStruct { kV1, kV2, kKubeletV3, kV3, kV4, kV4Data };

// Reads `value` into `fields`. Returns the first error; the other fields are filled
// all the same. kCorrupt, in the kubelet's words.
Result<void> unmarshal(const JsonValue& value, CheckpointStruct type, CheckpointFields& fields);

CheckpointStruct struct_of(CheckpointVersion version);

// The checksum that the fields should carry as that version; for v4 that of `data`.
std::uint32_t computed_checksum(const CheckpointFields& fields, CheckpointVersion version,
                                std::string_view type_suffix = {});

// The set as a kubelet parses it. Fails with kInvalid and the kubelet's text.
Result<std::vector<NumberRange>> parse_kubelet_list(std::string_view text);

}  // namespace corehold
