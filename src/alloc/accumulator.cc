// SPDX-License-Identifier: Apache-2.0
#include "alloc/accumulator.h"

#include <algorithm>

namespace corehold {
namespace {

// The slots of `slots` that have something free, by (free, id) ascending.
std::vector<Slot> sorted_by_free(const std::vector<Slot>& slots, const std::vector<int>& free) {
  const auto count = [&free](Slot slot) { return free[static_cast<std::size_t>(slot)]; };
  std::vector<Slot> sorted;
  sorted.reserve(slots.size());
  for (const Slot slot : slots) {
    if (count(slot) > 0) sorted.push_back(slot);
  }
  std::sort(sorted.begin(), sorted.end(),
            [&](Slot a, Slot b) { return count(a) != count(b) ? count(a) < count(b) : a < b; });
  return sorted;
}

std::vector<Slot> first_slots(std::size_t count) {
  std::vector<Slot> slots(count);
  for (std::size_t i = 0; i < count; ++i) slots[i] = static_cast<Slot>(i);
  return slots;
}

// How many parts of each size add up to `sum`, using as many parts as possible and
// at most parts[size] of each. All zero when there is no way.
std::vector<int> most_parts(const std::vector<int>& parts, int sum) {
  constexpr int kNoWay = -1;
  const auto slots = static_cast<std::size_t>(sum) + 1;
  // used[size][s]: parts of this size in the best way to s with sizes up to this one.
  std::vector<std::vector<int>> used(parts.size(), std::vector<int>(slots, 0));
  std::vector<int> best(slots, kNoWay);
  best[0] = 0;
  for (std::size_t size = 1; size < parts.size(); ++size) {
    const std::vector<int> before = best;
    for (std::size_t s = 0; s < slots; ++s) {
      for (std::size_t n = 1; n <= static_cast<std::size_t>(parts[size]) && n * size <= s; ++n) {
        const int rest = before[s - n * size];
        if (rest == kNoWay || rest + static_cast<int>(n) <= best[s]) continue;
        best[s] = rest + static_cast<int>(n);
        used[size][s] = static_cast<int>(n);
      }
    }
  }
  std::vector<int> numbers(parts.size(), 0);
  if (best.back() == kNoWay) return numbers;
  auto left = static_cast<std::size_t>(sum);
  for (std::size_t size = parts.size() - 1; size >= 1; --size) {
    numbers[size] = used[size][left];
    left -= size * static_cast<std::size_t>(numbers[size]);
  }
  return numbers;
}

}  // namespace

Accumulator::Accumulator(const Topology& topology, const CpuSet& available)
    : topology_(topology),
      free_(available & topology.cpus()),
      core_free_(topology.cores().size()),
      uncore_free_(topology.uncores().size()),
      node_free_(topology.nodes().size()),
      socket_free_(topology.sockets().size()) {
  for (const CpuId cpu : free_) ++core_free_[static_cast<std::size_t>(topology.core_of(cpu))];
  for (std::size_t slot = 0; slot < core_free_.size(); ++slot) {
    const int count = core_free_[slot];
    if (count == 0) continue;
    const Core& core = topology.cores()[slot];
    uncore_free_[static_cast<std::size_t>(core.uncore)] += count;
    node_free_[static_cast<std::size_t>(core.node)] += count;
    socket_free_[static_cast<std::size_t>(core.socket)] += count;
  }
}

CpuSet Accumulator::take_packed(int count, CpuOrder order, bool prefer_uncore) {
  taken_.clear();
  needed_ = count;
  if (nodes_enclose_sockets()) {
    take_full_nodes();
    take_full_sockets();
  } else {
    take_full_sockets();
    take_full_nodes();
  }
  if (prefer_uncore) take_uncores();
  if (order == CpuOrder::kPacked) take_full_cores();
  take_single_cpus(order);
  return taken_;
}

CpuSet Accumulator::take_most_whole_cores(int count) {
  taken_.clear();
  needed_ = count;
  for (int size = 1; size <= topology_.threads_per_core(); ++size) {
    take_full_cores_of_size(size, count);
  }
  take_single_cpus(CpuOrder::kPacked);
  return taken_;
}

CpuSet Accumulator::take_exact_whole_cores(int count) {
  taken_.clear();
  needed_ = count;
  std::vector<int> whole(static_cast<std::size_t>(topology_.threads_per_core()) + 1);
  for (std::size_t slot = 0; slot < core_free_.size(); ++slot) {
    const int size = topology_.cores()[slot].size();
    if (core_free_[slot] == size) ++whole[static_cast<std::size_t>(size)];
  }
  const std::vector<int> numbers = most_parts(whole, count);
  for (std::size_t size = 1; size < numbers.size(); ++size) {
    take_full_cores_of_size(static_cast<int>(size), numbers[size]);
  }
  return taken_;
}

void Accumulator::take_cpu(CpuId cpu) {
  const Slot slot = topology_.core_of(cpu);
  const Core& core = topology_.core(slot);
  --core_free_[static_cast<std::size_t>(slot)];
  --uncore_free_[static_cast<std::size_t>(core.uncore)];
  --node_free_[static_cast<std::size_t>(core.node)];
  --socket_free_[static_cast<std::size_t>(core.socket)];
  --needed_;
  free_.erase(cpu);
  taken_.insert(cpu);
}

template <typename Cpus>
void Accumulator::take_all(const Cpus& cpus) {
  for (const CpuId cpu : cpus) {
    if (free_.contains(cpu)) take_cpu(cpu);
  }
}

bool Accumulator::nodes_enclose_sockets() const {
  return topology_.sockets().size() >= topology_.nodes().size();
}

std::vector<Slot> Accumulator::sorted_nodes() const {
  if (nodes_enclose_sockets()) {
    return sorted_by_free(first_slots(node_free_.size()), node_free_);
  }
  std::vector<Slot> nodes;
  for (const Slot socket : sorted_sockets()) {
    for (const Slot node : sorted_by_free(topology_.socket(socket).nodes, node_free_)) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

std::vector<Slot> Accumulator::sorted_sockets() const {
  if (!nodes_enclose_sockets()) {
    return sorted_by_free(first_slots(socket_free_.size()), socket_free_);
  }
  std::vector<Slot> sockets;
  for (const Slot node : sorted_nodes()) {
    for (const Slot socket : sorted_by_free(topology_.node(node).sockets, socket_free_)) {
      sockets.push_back(socket);
    }
  }
  return sockets;
}

template <typename Visit>
void Accumulator::visit_cores_of(const std::vector<Slot>& cores, Visit visit) {
  // Cores have few threads, so going over the list once per count beats sorting it.
  std::vector<int> seen(static_cast<std::size_t>(topology_.threads_per_core()) + 1);
  for (const Slot core : cores) ++seen[static_cast<std::size_t>(at(core_free_, core))];
  std::vector<Slot> same;
  for (int count = 1; count <= topology_.threads_per_core(); ++count) {
    if (seen[static_cast<std::size_t>(count)] == 0) continue;
    same.clear();
    for (const Slot core : cores) {
      if (at(core_free_, core) == count) same.push_back(core);
    }
    for (const Slot core : same) {
      if (is_satisfied()) return;
      visit(core);
    }
  }
}

template <typename Visit>
void Accumulator::visit_cores(Visit visit) {
  if (nodes_enclose_sockets()) {
    for (const Slot socket : sorted_sockets())
      visit_cores_of(topology_.socket(socket).cores, visit);
  } else {
    for (const Slot node : sorted_nodes()) visit_cores_of(topology_.node(node).cores, visit);
  }
}

void Accumulator::take_full_nodes() {
  if (is_satisfied()) return;
  for (const Slot slot : sorted_nodes()) {
    const auto& node = topology_.node(slot);
    if (at(node_free_, slot) == node.size && needed_ >= node.size) take_all(node.cpus);
  }
}

void Accumulator::take_full_sockets() {
  if (is_satisfied()) return;
  for (const Slot slot : sorted_sockets()) {
    const auto& socket = topology_.socket(slot);
    if (at(socket_free_, slot) == socket.size && needed_ >= socket.size) take_all(socket.cpus);
  }
}

void Accumulator::take_uncores() {
  if (is_satisfied()) return;
  std::vector<Slot> uncores;
  for (const Slot node : sorted_nodes()) {
    for (const Slot uncore : sorted_by_free(topology_.node(node).uncores, uncore_free_)) {
      uncores.push_back(uncore);
    }
  }
  for (const Slot slot : uncores) {
    const auto& uncore = topology_.uncore(slot);
    if (at(uncore_free_, slot) == uncore.size && needed_ >= uncore.size) take_all(uncore.cpus);
  }
  for (const Slot slot : uncores) {
    if (is_satisfied()) return;
    take_part_of_uncore(slot);
  }
}

// Takes what is still needed from one L3 cache if the first cores of it, just as many
// as the request is worth, hold exactly that many free CPUs. A request that is odd
// leaves the last thread of the last core behind.
void Accumulator::take_part_of_uncore(Slot slot) {
  if (at(uncore_free_, slot) < needed_) return;
  int worth = 0;
  std::vector<CpuId> cpus;
  for (const Slot core_slot : topology_.uncore(slot).cores) {
    if (at(core_free_, core_slot) == 0) continue;
    if (worth >= needed_) break;
    const Core& core = topology_.core(core_slot);
    worth += core.size();
    for (const CpuId cpu : core.cpus) {
      if (free_.contains(cpu)) cpus.push_back(cpu);
    }
  }
  const auto count = [&cpus] { return static_cast<int>(cpus.size()); };
  if (needed_ % 2 != 0 && topology_.threads_per_core() > 1 && count() > needed_) {
    cpus.erase(std::max_element(cpus.begin(), cpus.end()));
  }
  if (count() == needed_) take_all(cpus);
}

void Accumulator::take_full_cores() {
  if (is_satisfied()) return;
  visit_cores([this](Slot slot) {
    const Core& core = topology_.core(slot);
    if (at(core_free_, slot) == core.size() && needed_ >= core.size()) take_all(core.cpus);
  });
}

void Accumulator::take_full_cores_of_size(int size, int most) {
  visit_cores([&](Slot slot) {
    const Core& core = topology_.core(slot);
    if (most < 1 || core.size() != size || at(core_free_, slot) != size || needed_ < size) return;
    take_all(core.cpus);
    --most;
  });
}

void Accumulator::take_single_cpus(CpuOrder order) {
  if (is_satisfied()) return;
  const auto take_until_satisfied = [this](const auto& cpus) {
    for (const CpuId cpu : cpus) {
      if (is_satisfied()) return;
      if (free_.contains(cpu)) take_cpu(cpu);
    }
  };
  if (order == CpuOrder::kPacked) {
    visit_cores([&](Slot slot) { take_until_satisfied(topology_.core(slot).cpus); });
    return;
  }
  for (const Slot socket : sorted_sockets()) take_until_satisfied(topology_.socket(socket).cpus);
}

}  // namespace corehold
