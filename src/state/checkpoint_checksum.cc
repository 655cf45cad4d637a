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
constexpr std::uint32_t kPrime = 16777619U;
constexpr std::size_t kUsualDump = 16384;

void add_rows(std::string& out, const SetRow* rows, std::size_t count) {
  out += "map[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ' ';
    out += rows[i].key;
    out += ':';
    out += rows[i].set;
  }
  out += ']';
}

void add_table(std::string& out, const SetTable& table) {
  if (table.is_nil) {
    out += kNil;
    return;
  }
  out += "map[";
  for (std::size_t i = 0; i < table.pods.size(); ++i) {
    const PodRow& pod = table.pods[i];
    if (i > 0) out += ' ';
    out += pod.pod;
    out += ':';
    if (pod.is_nil) {
      out += kNil;
    } else {
      add_rows(out, table.rows.data() + pod.first, pod.count);
    }
  }
  out += ']';
}

void add_number(std::string& out, std::int64_t number) {
  char digits[24];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), number);
  out.append(std::begin(digits), written.ptr);
}

void add_pod_sets(std::string& out, const PodSetTable& table) {
  if (table.is_nil) {
    out += kNil;
    return;
  }
  out += "map[";
  for (std::size_t i = 0; i < table.pods.size(); ++i) {
    if (i > 0) out += ' ';
    out += table.pods[i].pod;
    out += ":{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[";
    bool is_first = true;
    for (const NumberRange& range : table.pods[i].cpus) {
      for (std::int64_t cpu = range.first; cpu <= range.last; ++cpu) {
        if (!is_first) out += ' ';
        is_first = false;
        add_number(out, cpu);
        out += ":{}";
      }
    }
    out += "]}}";
  }
  out += ']';
}

void add_preimage(std::string& out, const Preimage& preimage) {
  out += "(*state.CPUManagerCheckpoint";
  out += preimage.type_suffix;
  out += "){PolicyName:(string)";
  out += preimage.policy;
  out += " DefaultCPUSet:(string)";
  out += preimage.default_set;
  if (preimage.entries != nullptr) {
    out += " Entries:(map[string]map[string]string)";
    add_table(out, *preimage.entries);
  }
  if (preimage.by_id != nullptr) {
    out += " Entries:(map[string]string)";
    if (preimage.by_id->is_nil) {
      out += kNil;
    } else {
      add_rows(out, preimage.by_id->rows.data(), preimage.by_id->rows.size());
    }
  }
  if (preimage.promised != nullptr) {
    out += " Promised:(map[string]map[string]string)";
    add_table(out, *preimage.promised);
  }
  if (preimage.pod_entries != nullptr) {
    out += " PodEntries:(state.PodCPUAssignments)";
    add_pod_sets(out, *preimage.pod_entries);
  }
  out += " Checksum:(checksum.Checksum)0}";
}

std::string dump(const Preimage& preimage) {
  std::string text;
  text.reserve(kUsualDump);
  add_preimage(text, preimage);
  return text;
}

std::uint32_t step(std::uint32_t hash, char c) {
  return (hash ^ static_cast<unsigned char>(c)) * kPrime;
}

}  // namespace

std::uint32_t fnv1a(std::string_view text, std::uint32_t hash) {
  for (const char c : text) hash = step(hash, c);
  return hash;
}

std::uint32_t checksum_of(const Preimage& preimage) { return fnv1a(dump(preimage)); }

std::uint32_t data_checksum_of(std::string_view data) { return fnv1a(data, fnv1a(kDataPrefix)); }

ChecksumPair checksums_of(const Preimage& preimage, std::string_view data) {
  const std::string text = dump(preimage);
  const std::size_t common = std::min(text.size(), data.size());
  std::uint32_t hash = kFnvBasis;
  std::uint32_t data_hash = fnv1a(kDataPrefix);
  for (std::size_t i = 0; i < common; ++i) {
    hash = step(hash, text[i]);
    data_hash = step(data_hash, data[i]);
  }
  return {.checksum = fnv1a(std::string_view(text).substr(common), hash),
          .data_checksum = fnv1a(data.substr(common), data_hash)};
}

}  // namespace corehold
