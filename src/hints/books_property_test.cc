// SPDX-License-Identifier: Apache-2.0
//
// Random machines, bookings and requests: the hints of memory and devices are those that
// the kubelet finds by trying every set of NUMA nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hints/devices.h"
#include "hints/family.h"
#include "hints/memory.h"
#include "pod/testing.h"

namespace corehold {
namespace {

int chance(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
bool flip() { return chance(0, 1) == 1; }

NodeSet set_of(unsigned mask) {
  NodeSet set;
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1U) != 0) set.insert(NodeId(i));
  }
  return set;
}

std::int64_t sum(const MemoryBook& book, const NodeSet& nodes, NodeMemory MemoryNode::*kind,
                 const std::string& resource) {
  std::int64_t total = 0;
  for (const NodeId id : nodes) {
    const NodeMemory& memory = book.nodes().at(id).*kind;
    const auto found = memory.find(resource);
    total += found == memory.end() ? 0 : found->second;
  }
  return total;
}

bool may_serve(const MemoryBook& book, const NodeSet& nodes) {
  if (nodes.size() == 1) return book.nodes().at(nodes.first()).group.size() == 1;
  for (const NodeId id : nodes) {
    const MemoryNode& node = book.nodes().at(id);
    if (node.assignments > 0 && (node.group.size() == 1 || node.group != nodes)) return false;
  }
  return true;
}

// By trying every set: its hints, each with its mask. `left`: what an init container of
// the pod leaves.
std::map<unsigned, bool> memory_reference(const MemoryBook& book, const NodeMemory& request,
                                          const MemoryHolding& left) {
  const auto count = static_cast<int>(book.nodes().size());
  int fewest = count;
  std::vector<unsigned> found;
  for (unsigned mask = 1; mask < (1U << count); ++mask) {
    const NodeSet nodes = set_of(mask);
    bool possible = true;
    bool fits = may_serve(book, nodes);
    for (const auto& [resource, bytes] : request) {
      const auto more = left.bytes.find(resource);
      const std::int64_t reused =
          left.nodes == nodes && more != left.bytes.end() ? more->second : 0;
      possible = possible && sum(book, nodes, &MemoryNode::allocatable, resource) >= bytes;
      fits = fits && sum(book, nodes, &MemoryNode::free, resource) + reused >= bytes;
    }
    if (possible) fewest = std::min(fewest, nodes.size());
    if (possible && fits) found.push_back(mask);
  }
  std::map<unsigned, bool> hints;
  for (const unsigned mask : found) hints[mask] = set_of(mask).size() == fewest;
  return hints;
}

std::string random_container(const char* name, int most) {
  std::string text = fmt::format("{} cpu=1 memory={}", name, chance(1, most));
  if (chance(0, 2) == 0) text += fmt::format(" hugepages-2Mi={}", chance(0, most));
  return text;
}

std::optional<Hint> random_hint(int nodes) {
  if (flip()) return std::nullopt;
  return Hint{.nodes = set_of(static_cast<unsigned>(chance(1, (1 << nodes) - 1))),
              .preferred = chance(0, 3) == 0};
}

RC_GTEST_PROP(MemoryProperty, HintsAreThoseOfTryingEverySet, ()) {
  const int count = chance(1, 5);
  MemoryInventory inventory;
  for (int i = 0; i < count; ++i) {
    inventory[NodeId(i)]["memory"] = chance(0, 12);
    if (flip()) inventory[NodeId(i)]["hugepages-2Mi"] = chance(0, 12);
  }
  auto book = *MemoryBook::make(inventory, {});
  const MemoryBook empty = book;
  const int others = chance(0, 6);
  for (int i = 0; i < others; ++i) {
    const std::string name = fmt::format("p{}", chance(0, 3));
    book.release(name);
    const Pod pod = pod_of(name, {random_container("main", flip() ? 5 : 20)});
    static_cast<void>(
        book.allocate(pod, pod.containers.front(), random_hint(count).value_or(Hint{}), {}));
    book.settle();
  }
  const Pod pod =
      pod_of("door", {random_container("init:setup", 12), random_container("main", 30)});
  MemoryHolding left;
  if (flip()) {
    const auto held =
        book.allocate(pod, pod.init_containers.front(), random_hint(count).value_or(Hint{}), {});
    if (held) left = *held;
  }
  const NodeMemory request = *memory_request(pod, pod.containers.front(), {});
  const auto hints = book.hints(pod, pod.containers.front(), {});
  const auto reference = memory_reference(book, request, left);
  RC_ASSERT(hints.size() == request.size());
  for (const ResourceHints& each : hints) {
    RC_ASSERT(each.family.has_value() == !reference.empty());
    for (unsigned mask = 1; each.family && mask < (1U << count); ++mask) {
      const auto expected = reference.find(mask);
      RC_ASSERT(preference_for(*each.family, set_of(mask)) ==
                (expected == reference.end() ? std::nullopt : std::optional(expected->second)));
    }
  }
  // Left to itself it takes the narrowest, and of these the lowest.
  const auto held = book.allocate(pod, pod.containers.front(), {}, {});
  RC_ASSERT(held.has_value() == !reference.empty());
  if (held) {
    unsigned best = 0;
    for (const auto& [mask, preferred] : reference) {
      if (best == 0 || set_of(mask).size() < set_of(best).size()) best = mask;
    }
    RC_ASSERT(held->nodes == set_of(best));
  }
  for (const char* name : {"door", "p0", "p1", "p2", "p3"}) book.release(name);
  RC_ASSERT(book == empty);
}

