// SPDX-License-Identifier: Apache-2.0
#include "kernel/interrupts.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isolation/cpu_mask.h"
#include "kernel/words.h"
#include "sys/file/directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

// "CPU0 CPU2 ...": the CPUs that are online.
std::vector<CpuId> parse_columns(std::string_view line) {
  std::vector<CpuId> columns;
  while (true) {
    const std::string_view word = take_word(line);
    if (word.empty()) return columns;
    const auto number = word.starts_with("CPU") ? number_in<int>(word.substr(3)) : std::nullopt;
    if (!number || !CpuSet::can_hold(*number)) return {};
    columns.push_back(CpuId(*number));
  }
}

std::vector<std::string> split_devices(std::string_view text) {
  std::vector<std::string> devices;
  while (!text.empty()) {
    const std::size_t comma = text.find(", ");
    const std::string_view device = trimmed(text.substr(0, comma));
    if (!device.empty()) devices.emplace_back(device);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 2);
  }
  return devices;
}

// What stands behind the counts of an interrupt of a device:
// "IO-APIC   4-edge      ttyS0", "GICv3  27 Level     arch_timer".
void parse_source(std::string_view text, InterruptRow& row) {
  row.chip = take_word(text);
  std::string_view rest = text;
  const std::string_view type = take_word(rest);
  if (type.empty() || type.front() < '0' || type.front() > '9') {
    row.devices = split_devices(trimmed(text));
    return;
  }
  row.type = type;
  text = rest;
  const std::string_view trigger = take_word(rest);
  if (trigger == "Level" || trigger == "Edge") {
    row.type += fmt::format(" {}", trigger);
    text = rest;
  }
  row.devices = split_devices(trimmed(text));
}

std::optional<InterruptRow> parse_row(std::string_view line, std::size_t columns) {
  const std::string_view label = take_word(line);
  if (label.size() < 2 || label.back() != ':') return std::nullopt;
  InterruptRow row{.label = std::string(label.substr(0, label.size() - 1))};
  row.number = number_in<int>(row.label);
  row.counts.reserve(columns);
  while (row.counts.size() < columns) {
    std::string_view rest = line;
    const auto count = number_in<std::uint64_t>(take_word(rest));
    if (!count) break;
    row.counts.push_back(*count);
    line = rest;
  }
  if (row.counts.empty()) return std::nullopt;
  if (row.number) {
    parse_source(line, row);
  } else {
    row.description = trimmed(line);
  }
  return row;
}

std::optional<CpuSet> read_cpu_list(const std::string& path) {
  const auto text = read_kernel_file(path);
  if (!text) return std::nullopt;
  const auto cpus = CpuSet::parse(*text);
  if (!cpus) return std::nullopt;
  return *cpus;
}

Result<InterruptTable> read_table(const std::string& path) {
  auto table = parse_interrupts(TRY(read_kernel_file(path)));
  if (!table) return wrap(path, table.error());
  return table;
}

}  // namespace

Result<InterruptTable> parse_interrupts(std::string_view text) {
  InterruptTable table{.columns = parse_columns(take_line(text))};
  if (table.columns.empty() || !std::is_sorted(table.columns.begin(), table.columns.end())) {
    return Error{Code::kInvalid, "the first line does not name CPUs"};
  }
  while (!text.empty()) {
    if (auto row = parse_row(take_line(text), table.columns.size())) {
      table.rows.push_back(*std::move(row));
    }
  }
  return table;
}

bool parse_debug_managed(std::string_view text) {
  return text.find("IRQD_AFFINITY_MANAGED") != std::string_view::npos;
}

Result<InterruptTable> read_interrupts(const std::string& proc) {
  return read_table(proc + "/interrupts");
}

Result<InterruptTable> read_softirqs(const std::string& proc) {
  return read_table(proc + "/softirqs");
}

InterruptAffinities read_interrupt_affinities(const InterruptTable& table, const std::string& proc,
                                              const std::string& sys) {
  std::map<int, const InterruptRow*> rows;
  for (const InterruptRow& row : table.rows) {
    if (row.number) rows.emplace(*row.number, &row);
  }
  InterruptAffinities affinities;
  const auto names = entries_of(proc + "/irq");
  if (!names) return affinities;
  for (const std::string& name : *names) {
    const auto number = number_in<int>(name);
    if (!number) continue;
    const std::string directory = fmt::format("{}/irq/{}", proc, name);
    const auto allowed = read_cpu_list(directory + "/smp_affinity_list");
    if (!allowed) continue;
    InterruptAffinity affinity{.allowed = *allowed};
    if (const auto effective = read_cpu_list(directory + "/effective_affinity_list")) {
      affinity.effective = *effective;
    }
    const auto debug = read_kernel_file(fmt::format("{}/kernel/debug/irq/irqs/{}", sys, name));
    if (debug) {
      affinity.managed = parse_debug_managed(*debug) ? Managed::kYes : Managed::kNo;
    } else if (const auto row = rows.find(*number); row != rows.end()) {
      affinity.managed = managed_by_name(row->second->devices);
    }
    affinities.emplace(*number, affinity);
  }
  return affinities;
}

std::optional<CpuSet> read_default_affinity(const std::string& proc) {
  const auto text = read_kernel_file(proc + "/irq/default_smp_affinity");
  if (!text) return std::nullopt;
  const auto cpus = parse_cpu_mask(*text);
  if (!cpus) return std::nullopt;
  return *cpus;
}

}  // namespace corehold
