// SPDX-License-Identifier: Apache-2.0
//
// The manager alone: what one operation costs on a node where N containers run already.
// An operation is a command and everything that follows from it, until no effect waits for
// an answer. A driver in place of shell, store and runtime answers every effect with
// success, all effects of one step together, as the shell does. Measured is the CPU time
// within step(); the driver's own time and the way back to the state before are not.
#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "manager/step.h"
#include "pod/testing.h"
#include "policy/static_policy.h"
#include "topology/testing.h"

namespace corehold {
namespace {

// Who runs on the node.
enum class Population {
  kShared,     // containers without CPUs of their own, on 256 CPUs
  kExclusive,  // containers with one CPU each, on 4,096 CPUs
};

constexpr const char* kMeasured = "measured";  // the pod that comes, changes and goes

Pod shared_pod(std::string_view name) { return pod_of(name, {"main"}); }
Pod exclusive_pod(std::string_view name, int cpus) {
  return pod_of(name, {fmt::format("main cpu={} memory=1Gi", cpus)});
}
Pod pod_number(Population population, int number) {
  const std::string name = fmt::format("pod-{}", number);
  return population == Population::kShared ? shared_pod(name) : exclusive_pod(name, 1);
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A manager and the smallest machine it can work with.
class Driver {
 public:
  Driver(Population population, int containers)
      : topology_(machine(population == Population::kShared ? "2s8l8c2t" : "8s256c2t")),
        policy_(*StaticPolicy::make(topology_, {.reserved_count = 2})),
        rules_{.admission = {.topology = topology_, .policy = policy_},
               .invariants = policy_.rules(),
               .resize = {.exclusive_cpus = true}} {
    const State empty = *policy_.start({});
    node_.placing.bookings.cpus = empty;
    run(Recover{.cpus = empty, .online = topology_.cpus()});
    std::vector<Command> all;
    all.reserve(static_cast<std::size_t>(containers));
    for (int number = 0; number < containers; ++number) {
      all.push_back(CreatePod{.pod = pod_number(population, number)});
    }
    run(std::move(all));
    CHECK(static_cast<int>(running_.size()) == containers);
  }

  // What an operation has cost.
  struct Cost {
    double seconds = 0;
    int steps = 0;
    int effects = 0;
  };

  // Sends the commands together, and answers until nothing is left to answer.
  Cost run(std::vector<Command> commands) {
    Cost cost;
    for (;;) {
      if (commands.empty()) {
        commands = due_timer();
        if (commands.empty()) return cost;
      }
      const double begin = cpu_seconds();
      Outcome outcome = step(rules_, std::move(node_), commands, now_);
      cost.seconds += cpu_seconds() - begin;
      ++cost.steps;
      cost.effects += static_cast<int>(outcome.effects.size());
      node_ = std::move(outcome.node);
      commands.clear();
      for (const Effect& effect : outcome.effects) {
        std::visit([&](const auto& typed) { answer(typed, commands); }, effect);
      }
    }
  }
  Cost run(Command command) { return run(std::vector<Command>{std::move(command)}); }

  Cost create(Pod pod) { return run(CreatePod{.pod = std::move(pod)}); }
  Cost remove(const std::string& uid) { return run(DeletePod{.uid = uid}); }
  Cost resize(Pod pod) { return run(ResizePod{.pod = std::move(pod)}); }
  Cost edit(Pod pod) { return run(UpdatePod{.pod = std::move(pod)}); }
  Cost exit(const std::string& uid) { return run(ended(main_of(uid))); }
  Cost reconcile() { return run(TimerFired{{.kind = TimerKey::Kind::kReconcile}}); }

  // The CPUs that the container `main` of the pod runs on; 0: it does not run.
  int cpus_of(const std::string& uid) const {
    const auto found = running_.find(main_of(uid));
    return found == running_.end() ? 0 : found->second.cpus.size();
  }
  int attempt_of(const std::string& uid) const { return running_.at(main_of(uid)).attempt; }
  bool is_known(const std::string& uid) const { return node_.running.pods.contains(uid); }

 private:
  struct Running {
    int attempt = 0;
    CpuSet cpus{};
  };

  static ContainerRef main_of(const std::string& uid) { return {.pod = uid, .container = "main"}; }

  ContainerExited ended(const ContainerRef& ref) {
    const int attempt = running_.at(ref).attempt;
    running_.erase(ref);
    return {.container = ref, .attempt = attempt, .exit = {.code = 1, .finished_at = now_.wall}};
  }

  // The timer that is due first, but for the one that reconciles.
  std::vector<Command> due_timer() {
    const auto next =
        std::min_element(timers_.begin(), timers_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (next == timers_.end()) return {};
    const auto wait = std::max(next->second - now_.steady, SteadyTime{});
    now_.steady += wait;
    now_.wall += std::chrono::ceil<WallTime>(wait);
    const TimerKey key = next->first;
    timers_.erase(next);
    return {TimerFired{key}};
  }

  void answer(const SavePod& effect, std::vector<Command>& to) {
    to.push_back(PodSaved{.uid = effect.record.pod.uid});
  }
  void answer(const ForgetPod& effect, std::vector<Command>& to) {
    to.push_back(PodForgotten{.uid = effect.uid});
  }
  void answer(const PersistCheckpoint& effect, std::vector<Command>& to) {
    to.push_back(CheckpointSaved{.revision = effect.revision});
  }
  void answer(const WritePodInfo& effect, std::vector<Command>& to) {
    to.push_back(PodInfoWritten{.uid = effect.uid});
  }
  void answer(const SetCpuset& effect, std::vector<Command>& to) {
    running_.at(effect.container).cpus = effect.placement.cpus;
    to.push_back(CpusetApplied{.container = effect.container, .cpus = effect.placement.cpus});
  }
  void answer(const SetSharedCpus& effect, std::vector<Command>& to) {
    for (auto& [ref, container] : running_) {
      if (node_.placing.pool.members.contains(ref)) container.cpus = effect.cpus;
    }
    to.push_back(SharedCpusApplied{.cpus = effect.cpus});
  }
  void answer(const Isolate& effect, std::vector<Command>& to) {
    to.push_back(Isolated{.held = effect.held});
  }
  void answer(const StartContainer& effect, std::vector<Command>& to) {
    running_[effect.container] = {.attempt = effect.attempt, .cpus = effect.placement.cpus};
    to.push_back(ContainerStarted{.container = effect.container, .attempt = effect.attempt});
  }
  void answer(const StopContainer& effect, std::vector<Command>& to) {
    if (running_.contains(effect.container)) to.push_back(ended(effect.container));
  }
  void answer(const StartTimer& effect, std::vector<Command>& /*to*/) {
    if (effect.timer.kind == TimerKey::Kind::kReconcile) return;
    timers_[effect.timer] = now_.steady + effect.after;
  }
  void answer(const CancelTimer& effect, std::vector<Command>& /*to*/) {
    timers_.erase(effect.timer);
  }
  void answer(const Observe& /*effect*/, std::vector<Command>& to) {
    Observed observed{.online = topology_.cpus()};
    observed.seen.reserve(running_.size());
    for (const auto& [ref, container] : running_) {
      observed.seen.push_back({.container = ref,
                               .attempt = container.attempt,
                               .running = true,
                               .cpus = container.cpus});
    }
    to.push_back(std::move(observed));
  }
  template <typename Other>
  void answer(const Other& /*effect*/, std::vector<Command>& /*to*/) {}

  const Topology topology_;
  const StaticPolicy policy_;
  const ManagerRules rules_;
  NodeState node_{};
  Now now_{.steady = std::chrono::hours(1), .wall = std::chrono::hours(1000)};
  std::map<ContainerRef, Running> running_{};
  std::map<TimerKey, SteadyTime> timers_{};
};

// A node that runs so many containers; every operation leaves it as it has found it.
Driver& node_with(Population population, int containers) {
  static std::map<std::pair<Population, int>, std::unique_ptr<Driver>> nodes;
  std::unique_ptr<Driver>& node = nodes[{population, containers}];
  if (!node) node = std::make_unique<Driver>(population, containers);
  return *node;
}

// One operation on the pod `measured` or on `neighbour`, one of those that run already, and
// the way back. No value: it did not come to its end.
using Measured = std::optional<Driver::Cost>;
using Operation = Measured (*)(Driver& node, const Pod& neighbour);

Measured when(bool is_done, const Driver::Cost& cost) {
  return is_done ? Measured(cost) : std::nullopt;
}

Measured create(Driver& node, const Pod& pod) {
  const Driver::Cost cost = node.create(pod);
  const bool is_done = node.cpus_of(kMeasured) > 0;
  node.remove(kMeasured);
  return when(is_done, cost);
}
Measured create_shared(Driver& node, const Pod& /*neighbour*/) {
  return create(node, shared_pod(kMeasured));
}
Measured create_exclusive(Driver& node, const Pod& /*neighbour*/) {
  return create(node, exclusive_pod(kMeasured, 2));
}

Measured remove(Driver& node, const Pod& pod) {
  node.create(pod);
  const Driver::Cost cost = node.remove(kMeasured);
  return when(!node.is_known(kMeasured), cost);
}
Measured delete_shared(Driver& node, const Pod& /*neighbour*/) {
  return remove(node, shared_pod(kMeasured));
}
Measured delete_exclusive(Driver& node, const Pod& /*neighbour*/) {
  return remove(node, exclusive_pod(kMeasured, 2));
}

// Measures one or the other of: from 2 CPUs to 4, and back.
Measured resize(Driver& node, int measured_target) {
  node.create(exclusive_pod(kMeasured, 2));
  Measured measured;
  for (const int cpus : {4, 2}) {
    const Driver::Cost cost = node.resize(exclusive_pod(kMeasured, cpus));
    if (cpus == measured_target) measured = when(node.cpus_of(kMeasured) == cpus, cost);
  }
  node.remove(kMeasured);
  return measured;
}
Measured grow(Driver& node, const Pod& /*neighbour*/) { return resize(node, 4); }
Measured shrink(Driver& node, const Pod& /*neighbour*/) { return resize(node, 2); }

Measured restart(Driver& node, const Pod& neighbour) {
  const int before = node.attempt_of(neighbour.uid);
  const Driver::Cost cost = node.exit(neighbour.uid);
  return when(node.cpus_of(neighbour.uid) > 0 && node.attempt_of(neighbour.uid) == before + 1,
              cost);
}

Measured label(Driver& node, const Pod& neighbour) {
  Pod labelled = neighbour;
  labelled.labels["tier"] = "web";
  const Driver::Cost cost = node.edit(labelled);
  node.edit(neighbour);
  return when(cost.effects > 0, cost);
}

Measured reconcile(Driver& node, const Pod& neighbour) {
  const Driver::Cost cost = node.reconcile();
  return when(cost.steps > 1 && node.cpus_of(neighbour.uid) > 0, cost);
}

void measure(benchmark::State& state, Population population, Operation operation) {
  const int containers = static_cast<int>(state.range(0));
  Driver& node = node_with(population, containers);
  const Pod neighbour = pod_number(population, containers / 2);
  Driver::Cost last;
  for (auto _ : state) {
    const Measured cost = operation(node, neighbour);
    if (!cost) return state.SkipWithError("the operation did not come to its end");
    state.SetIterationTime(cost->seconds);
    last = *cost;
  }
  state.SetLabel(fmt::format("{} steps, {} effects", last.steps, last.effects));
}

struct NamedOperation {
  const char* name;
  Operation operation;
};
constexpr std::array kOperations{
    NamedOperation{"create_shared", create_shared},
    NamedOperation{"create_exclusive", create_exclusive},
    NamedOperation{"grow", grow},
    NamedOperation{"shrink", shrink},
    NamedOperation{"restart", restart},
    NamedOperation{"label", label},
    NamedOperation{"delete_shared", delete_shared},
    NamedOperation{"delete_exclusive", delete_exclusive},
    NamedOperation{"reconcile", reconcile},
};

void add(std::string_view among, Population population, const std::vector<std::int64_t>& sizes) {
  for (const auto& [name, operation] : kOperations) {
    benchmark::RegisterBenchmark(fmt::format("manager/{}/{}", among, name).c_str(), measure,
                                 population, operation)
        ->ArgsProduct({sizes})
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace corehold

int main(int count, char** words) {
  corehold::add("among_shared", corehold::Population::kShared, {10, 100, 250, 1000, 5000});
  corehold::add("among_exclusive", corehold::Population::kExclusive, {10, 100, 250, 1000, 4000});
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
