// SPDX-License-Identifier: Apache-2.0
//
// Bytes to Checkpoint: which version the bytes are, by checksum.
#include "state/checkpoint.h"
#include "state/checkpoint_checksum.h"
#include "state/checkpoint_unmarshal.h"

namespace corehold {
namespace {

using Version = CheckpointVersion;

SetTable table_of(const GoMap<GoMap<std::string>>& map) {
  SetTable table;
  table.is_nil = !map;
  if (!map) return table;
  for (const auto& [pod, containers] : *map) {
    PodRow row{.pod = pod, .first = table.rows.size(), .count = 0, .is_nil = !containers};
    if (containers) {
      row.count = containers->size();
      for (const auto& [name, set] : *containers) table.rows.push_back({.key = name, .set = set});
    }
    table.pods.push_back(row);
  }
  return table;
}

PodSetTable table_of(const GoMap<PodSet>& map) {
  PodSetTable table;
  table.is_nil = !map;
  if (!map) return table;
  for (const auto& [pod, set] : *map) {
    table.pods.push_back({.pod = pod, .set = set.text, .cpus = set.cpus});
  }
  return table;
}

FlatTable table_of(const GoMap<std::string>& map) {
  FlatTable table;
  table.is_nil = !map;
  if (!map) return table;
  for (const auto& [id, set] : *map) table.rows.push_back({.key = id, .set = set});
  return table;
}

// The kubelet once hashed v2 and v3 under their Go type names; it still reads those.
std::vector<std::string_view> type_suffixes(Version version, const CheckpointGates& gates) {
  if (version == Version::kKubeletV3) return {"", "V3"};
  if (version == Version::kV2 && !gates.pod_level_resource_managers) return {"", "V2"};
  return {""};
}

Result<void> verify(const CheckpointFields& fields, Version version, const CheckpointGates& gates) {
  const bool accepts_zero = version == Version::kV2 || version == Version::kV1;
  if (accepts_zero && fields.checksum == 0) return {};
  const std::uint64_t found = version == Version::kV4 ? fields.data_checksum : fields.checksum;
  for (const std::string_view suffix : type_suffixes(version, gates)) {
    if (computed_checksum(fields, version, suffix) == found) return {};
  }
  return Error{Code::kCorrupt, "checkpoint is corrupted"};
}

SetsByPod sets_of(GoMap<GoMap<std::string>> map) {
  SetsByPod sets;
  if (!map) return sets;
  for (auto& [pod, containers] : *map) {
    auto& to = sets[pod];
    if (containers) to = *std::move(containers);
  }
  return sets;
}

Checkpoint checkpoint_from(CheckpointFields fields, Version version) {
  Checkpoint checkpoint{.version = version,
                        .policy = std::move(fields.policy),
                        .default_set = std::move(fields.default_set),
                        .entries = sets_of(std::move(fields.entries)),
                        .promised = sets_of(std::move(fields.promised)),
                        .checksum = fields.checksum};
  if (fields.by_id) checkpoint.by_id = *std::move(fields.by_id);
  if (fields.pod_entries) {
    for (auto& [pod, set] : *fields.pod_entries) checkpoint.pod_entries[pod] = set.text;
  }
  return checkpoint;
}

Result<Checkpoint> decode_older(const JsonValue& tree, Version version,
                                const CheckpointGates& gates) {
  CheckpointFields fields;
  TRY(unmarshal(tree, struct_of(version), fields));
  TRY(verify(fields, version, gates));
  return checkpoint_from(std::move(fields), version);
}

// `outer` is filled even on failure, as far as it could be read.
Result<Checkpoint> decode_v4(const JsonValue& tree, CheckpointFields& outer) {
  const auto read = unmarshal(tree, CheckpointStruct::kV4, outer);
  if (!read) return wrap("failed to deserialize cpu manager checkpoint", read.error());
  constexpr std::string_view kData = "failed to deserialize cpu manager checkpoint data";
  const auto data = parse_go_json(outer.data);
  if (!data) return wrap(kData, data.error());
  CheckpointFields fields;
  const auto read_data = unmarshal(*data, CheckpointStruct::kV4Data, fields);
  if (!read_data) return wrap(kData, read_data.error());
  TRY(verify(outer, Version::kV4, {}));
  fields.checksum = outer.data_checksum;
  fields.promised = std::move(fields.baselines);
  return checkpoint_from(std::move(fields), Version::kV4);
}

}  // namespace

std::string_view name_of(CheckpointVersion version) {
  switch (version) {
    case Version::kV1:
      return "v1";
    case Version::kV2:
      return "v2";
    case Version::kKubeletV3:
      return "kubelet v3";
    case Version::kV3:
      return "v3";
    case Version::kV4:
      return "v4";
  }
  check_failed("every version has a name", __FILE__, __LINE__);
}

CheckpointStruct struct_of(Version version) {
  switch (version) {
    case Version::kV1:
      return CheckpointStruct::kV1;
    case Version::kV2:
      return CheckpointStruct::kV2;
    case Version::kKubeletV3:
      return CheckpointStruct::kKubeletV3;
    case Version::kV3:
      return CheckpointStruct::kV3;
    case Version::kV4:
      return CheckpointStruct::kV4;
  }
  check_failed("every version has a struct", __FILE__, __LINE__);
}

std::uint32_t computed_checksum(const CheckpointFields& fields, CheckpointVersion version,
                                std::string_view type_suffix) {
  if (version == Version::kV4) return data_checksum_of(fields.data);
  const SetTable entries = table_of(fields.entries);
  const SetTable promised = table_of(fields.promised);
  const PodSetTable pod_entries = table_of(fields.pod_entries);
  const FlatTable by_id = table_of(fields.by_id);
  return checksum_of({.type_suffix = type_suffix,
                      .policy = fields.policy,
                      .default_set = fields.default_set,
                      .entries = version == Version::kV1 ? nullptr : &entries,
                      .by_id = version == Version::kV1 ? &by_id : nullptr,
                      .promised = version == Version::kV3 ? &promised : nullptr,
                      .pod_entries = version == Version::kKubeletV3 ? &pod_entries : nullptr});
}

Result<Checkpoint> decode_checkpoint(std::string_view bytes, const CheckpointGates& gates) {
  const JsonValue tree = TRY(parse_go_json(bytes));
  CheckpointFields outer;
  auto v4 = decode_v4(tree, outer);
  if (v4) return v4;
  if (!outer.data.empty() || outer.data_checksum != 0) {
    return wrap("could not load v4 checkpoint", v4.error());
  }
  for (const Version version : {Version::kV3, Version::kKubeletV3}) {
    auto checkpoint = decode_older(tree, version, gates);
    if (checkpoint) return checkpoint;
  }
  auto v2 = decode_older(tree, Version::kV2, gates);
  if (v2) return v2;
  auto v1 = decode_older(tree, Version::kV1, gates);
  return v1 ? v1 : v2;
}

Result<Checkpoint> decode_checkpoint_as(std::string_view bytes, CheckpointVersion version,
                                        const CheckpointGates& gates) {
  auto tree = parse_go_json(bytes);
  if (version != Version::kV4) return decode_older(TRY(std::move(tree)), version, gates);
  if (!tree) return wrap("failed to deserialize cpu manager checkpoint", tree.error());
  CheckpointFields outer;
  return decode_v4(*tree, outer);
}

}  // namespace corehold
