// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint and State to bytes, in the field order and with the escapes of Go.
#include <charconv>
#include <iterator>

#include "gotext/go_json_writer.h"
#include "state/checkpoint.h"
#include "state/checkpoint_checksum.h"

namespace corehold {
namespace {

// Everything a version may write.
struct Content {
  std::string_view policy;
  std::string_view default_set;
  SetTable entries{};
  SetTable promised{};
  PodSetTable pod_entries{};
};

SetTable table_of(const SetsByPod& sets) {
  SetTable table;
  table.pods.reserve(sets.size());
  for (const auto& [pod, containers] : sets) {
    table.pods.push_back(
        {.pod = pod, .first = table.rows.size(), .count = containers.size(), .is_nil = false});
    for (const auto& [name, set] : containers) table.rows.push_back({.key = name, .set = set});
  }
  return table;
}

// What stands around the set of a container.
struct Around {
  std::string_view before;
  std::string_view after;
};
constexpr Around kPlainSet{.before = ":", .after = ""};
constexpr Around kBaseline{.before = ":{\"baseline\":", .after = "}"};

void append_table(GoJsonWriter& out, const SetTable& table, const Around& around) {
  out.raw("{");
  for (const PodRow& pod : table.pods) {
    if (&pod != table.pods.data()) out.raw(",");
    out.text(pod.pod);
    out.raw(":{");
    for (std::size_t i = 0; i < pod.count; ++i) {
      const SetRow& row = table.rows[pod.first + i];
      if (i > 0) out.raw(",");
      out.text(row.key);
      out.raw(around.before);
      out.text(row.set);
      out.raw(around.after);
    }
    out.raw("}");
  }
  out.raw("}");
}

void append_pod_entries(GoJsonWriter& out, const PodSetTable& table) {
  out.raw("{");
  for (const PodSetRow& row : table.pods) {
    if (&row != table.pods.data()) out.raw(",");
    out.text(row.pod);
    out.raw(":{");
    if (!row.set.empty()) {
      out.raw("\"cpuSet\":");
      out.text(row.set);
    }
    out.raw("}");
  }
  out.raw("}");
}

void append_number(GoJsonWriter& out, std::uint32_t number) {
  char digits[12];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), number);
  out.raw({digits, static_cast<std::size_t>(written.ptr - digits)});
}

// The fields every version begins with; the brace stays open.
void append_head(GoJsonWriter& out, const Content& content) {
  out.raw("{\"policyName\":");
  out.text(content.policy);
  out.raw(",\"defaultCpuSet\":");
  out.text(content.default_set);
  if (!content.entries.empty()) {
    out.raw(",\"entries\":");
    append_table(out, content.entries, kPlainSet);
  }
}

void append_pod_entries_field(GoJsonWriter& out, const Content& content) {
  if (content.pod_entries.pods.empty()) return;
  out.raw(",\"podEntries\":");
  append_pod_entries(out, content.pod_entries);
}

// v4's `data`. It begins like the checkpoint around it, so `head` is taken over.
GoJsonWriter data_of(const Content& content, std::string_view head, std::size_t size_hint) {
  GoJsonWriter data(size_hint);
  data.raw(head);
  append_pod_entries_field(data, content);
  if (!content.promised.empty()) {
    data.raw(",\"baselines\":");
    append_table(data, content.promised, kBaseline);
  }
  data.raw("}");
  return data;
}

// Bytes of the rows with their punctuation, so that the output grows once.
std::size_t size_hint_of(const SetTable& table) {
  std::size_t size = 64;
  for (const PodRow& pod : table.pods) size += pod.pod.size() + 8;
  for (const SetRow& row : table.rows) size += row.key.size() + row.set.size() + 24;
  return size;
}

