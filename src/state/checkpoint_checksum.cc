// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_checksum.h"

#include <algorithm>
#include <charconv>
#include <iterator>

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

// Hashes a dump and, in step with it, another text.
class PairHash {
 public:
  PairHash(Fnv1a other, std::string_view other_text) : other_(other), other_text_(other_text) {}

  void add(char c) { add(std::string_view(&c, 1)); }
  void add(std::string_view text) {
    const std::size_t common = std::min(text.size(), other_text_.size());
    for (std::size_t i = 0; i < common; ++i) {
      hash_.add(text[i]);
      other_.add(other_text_[i]);
    }
    hash_.add(text.substr(common));
    other_text_.remove_prefix(common);
  }

  ChecksumPair finish() {
    other_.add(other_text_);
    return {.checksum = hash_.value(), .data_checksum = other_.value()};
  }

 private:
  Fnv1a hash_{};
  Fnv1a other_;
  std::string_view other_text_;
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
  Fnv1a data_hash;
  data_hash.add(kDataPrefix);
  PairHash hashes(data_hash, data);
  add_preimage(hashes, preimage);
  return hashes.finish();
}

}  // namespace corehold
