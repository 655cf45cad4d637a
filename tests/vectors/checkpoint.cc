// SPDX-License-Identifier: Apache-2.0
//
// Family checkpoint: bytes of cpu_manager_state written (marshal) and read back the
// way a kubelet opens its state directory (restore). No line is exempt.
#include "state/checkpoint.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "family.h"
#include "fields.h"

namespace corehold::vectors {
namespace {

namespace json = boost::json;
using Version = CheckpointVersion;

Error bad_line(std::string_view what) {
  return {Code::kInvalid, fmt::format("checkpoint vector: {}", what)};
}

Result<SetsByContainer> sets_of(const json::value& value) {
  if (!value.is_object()) return bad_line("sets are not an object");
  SetsByContainer sets;
  for (const auto& member : value.get_object()) {
    if (!member.value().is_string()) return bad_line("a set is not a string");
    sets.emplace(member.key(), member.value().get_string());
  }
  return sets;
}

Result<SetsByContainer> pod_sets_of(const json::object& line, std::string_view field) {
  const json::value* value = find(line, field);
  if (value == nullptr) return SetsByContainer{};
  return sets_of(*value);
}

Result<SetsByPod> container_sets_of(const json::object& line, std::string_view field) {
  SetsByPod sets;
  const json::value* value = find(line, field);
  if (value == nullptr) return sets;
  if (!value->is_object()) return bad_line(fmt::format("{} is not an object", field));
  for (const auto& member : value->get_object()) {
    sets[std::string(member.key())] = TRY(sets_of(member.value()));
  }
  return sets;
}

// Policy and version are the caller's business.
Result<Checkpoint> content_of(const json::object& line) {
  return Checkpoint{.default_set = TRY(text_of(line, "defaultCpuSet")),
                    .entries = TRY(container_sets_of(line, "entries")),
                    .promised = TRY(container_sets_of(line, "baselines")),
                    .pod_entries = TRY(pod_sets_of(line, "podEntries"))};
}

Result<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return bad_line("bytesBase64 is not base64");
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU);
  }
  return bytes;
}

Result<std::string> bytes_of(const json::object& line) {
  const std::string text = TRY(text_of(line, "bytesBase64"));
  return from_base64(text);
}

Result<Version> version_of(const json::object& line) {
  const std::string name = TRY(text_of(line, "version"));
  if (name == "v2") return Version::kV2;
  if (name == "v3") return Version::kKubeletV3;
  if (name == "v4") return Version::kV4;
  return bad_line(fmt::format("version {:?} is unknown", name));
}

Result<CheckpointGates> gates_of(const json::object& line) {
  CheckpointGates gates;
  const json::value* list = find(line, "gates");
  if (list == nullptr) return gates;
  if (!list->is_array()) return bad_line("gates is not a list");
  for (const json::value& gate : list->get_array()) {
    if (gate == "PodLevelResourceManagers") {
      gates.pod_level_resource_managers = true;
    } else if (gate == "InPlacePodVerticalScalingExclusiveCPUs") {
      gates.exclusive_cpus = true;
    } else {
      return bad_line("a gate is unknown");
    }
  }
  return gates;
}

// Texts out of Go's JSON decoder and number parser are not compared.
bool is_free_text(std::string_view error) {
  constexpr std::array<std::string_view, 4> kFree{"invalid character", "unexpected end of JSON",
                                                  "cannot unmarshal", "strconv."};
  for (const std::string_view text : kFree) {
    if (error.find(text) != std::string_view::npos) return true;
  }
  return false;
}

// "" for success on either side.
bool errors_agree(std::string_view expected, std::string_view actual) {
  if (is_free_text(expected)) return !actual.empty();
  return expected == actual;
}

Result<Verdict> judge_marshal(const json::object& line) {
  Checkpoint checkpoint = TRY(content_of(line));
  checkpoint.policy = TRY(text_of(line, "policyName"));
  const Version version = TRY(version_of(line));
  const std::string expected = TRY(bytes_of(line));
  const std::string actual = encode_checkpoint(checkpoint, {.version = version});
  if (actual != expected) return Verdict::failed(expected, actual);
  return Verdict::passed();
}

struct DirectLoad {
  std::string_view field;
  Version version;
};

// Loading as one version only: v4Error, v3Error, v2Error.
Result<Verdict> judge_direct(const json::object& line, const std::string& bytes,
                             const CheckpointGates& gates) {
  constexpr std::array<DirectLoad, 3> kLoads{
      {{"v4Error", Version::kV4}, {"v3Error", Version::kKubeletV3}, {"v2Error", Version::kV2}}};
  for (const DirectLoad& load : kLoads) {
    const std::string expected = TRY(text_of(line, load.field));
    const auto checkpoint = decode_checkpoint_as(bytes, load.version, gates);
    const std::string actual = checkpoint ? "" : checkpoint.error().message;
    if (!errors_agree(expected, actual)) {
      return Verdict::failed(fmt::format("{}: {}", load.field, expected),
                             fmt::format("{}: {}", load.field, actual));
    }
  }
  return Verdict::passed();
}

Result<Checkpoint> restore(const std::string& bytes, const std::string& policy,
                           const CheckpointGates& gates) {
  Checkpoint checkpoint = TRY(decode_checkpoint(bytes, gates));
  return restore_checkpoint(std::move(checkpoint), policy, gates);
}

Result<Verdict> judge_restore(const json::object& line) {
  const CheckpointGates gates = TRY(gates_of(line));
  const std::string policy = TRY(text_of(line, "configuredPolicy"));
  Result<Checkpoint> restored = Checkpoint{.version = Version::kV4, .policy = policy};
  if (find(line, "bytes") != nullptr) {  // else there is no file
    const std::string bytes = TRY(bytes_of(line));
    const Verdict direct = TRY(judge_direct(line, bytes, gates));
    if (direct.kind != Verdict::Kind::kPassed) return direct;
    restored = restore(bytes, policy, gates);
  }

  const std::string expected_error = TRY(text_of(line, "error"));
  std::string error;
  if (!restored) {
    error = fmt::format(
        "could not restore state from checkpoint: {}, please drain this node and delete the CPU "
        "manager checkpoint file \"/DIR/cpu_manager_state\" before restarting Kubelet",
        restored.error().message);
  }
  if (!errors_agree(expected_error, error)) return Verdict::failed(expected_error, error);
  if (!restored) return Verdict::passed();

  Checkpoint expected = TRY(content_of(line));
  expected.policy = policy;
  expected.version = restored->version;
  expected.checksum = restored->checksum;
  const std::string file_after = encode_checkpoint(*restored, {.version = Version::kV4});
  const std::string expected_file = TRY(text_of(line, "fileAfter"));
  if (file_after != expected_file) return Verdict::failed(expected_file, file_after);
  if (*restored != expected) {
    return Verdict::failed(encode_checkpoint(expected, {.version = Version::kV4}), file_after);
  }
  return Verdict::passed();
}

}  // namespace

Result<Verdict> judge_checkpoint(const json::object& line, const Machines&) {
  const std::string op = TRY(text_of(line, "op"));
  if (op == "marshal") return judge_marshal(line);
  if (op == "restore") return judge_restore(line);
  return bad_line(fmt::format("op {:?} is unknown", op));
}

}  // namespace corehold::vectors
