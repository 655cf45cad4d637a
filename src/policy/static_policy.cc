// SPDX-License-Identifier: Apache-2.0
#include "policy/static_policy.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "hints/cpu_hints.h"
#include "pod/qos.h"

namespace corehold {
namespace {

// The CPUs that init containers of the request's pod have left and that are still the
// pod's: not given back to the shared pool meanwhile, and not a lasting container's.
CpuSet reusable(const State& state, const Request& request) {
  const std::string& pod = request.container.pod;
  const auto containers = state.pods.find(pod);
  if (state.reuse.pod != pod || containers == state.pods.end()) return {};
  CpuSet left;
  for (const auto& [name, holding] : containers->second) left |= holding.assigned;
  left &= state.reuse.cpus;
  for (const std::string& name : request.lasting) {
    const auto lasting = containers->second.find(name);
    if (lasting != containers->second.end()) left -= lasting->second.assigned;
  }
  return left;
}

// What the pod's next container may reuse once this one has `granted`.
SetReuse reuse_after(const CpuSet& reused, const Request& request, const CpuSet& granted) {
  return {.reuse = {.pod = request.container.pod,
                    .cpus = request.kind == Container::Kind::kInit ? reused | granted
                                                                   : reused - granted}};
}

// The CPUs that a pod with these containers needs at the most demanding moment of its life.
int most_at_once(const std::vector<Request>& requests) {
  Peak peak;
  for (const Request& request : requests) peak.start(request.kind, std::max(0, request.cpus));
  return static_cast<int>(std::min<std::int64_t>(peak.most(), std::numeric_limits<int>::max()));
}

Result<CpuSet> choose_reserved(const Topology& topology, const TakeOptions& options,
                               const StaticConfig& config) {
  CpuSet reserved = config.reserved;
  if (reserved.empty()) {
    auto taken = take_by_topology(topology, topology.cpus(), config.reserved_count, options);
    if (taken) reserved = *taken;
  }
  if (reserved.size() != config.reserved_count) {
    return Error{Code::kInvalid, fmt::format("[cpumanager] unable to reserve the required amount "
                                             "of CPUs (size of {} did not equal {})",
                                             reserved.str(), config.reserved_count)};
  }
  const CpuSet unknown = reserved - topology.cpus();
  if (!unknown.empty()) {
    return Error{Code::kInvalid, fmt::format("[cpumanager] unable to build the reserved physical "
                                             "CPUs from the reserved set: unknown CPU ID: {}",
                                             unknown.first().value)};
  }
  return reserved;
}

}  // namespace

StaticPolicy::StaticPolicy(const Topology& topology, const StaticConfig& config)
    : topology_(&topology), options_(config.options) {}

Result<StaticPolicy> StaticPolicy::make(const Topology& topology, const StaticConfig& config) {
  TRY(check_static_options(config.options, topology, config.topology_policy));
  StaticPolicy policy(topology, config);
  policy.reserved_ = TRY(choose_reserved(topology, policy.take_options(), config));
  policy.reserved_cores_ = topology.whole_cores_touching(policy.reserved_);
  return policy;
}

Rules StaticPolicy::rules() const {
  return {.topology = *topology_,
          .reserved = reserved_,
          .strict_reservation = options_.strict_cpu_reservation,
          .full_pcpus_only = options_.full_pcpus_only};
}

CpuSet StaticPolicy::managed() const {
  return options_.strict_cpu_reservation ? topology_->cpus() - reserved_ : topology_->cpus();
}

TakeOptions StaticPolicy::take_options() const {
  return {.order = options_.distribute_across_cores ? CpuOrder::kSpread : CpuOrder::kPacked,
          .prefer_uncore = options_.prefer_align_by_uncore,
          .across_numa = options_.distribute_across_numa,
          .group_size = options_.full_pcpus_only ? topology_->threads_per_core() : 1,
          .align_by_socket = options_.align_by_socket};
}

int StaticPolicy::fewest_shared() const {
  return options_.strict_cpu_reservation ? std::max(1, options_.min_shared_cpus) : 1;
}

std::optional<ResizeTerms> StaticPolicy::resize_terms() const {
  return ResizeTerms{.reserved = reserved_,
                     .fewest_shared = fewest_shared(),
                     .options = {.take = take_options(), .whole_cores = options_.full_pcpus_only}};
}

Result<State> StaticPolicy::start(State state) const {
  const auto conflict = [](std::string message) {
    return Error{Code::kConflict, std::move(message)};
  };
  state.policy = name();
  if (state.shared.empty()) {
    if (!state.pods.empty()) return conflict("default cpuset cannot be empty");
    state.shared = managed();
    return state;
  }
  const CpuSet shared_reserved = state.shared & reserved_;
  if (options_.strict_cpu_reservation && !shared_reserved.empty()) {
    return conflict(
        fmt::format("some of strictly reserved cpus: \"{}\" are present in defaultCpuSet: \"{}\"",
                    shared_reserved.str(), state.shared.str()));
  }
  if (!options_.strict_cpu_reservation && shared_reserved != reserved_) {
    return conflict(
        fmt::format("not all reserved cpus: \"{}\" are present in defaultCpuSet: \"{}\"",
                    reserved_.str(), state.shared.str()));
  }
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      if (!holding.assigned.intersects(state.shared)) continue;
      return conflict(
          fmt::format("pod: {}, container: {} cpuset: \"{}\" overlaps with default cpuset \"{}\"",
                      pod, name, holding.assigned.str(), state.shared.str()));
    }
  }
  const CpuSet known = state.shared | state.exclusive();
  if (known != managed()) {
    return conflict(
        fmt::format("current set of available CPUs \"{}\" doesn't match with CPUs in state \"{}\"",
                    managed().str(), known.str()));
  }
  return state;
}

