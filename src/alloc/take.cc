// SPDX-License-Identifier: Apache-2.0
#include "alloc/take.h"

#include <algorithm>

#include <fmt/format.h>

#include "alloc/accumulator.h"
#include "alloc/numa_split.h"

namespace corehold {
namespace {

int divide_up(int number, int by) { return (number + by - 1) / by; }

Error too_few(int count, const CpuSet& available) {
  return Error{
      Code::kExhausted,
      fmt::format("not enough cpus available to satisfy request: requested={}, available={}", count,
                  available.size())};
}

// How many NUMA nodes are worth trying: at least what the request needs at the
// machine's average size, at most one per group.
SplitRequest split_request(const Topology& topology, int nodes_with_free, int count,
                           const TakeOptions& options) {
  const int group = options.group_size;
  const int groups_on_machine = divide_up(topology.cpu_count(), group);
  const int groups_per_node =
      divide_up(groups_on_machine, static_cast<int>(topology.nodes().size()));
  const int groups = divide_up(count, group);
  return {.count = count,
          .group_size = group,
          .fewest = divide_up(groups, groups_per_node),
          .most = std::min(groups, nodes_with_free),
          .align_by_socket = options.align_by_socket};
}

std::vector<SplitNode> split_nodes(const Topology& topology, const Accumulator& free,
                                   const std::vector<Slot>& nodes) {
  std::vector<SplitNode> counted;
  for (const Slot node : nodes) {
    const std::vector<Slot>& sockets = topology.node(node).sockets;
    counted.push_back({.free = free.free_in_node(node),
                       .socket = sockets.size() == 1 ? sockets.front() : kSeveralSockets});
  }
  return counted;
}

// `natural`, unless cores differ in size and it has fewer whole cores than an answer
// of that size could have. Spreading over cores is the one wish that goes before.
CpuSet with_most_whole_cores(const Topology& topology, const CpuSet& available,
                             const TakeOptions& options, const CpuSet& natural) {
  const bool spreads = options.order == CpuOrder::kSpread && !options.prefer_uncore;
  if (topology.cores_are_alike() || spreads) return natural;
  const CpuSet most = Accumulator(topology, available).take_most_whole_cores(natural.size());
  return topology.count_whole_cores(most) > topology.count_whole_cores(natural) ? most : natural;
}

CpuSet take_packed(const Topology& topology, const CpuSet& available, int count,
                   const TakeOptions& options) {
  const CpuSet natural =
      Accumulator(topology, available).take_packed(count, options.order, options.prefer_uncore);
  return with_most_whole_cores(topology, available, options, natural);
}

// What one NUMA node gives: its even share at once, then group by group.
CpuSet take_share(const Topology& topology, const CpuSet& available, const SplitShare& share,
                  const TakeOptions& options) {
  Accumulator free(topology, available);
  CpuSet natural = free.take_packed(share.even, options.order, options.prefer_uncore);
  for (int extra = 0; extra < share.extra_groups; ++extra) {
    natural |= free.take_packed(options.group_size, options.order, options.prefer_uncore);
  }
  return with_most_whole_cores(topology, available, options, natural);
}

CpuSet take_distributed(const Topology& topology, const CpuSet& available, int count,
                        const TakeOptions& options) {
  // What cannot be handed out in whole groups, or not evenly, is packed.
  if (count % options.group_size != 0) return take_packed(topology, available, count, options);
  const Accumulator free(topology, available);
  const std::vector<Slot> nodes = free.sorted_nodes();
  const auto shares =
      split_over_nodes(split_nodes(topology, free, nodes),
                       split_request(topology, static_cast<int>(nodes.size()), count, options));
  if (!shares) return take_packed(topology, available, count, options);
  CpuSet taken;
  for (const SplitShare& share : *shares) {
    const Slot node = nodes[static_cast<std::size_t>(share.node)];
    taken |= take_share(topology, available & topology.node(node).cpus, share, options);
  }
  return taken;
}

// REQUIRES: available has at least count CPUs of the machine.
CpuSet take(const Topology& topology, const CpuSet& available, int count,
            const TakeOptions& options) {
  if (count < 1) return {};
  return options.across_numa ? take_distributed(topology, available, count, options)
                             : take_packed(topology, available, count, options);
}

Result<void> check_held(const CpuSet& available, int count, const Held& held) {
  const auto not_subset = [](const char* what, const CpuSet& part, const char* of,
                             const CpuSet& whole) {
    return Error{Code::kInvalid,
                 fmt::format("{} {} are not a subset of {} {}", what, part.str(), of, whole.str())};
  };
  if (!held.prefer.is_subset_of(available)) {
    return not_subset("CPUs to prefer", held.prefer, "available CPUs", available);
  }
  if (!held.keep.is_subset_of(available)) {
    return not_subset("CPUs to keep", held.keep, "available CPUs", available);
  }
  if (!held.prefer.empty() && !held.keep.is_subset_of(held.prefer)) {
    return not_subset("CPUs to keep", held.keep, "CPUs to prefer", held.prefer);
  }
  if (held.keep.size() > count) {
    return Error{Code::kInvalid, fmt::format("CPUs to keep {} are {}, more than the {} requested",
                                             held.keep.str(), held.keep.size(), count)};
  }
  return {};
}

// Widens `taken` to `count` CPUs out of `pool`, from near to far: the rest of cores
// it has a part of, its NUMA nodes, its sockets, anywhere.
CpuSet extend(const Topology& topology, CpuSet taken, const CpuSet& pool, int count,
              const TakeOptions& options) {
  const auto near = [&](const auto& domains) {
    CpuSet cpus;
    for (const auto& domain : domains) {
      if (domain.cpus.intersects(taken)) cpus |= domain.cpus;
    }
    return cpus;
  };
  const auto take_from = [&](const CpuSet& where) {
    const CpuSet open = (pool & where) - taken;
    const int wanted = count - taken.size();
    if (wanted > 0) taken |= open.size() <= wanted ? open : take(topology, open, wanted, options);
  };
  if (!taken.empty()) {
    take_from(topology.whole_cores_touching(taken));
    take_from(near(topology.nodes()));
    take_from(near(topology.sockets()));
  }
  take_from(topology.cpus());
  return taken;
}

}  // namespace

Result<CpuSet> take_by_topology(const Topology& topology, const CpuSet& available, int count,
                                const TakeOptions& options, const Held& held) {
  count = std::max(count, 0);
  if (options.group_size < 1) {
    return Error{Code::kInvalid, fmt::format("CPUs in groups of {}", options.group_size)};
  }
  const CpuSet known = available & topology.cpus();
  TRY(check_held(known, count, held));
  if (count == 0) return CpuSet{};
  if (count > known.size()) return too_few(count, available);
  if (held.keep.empty() && held.prefer.empty()) return take(topology, known, count, options);
  const bool grows = held.prefer.size() <= count;
  return extend(topology, grows ? held.prefer | held.keep : held.keep, grows ? known : held.prefer,
                count, options);
}

Result<CpuSet> take_whole_cores(const Topology& topology, const CpuSet& available, int count) {
  if (count >= 0 && count <= available.size()) {
    const CpuSet whole = Accumulator(topology, available).take_exact_whole_cores(count);
    if (whole.size() == count) return whole;
  }
  return Error{Code::kUnaligned, fmt::format("the whole cores in {} do not add up to {} CPUs",
                                             available.str(), count)};
}

}  // namespace corehold
