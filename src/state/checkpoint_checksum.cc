// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_checksum.h"

#include <charconv>
#include <iterator>

namespace corehold {
namespace {

constexpr std::string_view kNil = "<nil>";

void add_rows(Fnv1a& hash, const SetRow* rows, std::size_t count) {
  hash.add("map[");
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) hash.add(' ');
    hash.add(rows[i].key);
    hash.add(':');
    hash.add(rows[i].set);
  }
  hash.add(']');
}

void add_table(Fnv1a& hash, const SetTable& table) {
  if (table.is_nil) return hash.add(kNil);
  hash.add("map[");
  for (std::size_t i = 0; i < table.pods.size(); ++i) {
    const PodRow& pod = table.pods[i];
    if (i > 0) hash.add(' ');
    hash.add(pod.pod);
    hash.add(':');
    if (pod.is_nil) {
      hash.add(kNil);
    } else {
      add_rows(hash, table.rows.data() + pod.first, pod.count);
    }
  }
  hash.add(']');
}

void add_number(Fnv1a& hash, std::int64_t number) {
  char digits[24];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), number);
  hash.add(std::string_view(digits, static_cast<std::size_t>(written.ptr - digits)));
}

void add_pod_sets(Fnv1a& hash, const PodSetTable& table) {
  if (table.is_nil) return hash.add(kNil);
  hash.add("map[");
  for (std::size_t i = 0; i < table.pods.size(); ++i) {
    if (i > 0) hash.add(' ');
    hash.add(table.pods[i].pod);
    hash.add(":{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[");
    bool is_first = true;
    for (const NumberRange& range : table.pods[i].cpus) {
      for (std::int64_t cpu = range.first; cpu <= range.last; ++cpu) {
        if (!is_first) hash.add(' ');
        is_first = false;
        add_number(hash, cpu);
        hash.add(":{}");
      }
    }
    hash.add("]}}");
  }
  hash.add(']');
}

}  // namespace

std::uint32_t checksum_of(const Preimage& preimage) {
  Fnv1a hash;
  hash.add("(*state.CPUManagerCheckpoint");
  hash.add(preimage.type_suffix);
  hash.add("){PolicyName:(string)");
  hash.add(preimage.policy);
  hash.add(" DefaultCPUSet:(string)");
  hash.add(preimage.default_set);
  if (preimage.entries != nullptr) {
    hash.add(" Entries:(map[string]map[string]string)");
    add_table(hash, *preimage.entries);
  }
  if (preimage.by_id != nullptr) {
    hash.add(" Entries:(map[string]string)");
    if (preimage.by_id->is_nil) {
      hash.add(kNil);
    } else {
      add_rows(hash, preimage.by_id->rows.data(), preimage.by_id->rows.size());
    }
  }
  if (preimage.promised != nullptr) {
    hash.add(" Promised:(map[string]map[string]string)");
    add_table(hash, *preimage.promised);
  }
  if (preimage.pod_entries != nullptr) {
    hash.add(" PodEntries:(state.PodCPUAssignments)");
    add_pod_sets(hash, *preimage.pod_entries);
  }
  hash.add(" Checksum:(checksum.Checksum)0}");
  return hash.value();
}

std::uint32_t data_checksum_of(std::string_view data) {
  Fnv1a hash;
  hash.add("(string)");
  hash.add(data);
  return hash.value();
}

}  // namespace corehold
