// SPDX-License-Identifier: Apache-2.0
#include "policy/resize/resize_placement.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "hints/cpu_hints.h"
#include "policy/request.h"

namespace corehold {
namespace {

constexpr std::string_view kNoLocality = "Resources cannot be allocated with Topology locality";
constexpr std::size_t kMostOrdered = 4;  // growing containers of which every order is tried

// Numbers of CPUs beyond this are this; no machine has as many.
constexpr std::int64_t kMostCounted = std::numeric_limits<int>::max();

// Only Guaranteed pods have CPUs to be resized.
std::int64_t cpus_wanted(const Container& container) {
  return exclusive_cpus(QosClass::kGuaranteed, container);
}

int counted(std::int64_t cpus) { return static_cast<int>(std::min(cpus, kMostCounted)); }

}  // namespace

ResizePlacement::ResizePlacement(const AdmissionRules& rules, const ResizeTerms& terms,
                                 const Bookings& bookings, const Pod& wanted)
    : rules_(rules), terms_(terms), bookings_(bookings), wanted_(wanted) {
  const auto pod = bookings.cpus.pods.find(wanted.uid);
  if (pod == bookings.cpus.pods.end()) return;
  for (const Container* container : in_starting_order(wanted)) {
    const auto holding = pod->second.find(container->name);
    if (holding == pod->second.end() || container->kind == Container::Kind::kInit) continue;
    const std::int64_t asked = cpus_wanted(*container);
    const int has = holding->second.assigned.size();
    if (asked == has || asked == 0) continue;
    (asked < has ? shrinks_ : grows_)
        .push_back({.container = container,
                    .holding = &holding->second,
                    .asked = asked,
                    .count = counted(asked)});
  }
  if (!grows_.empty() && rules.topology_options.policy != TopologyPolicy::kNone) {
    machine_ = numa_map(rules.topology);
  }
  shrink_failure_ = place_shrinks();
  for (const ContainerResize& shrink : shrunk_) freed_ |= freed_by(shrink);
}

bool ResizePlacement::scope_is(TopologyScope scope) const {
  return rules_.topology_options.policy != TopologyPolicy::kNone &&
         rules_.topology_options.scope == scope;
}

bool ResizePlacement::is_strict() const {
  return rules_.topology_options.policy == TopologyPolicy::kRestricted ||
         rules_.topology_options.policy == TopologyPolicy::kSingleNumaNode;
}

std::optional<PlacementFailure> ResizePlacement::place_shrinks() {
  shrunk_.reserve(shrinks_.size());
  for (const CpuChange& change : shrinks_) {
    const CpuSet& assigned = change.holding->assigned;
    auto kept = shrink_by_topology(rules_.topology, assigned, change.holding->promised,
                                   change.count, terms_.options);
    if (!kept) {
      return PlacementFailure{.change = &change, .text = kept.error().message, .usable = assigned};
    }
    ContainerResize& shrunk = shrunk_.emplace_back();
    shrunk.container = change.container->name;
    shrunk.before = assigned;
    shrunk.after = *kept;
  }
  return std::nullopt;
}

// Without CPUs that other containers of the pod use as well.
CpuSet ResizePlacement::freed_by(const ContainerResize& shrink) const {
  CpuSet freed = shrink.before - shrink.after;
  for (const auto& [name, holding] : bookings_.cpus.pods.at(wanted_.uid)) {
    if (name != shrink.container) freed -= holding.assigned;
  }
  return freed;
}

PlacedResize ResizePlacement::run(const CpuSet& shared) const {
  if (shrink_failure_) return {.failure = shrink_failure_};
  Order order;
  for (const CpuChange& change : grows_) order.push_back(&change);
  PlacedResize first = run_in(order, shared);
  if (!first.failure || order.size() < 2) return first;
  if (order.size() <= kMostOrdered) {
    while (std::next_permutation(order.begin(), order.end())) {
      PlacedResize other = run_in(order, shared);
      if (!other.failure) return other;
    }
    return first;
  }
  std::stable_sort(order.begin(), order.end(), [](const CpuChange* one, const CpuChange* two) {
    return one->count > two->count;
  });
  PlacedResize largest_first = run_in(order, shared);
  return largest_first.failure ? first : largest_first;
}

PlacedResize ResizePlacement::run_in(const Order& order, const CpuSet& shared) const {
  PlacedResize placement{.containers = shrunk_};
  if (order.empty()) return placement;
  Pools pools{.now = shared - terms_.reserved,
              .freed = freed_,
              .spare = shared.size() - terms_.fewest_shared};
  std::optional<Hint> hint;
  if (scope_is(TopologyScope::kPod)) {
    const CpuSet all = usable(pools.now | pools.freed);
    Alignment alignment = align_pod(all);
    if (!alignment.merged.admit) {
      placement.failure = PlacementFailure{
          .text = std::string(kNoLocality), .alignment = std::move(alignment), .usable = all};
      return placement;
    }
    hint = alignment.merged.hint;
  }
  std::vector<ContainerResize> grown(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ContainerResize& placed = grown[i];
    placement.failure = place(*order[i], hint, pools, placed);
    if (placement.failure) return placement;
    for (const ContainerResize& shrink : shrunk_) {
      const CpuSet part = freed_by(shrink) & (placed.after - placed.before - placed.from_shared);
      if (!part.empty()) placed.from.emplace(shrink.container, part);
    }
  }
  // In starting order, whatever the order of choosing was.
  for (const CpuChange& change : grows_) {
    const auto chosen = std::find(order.begin(), order.end(), &change);
    placement.containers.push_back(
        std::move(grown[static_cast<std::size_t>(chosen - order.begin())]));
  }
  return placement;
}

// What is free now is taken before what has to be waited for, unless waiting gives CPUs
// on fewer nodes; and of what is free no more than the shared pool can spare.
std::optional<PlacementFailure> ResizePlacement::place(const CpuChange& change,
                                                       const std::optional<Hint>& hint,
                                                       Pools& pools,
                                                       ContainerResize& placed) const {
  placed.container = change.container->name;
  placed.before = change.holding->assigned;
  const auto taken_now = [&] { return (placed.after - placed.before).count_common(pools.now); };
  auto failure = grow(change, hint, pools.now | pools.freed, placed.after);
  if (failure) return failure;
  if (!pools.freed.empty()) {
    CpuSet at_once;
    const bool can = !grow(change, hint, pools.now, at_once);
    if (can && spread(at_once) <= spread(placed.after)) placed.after = at_once;
    if (taken_now() > pools.spare) {
      const CpuSet some = spared((placed.after - placed.before) & pools.now, pools.spare);
      CpuSet later;
      if (!grow(change, hint, some | pools.freed, later)) placed.after = later;
    }
  }
  if (taken_now() > pools.spare) {
    return PlacementFailure{
        .change = &change,
        .text = fmt::format("not enough cpus available to satisfy request: it would leave {} CPUs "
                            "in the shared pool, which keeps at least {}",
                            pools.spare + terms_.fewest_shared - taken_now(), terms_.fewest_shared),
        .usable = usable(pools.now | pools.freed)};
  }
  placed.from_shared = (placed.after - placed.before) & pools.now;
  pools.spare -= placed.from_shared.size();
  pools.now -= placed.after;
  pools.freed -= placed.after;
  return std::nullopt;
}

std::optional<PlacementFailure> ResizePlacement::grow(const CpuChange& change,
                                                      const std::optional<Hint>& hint,
                                                      const CpuSet& pool, CpuSet& grown) const {
  PlacementFailure failure{.change = &change, .usable = usable(pool)};
  std::optional<Hint> near_to = hint;
  if (scope_is(TopologyScope::kContainer)) {
    Alignment alignment = align(change, failure.usable);
    if (!alignment.merged.admit) {
      failure.text = kNoLocality;
      failure.alignment = std::move(alignment);
      return failure;
    }
    near_to = alignment.merged.hint;
  }
  auto found = near_to && near_to->nodes
                   ? grow_near(change, failure.usable, *near_to)
                   : grow_by_topology(rules_.topology, change.holding->assigned, failure.usable,
                                      change.count, terms_.options);
  if (!found) {
    // The numbers of the error are those that were counted with.
    failure.text = change.asked == change.count
                       ? found.error().message
                       : fmt::format(
                             "not enough cpus available to satisfy request: requested={}, "
                             "available={}",
                             change.asked, change.holding->assigned.size() + failure.usable.size());
    return failure;
  }
  grown = *found;
  return std::nullopt;
}

// Under a strict policy only on the nodes of the hint, not elsewhere in their sockets: so
// the same resize, decided again when it has some of its CPUs, is not refused. Otherwise
// near them if that costs no more nodes than anywhere.
Result<CpuSet> ResizePlacement::grow_near(const CpuChange& change, const CpuSet& usable,
                                          const Hint& hint) const {
  const CpuSet& assigned = change.holding->assigned;
  const auto grown = [&](const CpuSet& pool) {
    return grow_by_topology(rules_.topology, assigned, pool, change.count, terms_.options);
  };
  const NodeSet nodes = *hint.nodes | rules_.topology.nodes_of(assigned);
  if (is_strict()) return grown(usable & rules_.topology.cpus_in(nodes));
  const CpuSet pool = near(usable, nodes);
  auto close = grown(pool);
  const bool is_best = close && spread(*close) == spread(assigned);
  if (is_best || pool == usable) return close;
  auto anywhere = grown(usable);
  return close && anywhere && spread(*close) <= spread(*anywhere) ? std::move(close)
                                                                  : std::move(anywhere);
}

Alignment ResizePlacement::merge_hints(std::vector<ResourceHints> hints) const {
  Alignment alignment{.hints = std::move(hints), .merged = {}};
  TopologyOptions options = rules_.topology_options;
  options.prefer_closest_numa = true;
  alignment.merged = merge(machine_, alignment.hints, options);
  return alignment;
}

Alignment ResizePlacement::align(const CpuChange& change, const CpuSet& usable) const {
  const auto sockets =
      terms_.options.take.align_by_socket ? SocketAlignment::kPreferred : SocketAlignment::kIgnored;
  std::vector<ResourceHints> hints;
  hints.push_back({.resource = std::string(kCpu),
                   .family = cpu_hints(rules_.topology, usable, change.holding->assigned,
                                       change.count, sockets)});
  const MemoryHolding* memory = bookings_.memory.find(wanted_.uid, change.container->name);
  if (memory != nullptr && !memory->nodes.empty()) {
    hints.push_back(
        {.resource = std::string(kMemory),
         .family = HintFamily{.listed = {{.nodes = memory->nodes, .preferred = true}}}});
  }
  auto devices = bookings_.devices.hints(machine_.nodes, wanted_, *change.container);
  std::move(devices.begin(), devices.end(), std::back_inserter(hints));
  return merge_hints(std::move(hints));
}

ResizePlacement::PodNeed ResizePlacement::pod_need() const {
  Peak peak;
  PodNeed need;
  for (const Container* container : in_starting_order(wanted_)) {
    const Holding* holding = bookings_.cpus.find(wanted_.uid, container->name);
    if (holding == nullptr) continue;
    peak.start(container->kind, cpus_wanted(*container));
    const auto shrunk = std::find_if(
        shrunk_.begin(), shrunk_.end(),
        [&](const ContainerResize& each) { return each.container == container->name; });
    need.kept |= shrunk == shrunk_.end() ? holding->assigned : shrunk->after;
  }
  need.count = counted(peak.most());
  return need;
}

Alignment ResizePlacement::align_pod(const CpuSet& usable) const {
  const auto [count, kept] = pod_need();
  NodeSet memory;
  for (const Container* container : in_starting_order(wanted_)) {
    const MemoryHolding* booked = bookings_.memory.find(wanted_.uid, container->name);
    if (booked != nullptr && container->kind != Container::Kind::kInit) memory |= booked->nodes;
  }
  const auto sockets =
      terms_.options.take.align_by_socket ? SocketAlignment::kPreferred : SocketAlignment::kIgnored;
  std::vector<ResourceHints> hints;
  hints.push_back({.resource = std::string(kCpu),
                   .family = cpu_hints(rules_.topology, usable - kept, kept, count, sockets)});
  if (!memory.empty()) {
    hints.push_back({.resource = std::string(kMemory),
                     .family = HintFamily{.listed = {{.nodes = memory, .preferred = true}}}});
  }
  auto devices = bookings_.devices.pod_hints(machine_.nodes, wanted_);
  std::move(devices.begin(), devices.end(), std::back_inserter(hints));
  return merge_hints(std::move(hints));
}

// A strict policy admits as few nodes as an idle machine would need, among them those of the
// CPUs that stay; with align-by-socket also more, if they are on few sockets.
std::vector<GrowthLimit> ResizePlacement::limits() const {
  if (grows_.empty()) return {};
  const Topology& topology = rules_.topology;
  const auto on_fewest = [&](std::int64_t growth, int count, const CpuSet& kept) {
    const bool is_single = rules_.topology_options.policy == TopologyPolicy::kSingleNumaNode;
    return GrowthLimit{.growth = growth,
                       .most_nodes = is_single ? 1 : fewest_nodes(topology, count),
                       .required = topology.nodes_of(kept)};
  };
  const bool is_limited = is_strict() && !terms_.options.take.align_by_socket;
  GrowthLimit all{.most_nodes = static_cast<int>(topology.nodes().size())};
  std::vector<GrowthLimit> limits;
  for (const CpuChange& change : grows_) {
    const CpuSet& assigned = change.holding->assigned;
    const int growth = change.count - assigned.size();
    all.growth += growth;
    if (is_limited && scope_is(TopologyScope::kContainer)) {
      limits.push_back(on_fewest(growth, change.count, assigned));
    }
  }
  if (is_limited && scope_is(TopologyScope::kPod)) {
    const auto [count, kept] = pod_need();
    limits.push_back(on_fewest(all.growth, count, kept));
  }
  limits.push_back(all);
  return limits;
}

Outlook ResizePlacement::outlook(const std::vector<GrowthLimit>& limits,
                                 const CpuSet& shared) const {
  const int spare = shared.size() - terms_.fewest_shared;
  const CpuSet pool = usable((shared - terms_.reserved) | freed_);
  const bool can_be = std::all_of(limits.begin(), limits.end(), [&](const GrowthLimit& limit) {
    return limit.growth <= spare + freed_.size() && limit.growth <= most_within(limit, pool);
  });
  if (!can_be) return Outlook::kNever;
  return do_numbers_decide() ? Outlook::kSure : Outlook::kOpen;
}

// One container grows by CPUs that are free, of whole cores if it has to be; and where it has
// to be on few nodes, nothing but CPUs has a say in which.
bool ResizePlacement::do_numbers_decide() const {
  if (grows_.size() != 1 || !shrinks_.empty()) return false;
  if (is_strict()) {
    if (terms_.options.take.align_by_socket) return false;
    if (bookings_.memory.pods().contains(wanted_.uid)) return false;
    if (bookings_.devices.pods().contains(wanted_.uid)) return false;
  }
  if (!terms_.options.whole_cores) return true;
  const Topology& topology = rules_.topology;
  const CpuSet& assigned = grows_[0].holding->assigned;
  return topology.cores_are_alike() && grows_[0].count % topology.threads_per_core() == 0 &&
         topology.whole_cores_within(assigned) == assigned;
}

int ResizePlacement::most_within(const GrowthLimit& limit, const CpuSet& pool) const {
  const auto& nodes = rules_.topology.nodes();
  const int others = limit.most_nodes - limit.required.size();
  if (others < 0) return 0;
  if (limit.most_nodes == static_cast<int>(nodes.size())) return pool.size();
  int sum = 0;
  std::vector<int> rooms;
  for (const auto& node : nodes) {
    const int room = node.cpus.count_common(pool);
    if (limit.required.contains(node.id)) {
      sum += room;
    } else if (others > 0) {
      rooms.push_back(room);
    }
  }
  std::sort(rooms.rbegin(), rooms.rend());
  rooms.resize(std::min(rooms.size(), static_cast<std::size_t>(others)));
  return std::accumulate(rooms.begin(), rooms.end(), sum);
}

CpuSet ResizePlacement::spared(const CpuSet& free, int most) const {
  const auto taken = take_by_topology(rules_.topology, free, most, terms_.options.take);
  return taken ? *taken : CpuSet();
}

CpuSet ResizePlacement::usable(const CpuSet& pool) const {
  return terms_.options.whole_cores ? rules_.topology.whole_cores_within(pool) : pool;
}

CpuSet ResizePlacement::near(const CpuSet& pool, const NodeSet& nodes) const {
  if (!terms_.options.take.align_by_socket) return pool & rules_.topology.cpus_in(nodes);
  CpuSet sockets;
  for (const auto& node : rules_.topology.nodes()) {
    if (!nodes.contains(node.id)) continue;
    for (const Slot socket : node.sockets) sockets |= rules_.topology.socket(socket).cpus;
  }
  return pool & sockets;
}

std::pair<int, int> ResizePlacement::spread(const CpuSet& cpus) const {
  const int nodes = rules_.topology.nodes_of(cpus).size();
  const auto sockets = static_cast<int>(
      std::count_if(rules_.topology.sockets().begin(), rules_.topology.sockets().end(),
                    [&](const auto& socket) { return socket.cpus.intersects(cpus); }));
  return terms_.options.take.align_by_socket ? std::pair(sockets, nodes)
                                             : std::pair(nodes, sockets);
}

}  // namespace corehold