// The same for devices; `free` and `left` by id.
std::map<unsigned, bool> device_reference(const std::vector<Device>& devices, int count,
                                          const std::vector<std::string>& free,
                                          const std::vector<std::string>& left, int asked) {
  const auto among = [](const std::vector<std::string>& ids, const Device& device) {
    return std::find(ids.begin(), ids.end(), device.id) != ids.end();
  };
  int fewest = count;
  std::vector<unsigned> found;
  for (unsigned mask = 1; mask < (1U << count); ++mask) {
    const NodeSet nodes = set_of(mask);
    int all = 0;
    int usable = 0;
    bool fits = true;
    for (const Device& device : devices) {
      const bool near = device.nodes.intersects(nodes);
      if (near) ++all;
      if (near && (among(free, device) || among(left, device))) ++usable;
      if (!near && !device.nodes.empty() && among(left, device)) fits = false;
    }
    if (all >= asked) fewest = std::min(fewest, nodes.size());
    if (fits && usable >= asked) found.push_back(mask);
  }
  std::map<unsigned, bool> hints;
  for (const unsigned mask : found) hints[mask] = set_of(mask).size() == fewest;
  return hints;
}

RC_GTEST_PROP(DeviceProperty, HintsAreThoseOfTryingEverySet, ()) {
  const std::string resource = "example.com/nic";
  const int count = chance(1, 5);
  DeviceInventory inventory;
  const int devices = chance(1, 8);
  for (int i = 0; i < devices; ++i) {
    const int top = (1 << count) - 1;
    const auto mask = flip() ? 1U << chance(0, count) : static_cast<unsigned>(chance(0, top));
    inventory[resource].push_back({.id = fmt::format("d{}", i), .nodes = set_of(mask)});
  }
  auto book = *DeviceBook::make(inventory);
  const DeviceBook empty = book;
  const auto container = [](const char* name) {
    return fmt::format("{} cpu=1 example.com/nic={}", name, chance(1, 4));
  };
  const int others = chance(0, 3);
  for (int i = 0; i < others; ++i) {
    const Pod pod = pod_of(fmt::format("p{}", i), {container("main")});
    const Hint hint = random_hint(count).value_or(Hint{});
    static_cast<void>(book.allocate(pod, pod.containers.front(), hint.nodes));
  }
  const Pod pod = pod_of("door", {container("init:setup"), container("main")});
  const Container& main = pod.containers.front();
  const Hint hint = random_hint(count).value_or(Hint{});
  std::vector<std::string> left;
  if (flip()) {
    const auto held = book.allocate(pod, pod.init_containers.front(), hint.nodes);
    if (held) left = held->at(resource);
  }
  const auto free = book.available(resource);
  const int asked = static_cast<int>(main.limit(resource).value());
  const auto hints = book.hints(set_of((1U << count) - 1), pod, main);
  RC_ASSERT(hints.size() == 1U);
  const auto& all = inventory.at(resource);
  const bool cares = std::any_of(all.begin(), all.end(),
                                 [](const Device& device) { return !device.nodes.empty(); });
  RC_ASSERT(hints.front().family.has_value() == cares);
  const bool enough = static_cast<int>(free.size() + left.size()) >= asked;
  const auto reference =
      enough ? device_reference(all, count, free, left, asked) : std::map<unsigned, bool>{};
  for (unsigned mask = 1; cares && mask < (1U << count); ++mask) {
    const auto expected = reference.find(mask);
    RC_ASSERT(preference_for(*hints.front().family, set_of(mask)) ==
              (expected == reference.end() ? std::nullopt : std::optional(expected->second)));
  }
  const auto held = book.allocate(pod, main, hint.nodes);
  RC_ASSERT(held.has_value() == enough);
  if (held) RC_ASSERT(static_cast<int>(held->at(resource).size()) == asked);
  for (const char* name : {"door", "p0", "p1", "p2"}) book.release(name);
  book.settle();
  RC_ASSERT(book == empty);
}

}  // namespace
}  // namespace corehold
