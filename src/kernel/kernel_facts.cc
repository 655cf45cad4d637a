// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_facts.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include <fmt/format.h>

#include "kernel/words.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

std::string read_or_empty(const std::string& path) {
  auto text = read_kernel_file(path);
  return text ? *std::move(text) : std::string();
}

// Takes a number, or "N" for the last CPU, from the beginning of `text`.
std::optional<int> take_cpu(std::string_view& text, CpuId last) {
  if (text.starts_with('N')) {
    text.remove_prefix(1);
    return last.value;
  }
  std::size_t end = 0;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  const auto number = number_in<int>(text.substr(0, end));
  text.remove_prefix(end);
  return number;
}

// One item: "3", "3-9", "3-N", "0-15:2/4". Anything else adds nothing.
void add_boot_item(std::string_view item, CpuId last, CpuSet& cpus) {
  if (item == "all") {
    cpus.insert_range(CpuId(0), last);
    return;
  }
  const auto first = take_cpu(item, last);
  if (!first) return;
  auto end = first;
  if (item.starts_with('-')) {
    item.remove_prefix(1);
    end = take_cpu(item, last);
  }
  int used = 1;
  int group = 1;
  if (item.starts_with(':')) {
    item.remove_prefix(1);
    const std::size_t slash = item.find('/');
    if (slash == std::string_view::npos) return;
    const auto used_read = number_in<int>(item.substr(0, slash));
    const auto group_read = number_in<int>(item.substr(slash + 1));
    if (!used_read || !group_read || *group_read < 1) return;
    used = *used_read;
    group = *group_read;
    item = {};
  }
  if (!end || !item.empty()) return;
  for (int cpu = *first; cpu <= std::min(*end, last.value); ++cpu) {
    if ((cpu - *first) % group < used) cpus.insert(CpuId(cpu));
  }
}

}  // namespace

std::pair<int, int> parse_kernel_release(std::string_view release) {
  const std::size_t dot = release.find('.');
  if (dot == std::string_view::npos) return {0, 0};
  const auto major = number_in<int>(release.substr(0, dot));
  std::string_view rest = release.substr(dot + 1);
  std::size_t end = 0;
  while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9') ++end;
  const auto minor = number_in<int>(rest.substr(0, end));
  if (!major || !minor) return {0, 0};
  return {*major, *minor};
}

std::optional<std::string> boot_parameter(std::string_view command_line, std::string_view name) {
  std::optional<std::string> value;
  while (true) {
    const std::string_view word = take_word(command_line);
    if (word.empty() || word == "--") return value;
    if (!word.starts_with(name)) continue;
    const std::string_view rest = word.substr(name.size());
    if (rest.empty()) value = "";
    if (rest.starts_with('=')) value = std::string(rest.substr(1));
  }
}

CpuSet parse_boot_cpus(std::string_view text, CpuId last) {
  CpuSet cpus;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    add_boot_item(text.substr(0, comma), last, cpus);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return cpus;
}

CpuSet parse_sys_cpus(std::string_view text) {
  const auto cpus = CpuSet::parse(trimmed(text));
  return cpus ? *cpus : CpuSet();
}

Result<KernelFacts> read_kernel_facts(const std::string& proc, const std::string& sys) {
  KernelFacts facts;
  facts.release = TRY(read_kernel_file(proc + "/sys/kernel/osrelease"));
  std::tie(facts.major, facts.minor) = parse_kernel_release(facts.release);
  facts.boot_id = read_or_empty(proc + "/sys/kernel/random/boot_id");
  const std::string cpus = sys + "/devices/system/cpu";
  auto online = CpuSet::parse(TRY(read_kernel_file(cpus + "/online")));
  if (!online) return wrap(cpus + "/online", online.error());
  if (online->empty()) return Error{Code::kInvalid, cpus + "/online: names no CPU"};
  facts.online = *online;
  facts.isolated = parse_sys_cpus(read_or_empty(cpus + "/isolated"));
  facts.nohz_full = parse_sys_cpus(read_or_empty(cpus + "/nohz_full"));
  const CpuSet possible = parse_sys_cpus(read_or_empty(cpus + "/possible")) | facts.online;
  const std::string command_line = read_or_empty(proc + "/cmdline");
  if (const auto list = boot_parameter(command_line, "rcu_nocbs")) {
    facts.rcu_nocbs = parse_boot_cpus(*list, possible.last());
  }
  facts.rcu_nocbs |= facts.nohz_full;
  if (const auto list = boot_parameter(command_line, "isolcpus")) {
    facts.isolcpus = parse_boot_cpus(*list, possible.last());
  }
  for (const CpuId cpu : facts.online) {
    const std::string topology = fmt::format("{}/cpu{}/topology", cpus, cpu.value);
    CpuSet siblings = parse_sys_cpus(read_or_empty(topology + "/thread_siblings_list"));
    siblings.insert(cpu);
    facts.smt_siblings.emplace(cpu, siblings);
  }
  return facts;
}

}  // namespace corehold