Result<void> StaticPolicy::check_start(const State& state) const {
  if (reserved_.empty()) {
    return Error{Code::kInvalid,
                 "policy static needs at least one reserved CPU; set reservedSystemCPUs, "
                 "kubeReserved or systemReserved"};
  }
  const std::vector<Violation> found = violations(state, rules());
  if (!found.empty()) return Error{Code::kConflict, found.front().message};
  return {};
}

HintFamily StaticPolicy::hints_for(const CpuSet& available, const CpuSet& reusable,
                                   int count) const {
  return cpu_hints(
      *topology_, available, reusable, count,
      options_.align_by_socket ? SocketAlignment::kPreferred : SocketAlignment::kIgnored);
}

std::optional<HintFamily> StaticPolicy::hints(const State& state, const Request& request) const {
  if (request.cpus <= 0) return std::nullopt;
  if (const Holding* holding = state.find(request.container)) {
    if (holding->assigned.size() != request.cpus) return HintFamily{};
    return hints_for(holding->assigned, {}, request.cpus);
  }
  return hints_for(state.shared - reserved_, reusable(state, request), request.cpus);
}

std::optional<HintFamily> StaticPolicy::pod_hints(const State& state,
                                                  const std::vector<Request>& requests) const {
  const int count = most_at_once(requests);
  if (count <= 0) return std::nullopt;
  CpuSet assigned;
  for (const Request& request : requests) {
    const Holding* holding = state.find(request.container);
    if (holding == nullptr) continue;
    if (holding->assigned.size() != std::max(0, request.cpus)) return HintFamily{};
    assigned |= holding->assigned;
  }
  if (assigned.size() == count) return hints_for(assigned, {}, count);
  return hints_for(state.shared - reserved_, assigned | reusable(state, requests.front()), count);
}

CpuSet StaticPolicy::candidates(const State& state, const Request& request) const {
  if (request.cpus <= 0) return {};
  CpuSet pool = (state.shared - reserved_) | reusable(state, request);
  if (options_.full_pcpus_only) pool = topology_->whole_cores_within(pool);
  if (const Holding* holding = state.find(request.container)) pool = holding->assigned;
  return request.affinity ? aligned_part(pool, *request.affinity) : pool;
}

Result<Plan> StaticPolicy::allocate(const State& state, const Request& request) const {
  if (request.cpus <= 0) return Plan{};
  const CpuSet reused = reusable(state, request);
  if (const Holding* holding = state.find(request.container)) {
    return Plan{.edits = {reuse_after(reused, request, holding->assigned)},
                .granted = holding->assigned};
  }
  TRY(check_alignment(state, request.cpus));
  const CpuSet pool = (state.shared - reserved_) | reused;
  CpuSet granted = TRY(choose_preferred(pool, request));
  if (!check_shared_pool(state.shared - granted)) {
    granted = TRY(choose_reused_first(pool, reused, request));
  }
  const CpuSet shared = state.shared - granted;
  TRY(check_shared_pool(shared));
  return Plan{.edits = {SetShared{shared}, Assign{request.container, granted},
                        reuse_after(reused, request, granted)},
              .granted = granted};
}

// With full-pcpus-only a request must be whole cores, and siblings of reserved CPUs do
// not count, since their cores can never be whole.
Result<void> StaticPolicy::check_alignment(const State& state, int count) const {
  if (!options_.full_pcpus_only) return {};
  const int threads = topology_->threads_per_core();
  if (topology_->cores_are_alike() && count % threads != 0) {
    return Error{
        Code::kUnaligned,
        fmt::format("SMT Alignment Error: requested {} cpus not multiple cpus per core = {}", count,
                    threads)};
  }
  const int free = (state.shared - reserved_cores_).size();
  if (count > free) return too_few_cores(free, count);
  return {};
}

