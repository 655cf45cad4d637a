// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_checksum.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>

namespace corehold {
namespace {

constexpr std::string_view kNil = "<nil>";
constexpr std::string_view kDataPrefix = "(string)";

template <typename Sink>
void add_rows(Sink& out, const SetRow* rows, std::size_t count) {
  out.add("map[");
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out.add(' ');
    out.add(rows[i].key);
    out.add(':');
    out.add(rows[i].set);
  }
  out.add(']');
}

template <typename Sink>
void add_table(Sink& out, const SetTable& table) {
  if (table.is_nil) return out.add(kNil);
  out.add("map[");
  for (std::size_t i = 0; i < table.pods.size(); ++i) {
    const PodRow& pod = table.pods[i];
    if (i > 0) out.add(' ');
    out.add(pod.pod);
    out.add(':');
    if (pod.is_nil) {
      out.add(kNil);
    } else {
      add_rows(out, table.rows.data() + pod.first, pod.count);
    }
  }
  out.add(']');
}

template <typename Sink>
void add_number(Sink& out, std::int64_t number) {
  char digits[24];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), number);
  out.add(std::string_view(digits, static_cast<std::size_t>(written.ptr - digits)));
}

template <typename Sink>
void add_pod_sets(Sink& out, const PodSetTable& table) {
  if (table.is_nil) return out.add(kNil);
  out.add("map[");
  for (std::size_t i = 0; i < table.pods.size(); ++i) {
    if (i > 0) out.add(' ');
    out.add(table.pods[i].pod);
    out.add(":{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[");
    bool is_first = true;
    for (const NumberRange& range : table.pods[i].cpus) {
      for (std::int64_t cpu = range.first; cpu <= range.last; ++cpu) {
        if (!is_first) out.add(' ');
        is_first = false;
        add_number(out, cpu);
        out.add(":{}");
      }
    }
    out.add("]}}");
  }
  out.add(']');
}

// Collects a dump instead of hashing it.
struct TextSink {
  std::string text{};

  void add(char c) { text += c; }
  void add(std::string_view more) { text += more; }
};

template <typename Sink>
void add_preimage(Sink& out, const Preimage& preimage) {
  out.add("(*state.CPUManagerCheckpoint");
  out.add(preimage.type_suffix);
  out.add("){PolicyName:(string)");
  out.add(preimage.policy);
  out.add(" DefaultCPUSet:(string)");
  out.add(preimage.default_set);
  if (preimage.entries != nullptr) {
    out.add(" Entries:(map[string]map[string]string)");
    add_table(out, *preimage.entries);
  }
  if (preimage.by_id != nullptr) {
    out.add(" Entries:(map[string]string)");
    if (preimage.by_id->is_nil) {
      out.add(kNil);
    } else {
      add_rows(out, preimage.by_id->rows.data(), preimage.by_id->rows.size());
    }
  }
  if (preimage.promised != nullptr) {
    out.add(" Promised:(map[string]map[string]string)");
    add_table(out, *preimage.promised);
  }
  if (preimage.pod_entries != nullptr) {
    out.add(" PodEntries:(state.PodCPUAssignments)");
    add_pod_sets(out, *preimage.pod_entries);
  }
  out.add(" Checksum:(checksum.Checksum)0}");
}

}  // namespace

std::uint32_t checksum_of(const Preimage& preimage) {
  Fnv1a hash;
  add_preimage(hash, preimage);
  return hash.value();
}

std::uint32_t data_checksum_of(std::string_view data) {
  Fnv1a hash;
  hash.add(kDataPrefix);
  hash.add(data);
  return hash.value();
}

ChecksumPair checksums_of(const Preimage& preimage, std::string_view data) {
  TextSink dump;
  dump.text.reserve(data.size() + 256);
  add_preimage(dump, preimage);
  Fnv1a hash;
  Fnv1a data_hash;
  data_hash.add(kDataPrefix);
  const std::size_t common = std::min(dump.text.size(), data.size());
  for (std::size_t i = 0; i < common; ++i) {
    hash.add(dump.text[i]);
    data_hash.add(data[i]);
  }
  hash.add(std::string_view(dump.text).substr(common));
  data_hash.add(data.substr(common));
  return {.checksum = hash.value(), .data_checksum = data_hash.value()};
}

}  // namespace corehold
