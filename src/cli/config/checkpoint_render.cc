// SPDX-License-Identifier: Apache-2.0
#include "cli/config/checkpoint_render.h"

#include <algorithm>
#include <array>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cpuset/list_format.h"
#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

namespace json = boost::json;

using CheckpointRow = std::array<std::string, 4>;

std::string_view checksum_state(const Checkpoint& checkpoint) {
  return checkpoint.checksum == 0 ? "absent" : "matches";
}

// What a terminal must not interpret is escaped; nothing is shown as "-".
std::string shown(const std::string& text) {
  if (text.empty()) return "-";
  std::string quoted = go_quoted(text);
  if (quoted.size() == text.size() + 2) return text;
  return quoted;
}

std::string counted_set(const std::string& set) {
  const auto ranges = parse_list(set);
  if (!ranges) return shown(set) + ", not a CPU list";
  std::uint64_t count = 0;
  for (const NumberRange& range : *ranges) {
    count += static_cast<std::uint64_t>(range.last - range.first) + 1;
  }
  return fmt::format("{}  {} {}", shown(set), count, count == 1 ? "CPU" : "CPUs");
}

const std::string* promised_of(const Checkpoint& checkpoint, const std::string& pod,
                               const std::string& container) {
  const auto containers = checkpoint.promised.find(pod);
  if (containers == checkpoint.promised.end()) return nullptr;
  const auto set = containers->second.find(container);
  return set == containers->second.end() ? nullptr : &set->second;
}

std::vector<CheckpointRow> rows_of(const Checkpoint& checkpoint) {
  std::vector<CheckpointRow> rows{{"POD", "CONTAINER", "ASSIGNED", "PROMISED"}};
  for (const auto& [pod, containers] : checkpoint.entries) {
    for (const auto& [name, set] : containers) {
      const std::string* promised = promised_of(checkpoint, pod, name);
      rows.push_back({shown(pod), shown(name), shown(set), promised ? shown(*promised) : "-"});
    }
  }
  for (const auto& [pod, set] : checkpoint.pod_entries) {
    rows.push_back({shown(pod), "(whole pod)", shown(set), "-"});
  }
  for (const auto& [id, set] : checkpoint.by_id) {
    rows.push_back({"-", "id " + shown(id), shown(set), "-"});
  }
  return rows;
}

std::string aligned(const std::vector<CheckpointRow>& rows) {
  std::array<std::size_t, 4> widths{};
  for (const CheckpointRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const CheckpointRow& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1],
                        row[2], widths[2], row[3]);
  }
  return text;
}

std::size_t container_count(const Checkpoint& checkpoint) {
  std::size_t count = checkpoint.by_id.size();
  for (const auto& [pod, containers] : checkpoint.entries) count += containers.size();
  return count;
}

}  // namespace

std::string render_checkpoint_table(const Checkpoint& checkpoint) {
  const bool is_zero = checkpoint.checksum == 0;
  std::string text = fmt::format(
      "version   {}\npolicy    {}\ndefault   {}\nchecksum  {}\n", name_of(checkpoint.version),
      shown(checkpoint.policy), counted_set(checkpoint.default_set),
      is_zero ? "0, so not verified" : fmt::format("{}, matches", checkpoint.checksum));
  const std::vector<CheckpointRow> rows = rows_of(checkpoint);
  if (rows.size() > 1) text += "\n" + aligned(rows);
  return text;
}

std::string render_checkpoint_json(const Checkpoint& checkpoint) {
  json::array containers;
  for (const auto& [pod, sets] : checkpoint.entries) {
    for (const auto& [name, set] : sets) {
      json::object container{{"podUID", pod}, {"container", name}, {"assigned", set}};
      const std::string* promised = promised_of(checkpoint, pod, name);
      if (promised != nullptr) container["promised"] = *promised;
      containers.push_back(std::move(container));
    }
  }
  for (const auto& [id, set] : checkpoint.by_id) {
    containers.push_back(json::object{{"containerID", id}, {"assigned", set}});
  }
  json::object root{{"version", name_of(checkpoint.version)},
                    {"policyName", checkpoint.policy},
                    {"defaultCpuSet", checkpoint.default_set},
                    {"containers", std::move(containers)}};
  if (!checkpoint.pod_entries.empty()) {
    json::object pods;
    for (const auto& [pod, set] : checkpoint.pod_entries) pods[pod] = set;
    root["podEntries"] = std::move(pods);
  }
  root["checksum"] = checkpoint.checksum;
  root["checksumState"] = checksum_state(checkpoint);
  return json::serialize(root) + "\n";
}

std::string summarize(const Checkpoint& checkpoint) {
  const std::size_t count = container_count(checkpoint);
  return fmt::format("read as {}, policy {}, {} {}, checksum {} {}", name_of(checkpoint.version),
                     shown(checkpoint.policy), count, count == 1 ? "container" : "containers",
                     checkpoint.checksum, checksum_state(checkpoint));
}

}  // namespace corehold