Error StaticPolicy::too_few_cores(int free, int count) const {
  return {Code::kUnaligned,
          fmt::format("SMT Alignment Error: not enough free physical CPUs: available physical "
                      "CPUs = {}, requested CPUs = {}, CPUs per core = {}",
                      free, count, topology_->threads_per_core())};
}

CpuSet StaticPolicy::aligned_part(const CpuSet& pool, const NodeSet& affinity) const {
  if (!options_.align_by_socket) return pool & topology_->cpus_in(affinity);
  CpuSet sockets;
  for (const auto& node : topology_->nodes()) {
    if (!affinity.contains(node.id)) continue;
    for (const Slot socket : node.sockets) sockets |= topology_->socket(socket).cpus;
  }
  return pool & sockets;
}

Result<CpuSet> StaticPolicy::choose_preferred(const CpuSet& pool, const Request& request) const {
  if (request.partition != CpuPartition::kNone) {
    const CpuSet quiet = pool & topology_->quiet();
    const CpuSet near = request.affinity ? aligned_part(quiet, *request.affinity) : quiet;
    if (near.size() >= request.cpus) {
      auto chosen = choose(near, request);
      if (chosen) return chosen;
    }
  }
  return choose(pool, request);
}

Result<CpuSet> StaticPolicy::choose(const CpuSet& pool, const Request& request) const {
  CpuSet chosen;
  if (request.affinity) {
    const CpuSet aligned = aligned_part(pool, *request.affinity);
    chosen = TRY(take_by_topology(*topology_, aligned, std::min(request.cpus, aligned.size()),
                                  take_options()));
  }
  chosen |= TRY(
      take_by_topology(*topology_, pool - chosen, request.cpus - chosen.size(), take_options()));
  return splits_cores(chosen) ? choose_whole_cores(pool, request) : chosen;
}

// Where the usual choice would split a core: from whole cores alone, as many of them as
// can be near the affinity.
Result<CpuSet> StaticPolicy::choose_whole_cores(const CpuSet& pool, const Request& request) const {
  if (request.affinity) {
    const CpuSet near = topology_->whole_cores_within(aligned_part(pool, *request.affinity));
    int part = std::min(request.cpus, near.size());
    for (int tries = topology_->threads_per_core(); tries > 0 && part > 0; --tries, --part) {
      const auto aligned = take_whole_cores(*topology_, near, part);
      if (!aligned) continue;
      const auto rest = take_whole_cores(*topology_, pool - *aligned, request.cpus - part);
      if (rest) return *aligned | *rest;
    }
  }
  auto chosen = take_whole_cores(*topology_, pool, request.cpus);
  if (chosen) return chosen;
  const Error too_few = too_few_cores(topology_->whole_cores_within(pool).size(), request.cpus);
  return Error{too_few.code, fmt::format("{}; {}", too_few.message, chosen.error().message)};
}

// Where the usual choice would leave too few CPUs to the shared pool: what the pod has
// already is used up before anything is taken from there.
Result<CpuSet> StaticPolicy::choose_reused_first(const CpuSet& pool, const CpuSet& reused,
                                                 const Request& request) const {
  const CpuSet chosen = TRY(take_by_topology(*topology_, pool, request.cpus, take_options(),
                                             {.keep = {}, .prefer = reused}));
  if (!splits_cores(chosen)) return chosen;
  return take_whole_cores(*topology_, pool, request.cpus);
}

bool StaticPolicy::splits_cores(const CpuSet& cpus) const {
  return options_.full_pcpus_only && topology_->whole_cores_within(cpus) != cpus;
}

Result<void> StaticPolicy::check_shared_pool(const CpuSet& left) const {
  const int fewest = fewest_shared();
  if (left.size() >= fewest) return {};
  return Error{Code::kExhausted,
               fmt::format("not enough cpus available to satisfy request: it would leave {} CPUs "
                           "in the shared pool, which keeps at least {}",
                           left.size(), fewest)};
}

Plan StaticPolicy::release(const State& state, const ContainerRef& container) const {
  const Holding* holding = state.find(container);
  if (holding == nullptr) return {};
  const CpuSet freed = holding->assigned - state.pods.held_by_several();
  return Plan{.edits = {Forget{container}, SetShared{state.shared | freed}}, .granted = {}};
}

}  // namespace corehold
