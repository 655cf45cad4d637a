// SPDX-License-Identifier: Apache-2.0
//
// Amounts of memory by kind, in either document.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "config/draft.h"
#include "config/list_fields.h"
#include "config/words.h"
#include "hints/memory.h"

namespace corehold {
namespace {

// One item of `memory`: a NUMA node and its amounts side by side.
struct MachineMemory {
  int node = -1;
  NodeMemory amounts{};
};

// Stands for huge pages of any size.
constexpr std::string_view kHugePages = "hugepages-<size>";

void read_amount(const std::string& name, const Node& node, MachineMemory& into, Reading& reading) {
  if (const auto bytes = bytes_of(node, reading)) into.amounts[name] = *bytes;
}

constexpr std::array kMachineMemoryFields{
    plain_field<MachineMemory>(
        {.name = "numaNode",
         .type = "number",
         .meaning = "the NUMA node",
         .default_text = "required"},
        [](auto& memory) -> auto& { return memory.node; },
        [](const Node& node, int& into, Reading& reading) { read_numa_node(node, into, reading); }),
    free_field<MachineMemory>({.name = "memory",
                               .type = "amount",
                               .meaning = "its memory, without what huge pages take",
                               .default_text = "none"},
                              [](const Node& node, MachineMemory& into, Reading& reading) {
                                read_amount("memory", node, into, reading);
                              }),
    free_field<MachineMemory>({.name = kHugePages,
                               .type = "amount",
                               .meaning = "its huge pages of that size, as in `hugepages-1Gi: 4Gi`",
                               .default_text = "none"},
                              [](const Node& node, MachineMemory& into, Reading& reading) {
                                const std::size_t dot = node.path().rfind("hugepages-");
                                read_amount(node.path().substr(dot), node, into, reading);
                              }),
};

void read_memory_item(const Node& item, MachineMemory& into, Reading& reading) {
  if (!expect_object(item, reading)) return;
  for (const auto& [name, member] : item.members()) {
    if (member.is_absent()) continue;
    const bool is_huge = name.starts_with("hugepages-");
    const std::string_view row = is_huge ? kHugePages : std::string_view(name);
    const auto* field = std::find_if(kMachineMemoryFields.begin(), kMachineMemoryFields.end(),
                                     [row](const auto& each) { return each.name == row; });
    if (field == kMachineMemoryFields.end() || (is_huge && !has_page_size(name))) {
      constexpr std::array<std::string_view, 4> kKnown{"numaNode", "memory", "hugepages-2Mi",
                                                       "hugepages-1Gi"};
      report_unknown(member, name, kKnown, UnknownField::kMistake, reading);
      continue;
    }
    reading.given(member);
    field->read(member, into, reading);
  }
}

}  // namespace

bool has_page_size(std::string_view name) {
  constexpr std::string_view kHuge = "hugepages-";
  if (!name.starts_with(kHuge)) return true;
  const auto size = Quantity::parse(name.substr(kHuge.size()));
  return size && size->sign() > 0;
}

void read_numa_node(const Node& node, int& into, Reading& reading) {
  if (const auto number = number_of(node, 0, kMaxNodes - 1, reading)) into = *number;
}

void read_node_memory(const Node& node, NodeMemory& into, Reading& reading) {
  if (!expect_object(node, reading)) return;
  for (const auto& [name, member] : node.members()) {
    if (!is_memory(name)) {
      reading.mistake(member, fmt::format("the limit type {:?} is not supported, only [memory "
                                          "hugepages-<HugePageSize>] is accepted",
                                          clipped(name)));
      continue;
    }
    if (!has_page_size(name)) {
      reading.mistake(member, fmt::format("{:?} does not end in the size of a huge page; write it "
                                          "as in hugepages-1Gi",
                                          clipped(name)));
      continue;
    }
    reading.given(member);
    if (const auto bytes = bytes_of(member, reading)) into[name] = *bytes;
  }
}

void read_eviction(const Node& node, Eviction& into, Reading& reading) {
  if (!expect_object(node, reading)) return;
  into.is_given = true;
  for (const auto& [name, member] : node.members()) {
    if (name != "memory.available" || member.is_absent()) continue;
    const auto text = text_of(member, reading);
    if (!text) continue;
    // A kubelet takes these two for "never".
    if (*text == "0%" || *text == "100%") {
      into.bytes = 0;
      continue;
    }
    into.is_share = text->ends_with('%');
    const auto amount = Quantity::parse(into.is_share ? text->substr(0, text->size() - 1) : *text);
    const auto bytes = amount ? amount->scaled(0) : std::nullopt;
    if (!bytes || *bytes < 0) {
      reading.mistake(member, fmt::format("{:?} is not an amount of memory; write it as in "
                                          "\"100Mi\" or \"5%\"",
                                          clipped(*text)));
    } else {
      into.bytes = *bytes;
    }
  }
}

void read_memory(const Node& node, Config& config, Reading& reading) {
  if (!expect_list(node, reading)) return;
  config.memory.emplace();
  for (const Node& item : node.items()) {
    MachineMemory memory;
    const std::size_t before = reading.mistake_count();
    read_memory_item(item, memory, reading);
    if (reading.mistake_count() > before) continue;
    if (memory.node < 0) {
      reading.mistake(item, "numaNode is missing");
      continue;
    }
    config.places.memory.emplace(NodeId(memory.node), item.path());
    if (!config.memory->emplace(NodeId(memory.node), std::move(memory.amounts)).second) {
      reading.mistake(item, fmt::format("NUMA node {} is listed already", memory.node));
    }
  }
}

void describe_memory(const std::string& path, std::vector<FieldLine>& lines) {
  describe_fields<MachineMemory>(kMachineMemoryFields, path + "[].", lines);
}

}  // namespace corehold
