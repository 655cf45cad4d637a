// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/cpu_grid.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/text_table.h"

namespace corehold {
namespace {

// r, s and x mean something else.
constexpr std::string_view kKeys = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqtuvwyz";
constexpr char kNoKey = '#';
constexpr char kReservedLetter = 'r';
constexpr char kSharedLetter = '.';
constexpr char kKeptLetter = 's';
constexpr char kOfflineLetter = 'x';
constexpr char kPromisedLetter = ' ';
constexpr char kGrown = '+';
constexpr char kLeaving = '-';

// So many CPUs fit beside the names in a terminal of 100 columns, cores of two CPUs each.
constexpr std::size_t kLineWidth = 64;

struct Part {
  std::array<int, 3> place{};  // NUMA node, socket, L3 cache
  CpuSet cpus{};
  std::vector<std::string> cores{};
  std::vector<std::string> marks{};  // as long as the cores
};

// The cores, or their marks, in as many lines as it takes.
std::vector<std::string> wrapped(const std::vector<std::string>& cores) {
  std::vector<std::string> lines{""};
  for (const std::string& core : cores) {
    std::string& last = lines.back();
    if (!last.empty() && last.size() + 1 + core.size() > kLineWidth) {
      lines.push_back(core);
    } else {
      last += (last.empty() ? "" : " ") + core;
    }
  }
  return lines;
}

}  // namespace

CpuGrid::CpuGrid(const CpuMap& map) : map_(map) {
  std::vector<const CpuHolder*> holders;
  holders.reserve(map.containers.size());
  for (const CpuHolder& holder : map.containers) holders.push_back(&holder);
  std::sort(holders.begin(), holders.end(), [](const CpuHolder* a, const CpuHolder* b) {
    return std::tie(a->namespace_name, a->pod, a->container, a->uid) <
           std::tie(b->namespace_name, b->pod, b->container, b->uid);
  });
  std::size_t next = 0;
  for (const CpuHolder* holder : holders) {
    const char key = next < kKeys.size() ? kKeys[next++] : kNoKey;
    keys_[{holder->uid, holder->container}] = key;
    for (const CpuId cpu : holder->assigned) held_[cpu] = key;
    leaving_ |= holder->leaving();
    grown_ |= holder->grown() - holder->leaving();
  }
}

char CpuGrid::key_of(const CpuHolder& holder) const {
  const auto found = keys_.find({holder.uid, holder.container});
  return found == keys_.end() ? kNoKey : found->second;
}

char CpuGrid::sign_of(CpuId cpu) const {
  if (map_.offline.contains(cpu)) return kOfflineLetter;
  if (const auto held = held_.find(cpu); held != held_.end()) return held->second;
  if (map_.reserved.contains(cpu)) return kReservedLetter;
  if (map_.free.contains(cpu)) return kSharedLetter;
  return map_.shared.contains(cpu) ? kKeptLetter : kNoKey;
}

char CpuGrid::mark_of(CpuId cpu) const {
  if (leaving_.contains(cpu)) return kLeaving;
  return grown_.contains(cpu) ? kGrown : kPromisedLetter;
}

std::string CpuGrid::render() const {
  const Topology& topology = map_.topology;
  std::vector<Part> parts;
  std::string signs;
  for (const Core& core : topology.cores()) {
    const std::array<int, 3> place{
        topology.node(core.node).id.value, topology.socket(core.socket).id.value,
        topology.is_l3(core.uncore) ? topology.uncore(core.uncore).id.value : -1};
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.place == place; });
    Part& part = found == parts.end() ? parts.emplace_back(Part{.place = place}) : *found;
    std::string text;
    std::string marks;
    for (const CpuId cpu : core.cpus) {
      part.cpus |= CpuSet{cpu};
      text += sign_of(cpu);
      marks += mark_of(cpu);
    }
    signs += text + marks;
    part.cores.push_back(std::move(text));
    part.marks.push_back(std::move(marks));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.place < b.place; });
  std::vector<Row> rows{{"NUMA", "SOCKET", "L3", "CPUS", "WHO"}};
  for (const Part& part : parts) {
    Row names{fmt::to_string(part.place[0]), fmt::to_string(part.place[1]),
              part.place[2] < 0 ? "-" : fmt::to_string(part.place[2]), part.cpus.str()};
    const std::vector<std::string> marks = wrapped(part.marks);
    std::size_t at = 0;
    for (const std::string& line : wrapped(part.cores)) {
      names.push_back(line);
      rows.push_back(std::exchange(names, Row(4)));
      const std::string& below = marks[at++];
      if (below.find_first_not_of(' ') == std::string::npos) continue;
      rows.push_back({"", "", "", "", below});
    }
  }
  std::vector<std::string> meanings;
  const auto explain = [&](char sign, std::string_view meaning) {
    if (signs.find(sign) != std::string::npos)
      meanings.push_back(fmt::format("{} {}", sign, meaning));
  };
  explain(kReservedLetter, "reserved");
  explain(kSharedLetter, "shared and free to give");
  explain(kKeptLetter, "shared, not to give");
  explain(kOfflineLetter, "offline");
  explain(kNoKey, "held by others");
  explain(kGrown, "below: grown beyond what was promised");
  explain(kLeaving, "below: leaving, to be given up");
  std::string text = align(rows, rows.front().size());
  if (!meanings.empty()) text += fmt::format("{}\n", fmt::join(meanings, ", "));
  return text;
}

}  // namespace corehold