std::string encode(const Content& content, CheckpointVersion version) {
  CHECK(version != CheckpointVersion::kV1);
  Preimage preimage{
      .policy = content.policy, .default_set = content.default_set, .entries = &content.entries};
  if (version == CheckpointVersion::kV3) preimage.promised = &content.promised;
  if (version == CheckpointVersion::kKubeletV3) preimage.pod_entries = &content.pod_entries;

  const std::size_t size_hint =
      content.default_set.size() + size_hint_of(content.entries) + size_hint_of(content.promised);
  GoJsonWriter out(version == CheckpointVersion::kV4 ? 3 * size_hint : size_hint);
  append_head(out, content);
  if (version == CheckpointVersion::kV4) {
    const GoJsonWriter data = data_of(content, out.view(), size_hint);
    const ChecksumPair checksums = checksums_of(preimage, data.view());
    out.raw(",\"checksum\":");
    append_number(out, checksums.checksum);
    out.raw(",\"data\":");
    out.json_as_text(data.view());
    out.raw(",\"dataChecksum\":");
    append_number(out, checksums.data_checksum);
  } else {
    if (version == CheckpointVersion::kV3 && !content.promised.empty()) {
      out.raw(",\"promised\":");
      append_table(out, content.promised, kPlainSet);
    }
    if (version == CheckpointVersion::kKubeletV3) append_pod_entries_field(out, content);
    out.raw(",\"checksum\":");
    append_number(out, checksum_of(preimage));
  }
  out.raw("}");
  return out.str();
}

// The texts of many sets in one buffer.
class TextArena {
 public:
  explicit TextArena(std::size_t count) { ends_.reserve(count); }

  void add(const CpuSet& set) {
    set.append_to(text_);
    ends_.push_back(text_.size());
  }
  // Valid once everything is added.
  std::string_view operator[](std::size_t i) const {
    const std::size_t from = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(from, ends_[i] - from);
  }

 private:
  std::string text_{};
  std::vector<std::size_t> ends_{};
};

}  // namespace

std::string encode_checkpoint(const Checkpoint& checkpoint, const CheckpointFormat& format) {
  Content content{.policy = checkpoint.policy,
                  .default_set = checkpoint.default_set,
                  .entries = table_of(checkpoint.entries)};
  if (!format.without_baselines || format.version == CheckpointVersion::kV3) {
    content.promised = table_of(checkpoint.promised);
  }
  for (const auto& [pod, set] : checkpoint.pod_entries) {
    auto cpus = parse_list(set);
    content.pod_entries.pods.push_back(
        {.pod = pod, .set = set, .cpus = cpus ? *std::move(cpus) : std::vector<NumberRange>{}});
  }
  return encode(content, format.version);
}

std::string encode_checkpoint(const State& state, const CheckpointFormat& format) {
  std::size_t count = 0;
  for (const auto& [pod, containers] : state.pods) count += containers.size();
  const std::string default_set = state.shared.str();
  Content content{.policy = state.policy, .default_set = default_set};
  SetTable& entries = content.entries;
  entries.pods.reserve(state.pods.size());
  entries.rows.reserve(count);
  const bool has_promised = format.version == CheckpointVersion::kV3 ||
                            (format.version == CheckpointVersion::kV4 && !format.without_baselines);
  TextArena assigned(count);
  TextArena promised(has_promised ? count : 0);
  for (const auto& [pod, containers] : state.pods) {
    entries.pods.push_back(
        {.pod = pod, .first = entries.rows.size(), .count = containers.size(), .is_nil = false});
    for (const auto& [name, holding] : containers) {
      entries.rows.push_back({.key = name, .set = {}});
      assigned.add(holding.assigned);
      if (has_promised) promised.add(holding.promised);
    }
  }
  for (std::size_t row = 0; row < count; ++row) entries.rows[row].set = assigned[row];
  if (has_promised) {
    content.promised = entries;
    for (std::size_t row = 0; row < count; ++row) content.promised.rows[row].set = promised[row];
  }
  return encode(content, format.version);
}

}  // namespace corehold
