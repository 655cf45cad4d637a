// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "state/checkpoint_unmarshal.h"

namespace corehold {
namespace {

std::string shown(const std::string& pod, const std::string& container) {
  return fmt::format("container {} of pod {}", container, pod);
}

Result<void> check_holding(const State& state, const std::string& who, const Holding& holding) {
  const auto conflict = [&who](const std::string& text) {
    return Error{Code::kConflict, fmt::format("{} {}", who, text)};
  };
  if (holding.assigned.empty()) return conflict("is listed, but holds no CPUs");
  if (!holding.promised.is_subset_of(holding.assigned)) {
    return conflict(fmt::format("was promised CPUs {}, but has only {}", holding.promised.str(),
                                holding.assigned.str()));
  }
  if (holding.assigned.intersects(state.shared)) {
    return conflict(fmt::format("holds CPUs {}, which are also in the default set {}",
                                (holding.assigned & state.shared).str(), state.shared.str()));
  }
  return {};
}

// The first container of another pod that holds one of `cpus`. Containers of one
// pod may share: those of an init container are used again.
Error name_the_other(const State& state, const std::string& pod, const std::string& container,
                     const CpuSet& cpus) {
  for (const auto& [other_pod, containers] : state.pods) {
    if (other_pod == pod) continue;
    for (const auto& [name, holding] : containers) {
      if (!holding.assigned.intersects(cpus)) continue;
      return {Code::kConflict, fmt::format("{} and {} both hold CPUs {}", shown(other_pod, name),
                                           shown(pod, container), (holding.assigned & cpus).str())};
    }
  }
  check_failed("another pod holds the CPUs", __FILE__, __LINE__);
}

Result<void> check_pods(const State& state) {
  CpuSet taken;
  for (const auto& [pod, containers] : state.pods) {
    CpuSet of_pod;
    for (const auto& [name, holding] : containers) {
      TRY(check_holding(state, shown(pod, name), holding));
      if (holding.assigned.intersects(taken)) {
        return name_the_other(state, pod, name, holding.assigned);
      }
      of_pod |= holding.assigned;
    }
    taken |= of_pod;
  }
  if (!taken.empty() && state.shared.empty()) {
    return Error{Code::kConflict,
                 fmt::format("the default set is empty while containers hold CPUs {}: nothing is "
                             "left for everybody else",
                             taken.str())};
  }
  return {};
}

const JsonMember* find_member(const JsonValue& object, std::string_view field) {
  for (const JsonMember& member : object.members) {
    if (is_go_field(member.key, field) && member.value.kind != JsonValue::Kind::kNull) {
      return &member;
    }
  }
  return nullptr;
}

CheckpointVersion likely_version(const JsonValue& tree) {
  if (find_member(tree, "data") != nullptr || find_member(tree, "dataChecksum") != nullptr) {
    return CheckpointVersion::kV4;
  }
  if (find_member(tree, "promised") != nullptr) return CheckpointVersion::kV3;
  if (find_member(tree, "podEntries") != nullptr) return CheckpointVersion::kKubeletV3;
  const JsonMember* entries = find_member(tree, "entries");
  const auto is_text = [](const JsonMember& member) {
    return member.value.kind == JsonValue::Kind::kString;
  };
  const bool is_flat = entries != nullptr && std::any_of(entries->value.members.begin(),
                                                         entries->value.members.end(), is_text);
  return is_flat ? CheckpointVersion::kV1 : CheckpointVersion::kV2;
}

}  // namespace

bool is_policy_name(std::string_view name) { return name == "none" || name == "static"; }

Result<State> check_content(const Checkpoint& checkpoint) {
  if (checkpoint.policy.empty()) {
    return Error{Code::kInvalid,
                 "policyName is empty or missing: not a checkpoint of a CPU manager"};
  }
  if (!is_policy_name(checkpoint.policy)) {
    return Error{Code::kInvalid,
                 fmt::format("policyName {:?} is neither none nor static", checkpoint.policy)};
  }
  if (!checkpoint.pod_entries.empty()) {
    const auto& [pod, set] = *checkpoint.pod_entries.begin();
    return Error{Code::kUnsupported,
                 fmt::format("podEntries gives CPUs {:?} to pod {} as a whole; pod-level resources "
                             "are not supported, remove such pods from the node first",
                             set, pod)};
  }
  State state = TRY(state_of(checkpoint));
  TRY(check_pods(state));
  return state;
}

Result<State> check_loadable(const Checkpoint& checkpoint) {
  if (checkpoint.checksum == 0) {
    return Error{Code::kCorrupt,
                 "checksum is 0, so nothing vouches for the content; look at it with corehold "
                 "checkpoint show, then corehold checkpoint convert writes it with a checksum"};
  }
  return check_content(checkpoint);
}

std::optional<ChecksumFacts> checksum_facts(std::string_view bytes) {
  const auto tree = parse_go_json(bytes);
  if (!tree || tree->kind != JsonValue::Kind::kObject) return std::nullopt;
  const CheckpointVersion version = likely_version(*tree);
  CheckpointFields fields;
  if (!unmarshal(*tree, struct_of(version), fields)) return std::nullopt;
  return ChecksumFacts{
      .version = version,
      .found = version == CheckpointVersion::kV4 ? fields.data_checksum : fields.checksum,
      .computed = computed_checksum(fields, version)};
}

std::string explain_failure(std::string_view bytes, const Error& error) {
  const auto facts = checksum_facts(bytes);
  if (!facts || facts->found == facts->computed) return error.message;
  const bool is_v4 = facts->version == CheckpointVersion::kV4;
  return fmt::format("{} is {}, content gives {}", is_v4 ? "dataChecksum" : "checksum",
                     facts->found, facts->computed);
}

}  // namespace corehold
