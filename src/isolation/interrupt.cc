// SPDX-License-Identifier: Apache-2.0
#include "isolation/interrupt.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace corehold {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes `word` from the beginning of `text`.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// Takes the digits at the beginning of `text`.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// "nvme0q1", and not "nvme0q0", which is for commands to the controller.
bool is_nvme_queue(std::string_view name) {
  if (!take(name, "nvme") || take_digits(name).empty() || !take(name, "q")) return false;
  const std::string_view queue = take_digits(name);
  return name.empty() && !queue.empty() && queue != "0";
}

// "virtio1-req.0": a queue of a virtio disk.
bool is_virtio_disk_queue(std::string_view name) {
  if (!take(name, "virtio") || take_digits(name).empty() || !take(name, "-req.")) return false;
  return !take_digits(name).empty() && name.empty();
}

}  // namespace

std::uint64_t InterruptTable::count(const InterruptRow& row, CpuId cpu) const {
  const auto column = std::lower_bound(columns.begin(), columns.end(), cpu);
  if (column == columns.end() || *column != cpu) return 0;
  const auto index = static_cast<std::size_t>(column - columns.begin());
  return index < row.counts.size() ? row.counts[index] : 0;
}

const InterruptRow* InterruptTable::find(const std::string& label) const {
  const auto row = std::find_if(rows.begin(), rows.end(), [&label](const InterruptRow& candidate) {
    return candidate.label == label;
  });
  return row == rows.end() ? nullptr : &*row;
}

Managed managed_by_name(const std::vector<std::string>& devices) {
  const bool is_queue = std::any_of(devices.begin(), devices.end(), [](const std::string& name) {
    return is_nvme_queue(name) || is_virtio_disk_queue(name);
  });
  return is_queue ? Managed::kByName : Managed::kNo;
}

}  // namespace corehold
