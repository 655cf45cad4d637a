// SPDX-License-Identifier: Apache-2.0
//
// Family static_policy: whole sequences through the static policy. Every step is
// compared with the kubelet's; from the first step that falls under an exception
// on, ours goes its own way and is checked for soundness instead.
#include "policy/static_policy.h"

#include <set>

#include <fmt/format.h>

#include "alloc/take.h"
#include "exceptions.h"
#include "family.h"
#include "fields.h"
#include "pod/pod_json.h"
#include "policy/request.h"

namespace corehold::vectors {
namespace {

namespace json = boost::json;

std::string describe(const State& state) {
  std::string text = "shared " + state.shared.str();
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      text += fmt::format("; {}/{} {}", pod, name, holding.assigned.str());
    }
  }
  return text;
}

Result<StaticPolicy> make_policy(const json::object& line, const Topology& topology) {
  const json::object gates = TRY(object_of(line, "gates"));
  StaticConfig config;
  config.options = TRY(
      parse_static_options(TRY(texts_of(line, "options")),
                           {.alpha_options = TRY(flag_of(gates, "CPUManagerPolicyAlphaOptions")),
                            .beta_options = TRY(flag_of(gates, "CPUManagerPolicyBetaOptions"))}));
  config.reserved = TRY(cpus_of(line, "reservedCPUs"));
  config.reserved_count = static_cast<int>(TRY(number_of(line, "numReservedCPUs")));
  const std::string topology_policy = TRY(text_of(line, "topologyManagerPolicy"));
  if (!topology_policy.empty())
    config.topology_policy = TRY(parse_topology_policy(topology_policy));
  return StaticPolicy::make(topology, config);
}

// The texts agree up to their first number.
bool same_reason(std::string_view one, std::string_view other) {
  constexpr std::string_view kDigits = "0123456789";
  return one.substr(0, one.find_first_of(kDigits)) == other.substr(0, other.find_first_of(kDigits));
}

// One line being replayed.
class Replay {
 public:
  Replay(const json::object& line, const Topology& topology, const StaticPolicy& policy)
      : line_(line), topology_(topology), policy_(policy) {}

  Result<Verdict> run() {
    TRY(read_pods());
    aliasing_ = TRY(flag_of(line_, "dependsOnSliceAliasing"));
    if (TRY(flag_of(TRY(object_of(line_, "gates")), "PodLevelResourceManagers"))) {
      exception_ = kPodLevel;
    }
    check_reserved();
    const json::value* steps = find(line_, "steps");
    if (steps == nullptr || !steps->is_array()) {
      return Error{Code::kInvalid, "member steps is not a list"};
    }
    for (const json::value& step : steps->get_array()) {
      if (!step.is_object()) return Error{Code::kInvalid, "a step is not an object"};
      TRY(take_step(step.get_object()));
      if (failed_ || !started_) break;
    }
    if (failed_) return *failed_;
    return exception_.empty() ? Verdict::passed() : Verdict::skipped(exception_);
  }

 private:
  Result<void> read_pods() {
    const json::object pods = TRY(object_of(line_, "pods"));
    for (const auto& pod : pods) {
      pods_[pod.key()] = TRY(pod_from_json(TRY(object_of(pods, pod.key()))));
    }
    return {};
  }

  void fail(const json::object& step, std::string expected, std::string actual) {
    const auto at = [&step](const char* name) {
      const json::value* value = find(step, name);
      return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
    };
    const std::string where = fmt::format("{} {}/{}: ", at("op"), at("pod"), at("container"));
    failed_ = Verdict::failed(where + std::move(expected), where + std::move(actual));
  }

  void check_reserved() {
    const auto reserved = cpus_of(line_, "effectiveReserved");
    const auto cores = cpus_of(line_, "effectiveReservedPhysical");
    const bool same =
        reserved && cores && *reserved == policy_.reserved() && *cores == policy_.reserved_cores();
    if (same) return;
    if (!topology_.is_regular()) {
      exception_ = kIrregular;
    } else {
      fail({}, fmt::format("reserved {}", reserved ? reserved->str() : "?"),
           fmt::format("reserved {}", policy_.reserved().str()));
    }
  }

  // What ours answers: the new state, or the text of the error.
  Result<void> act(const json::object& step, State& state, std::string& error) {
    const std::string op = TRY(text_of(step, "op"));
    const ContainerRef ref{.pod = TRY(text_of(step, "pod")),
                           .container = TRY(text_of(step, "container"))};
    if (op == "start") {
      auto begun = policy_.start(TRY(state_of(TRY(object_of(line_, "initial")))));
      if (!begun) error = begun.error().message;
      state = begun ? *begun : TRY(state_of(TRY(object_of(line_, "initial"))));
    } else if (op == "allocateResize") {
      // A kubelet ignores a resize, and these sequences were recorded from one.
    } else if (op == "allocate") {
      TRY(allocate(ref, TRY(affinity_of(step)), state, error));
    } else if (op == "allocatePod") {
      const Pod& pod = pods_.at(ref.pod);
      for (const auto& list : {pod.init_containers, pod.containers}) {
        for (const Container& container : list) {
          TRY(allocate({.pod = ref.pod, .container = container.name}, TRY(affinity_of(step)), state,
                       error));
        }
      }
    } else if (op == "remove") {
      apply(state, policy_.release(state, ref));
    } else {
      return Error{Code::kInvalid, fmt::format("unknown step {:?}", op)};
    }
    return {};
  }

  Result<void> allocate(const ContainerRef& ref, const std::optional<NodeSet>& affinity,
                        State& state, std::string& error) {
    const auto pod = pods_.find(ref.pod);
    const Container* container = pod == pods_.end() ? nullptr : pod->second.find(ref.container);
    if (container == nullptr) {
      return Error{Code::kNotFound, fmt::format("no container {}/{}", ref.pod, ref.container)};
    }
    const Request request = request_of(pod->second, *container, affinity, {});
    const auto plan = policy_.allocate(state, request);
    const std::string fault =
        plan ? fault_of_grant(state, request, plan->granted) : fault_of_refusal(state, request);
    if (plan) {
      apply(state, *plan);
    } else {
      error = plan.error().message;
    }
    if (!fault.empty()) unsound_ = fmt::format("{} {}", fault, error);
    return {};
  }

  // What is wrong with giving the container these CPUs, whatever a kubelet does; "" for
  // nothing.
  std::string fault_of_grant(const State& state, const Request& request,
                             const CpuSet& granted) const {
    const Holding* held = state.find(request.container);
    if (request.cpus == 0 || held != nullptr) {
      return granted == (held == nullptr ? CpuSet{} : held->assigned) ? "" : "moved";
    }
    CpuSet pool = state.shared - policy_.reserved();
    if (const auto own = state.pods.find(request.container.pod); own != state.pods.end()) {
      for (const auto& [name, holding] : own->second) pool |= holding.assigned;
    }
    if (granted.size() != request.cpus) return fmt::format("granted {}", granted.str());
    return granted.is_subset_of(pool) ? "" : "granted CPUs of others";
  }

  // Whether the shared pool alone could have satisfied what was refused.
  std::string fault_of_refusal(const State& state, const Request& request) const {
    const CpuSet pool = state.shared - policy_.reserved();
    const int fewest =
        policy_.options().strict_cpu_reservation ? policy_.options().min_shared_cpus : 1;
    const bool fits = request.cpus <= pool.size() && state.shared.size() - request.cpus >= fewest;
    const bool aligned = !policy_.options().full_pcpus_only ||
                         take_whole_cores(topology_, pool, request.cpus).has_value();
    return fits && aligned ? "refused what could be given" : "";
  }

  Rules rules() const {
    Rules rules = policy_.rules();
    rules.init_containers.emplace();
    for (const auto& [uid, pod] : pods_) {
      for (const Container& container : pod.init_containers) {
        if (container.kind == Container::Kind::kInit) {
          rules.init_containers->insert({.pod = uid, .container = container.name});
        }
      }
    }
    return rules;
  }

  std::set<std::string> faults_of(const State& state) const {
    std::set<std::string> messages;
    for (const Violation& violation : violations(state, rules()))
      messages.insert(violation.message);
    return messages;
  }

  Result<void> take_step(const json::object& step) {
    const std::set<std::string> faults_before = faults_of(state_);
    std::string error;
    unsound_.clear();
    TRY(act(step, state_, error));
    const std::string expected_error = TRY(text_of(step, "error"));
    if (TRY(text_of(step, "op")) == "start") {
      started_ = error.empty();
      // What a kubelet would go on with is refused one level up.
      if (started_ && !faults_of(state_).empty() && policy_.check_start(state_)) {
        fail(step, "refused by check_start", describe(state_));
        return {};
      }
    } else {
      check_soundness(step, faults_before);
    }
    if (failed_ || !exception_.empty()) return {};
    if (TRY(flag_of(step, "hang"))) {
      exception_ = kHang;
      return {};
    }
    const State expected = TRY(state_of(step));
    const bool same = error == expected_error && state_.shared == expected.shared &&
                      describe(state_) == describe(expected);
    if (!same) excuse(step, expected, error, expected_error);
    return {};
  }

  // Ours must be sound on every line, exempt or not: no fault that was not there before.
  void check_soundness(const json::object& step, const std::set<std::string>& faults_before) {
    if (!unsound_.empty()) fail(step, "a sound answer", unsound_);
    for (const std::string& fault : faults_of(state_)) {
      if (!faults_before.contains(fault)) {
        fail(step, "a sound state", fmt::format("{}; {}", fault, describe(state_)));
      }
    }
  }

  // The answers differ: find the exception, or fail.
  void excuse(const json::object& step, const State& expected, const std::string& error,
              const std::string& expected_error) {
    if (const auto fault = fault_of(expected)) {
      exception_ = broken(*fault);
    } else if (aliasing_) {
      exception_ = kSliceAliasing;
    } else if (!topology_.is_regular() && is_no_worse(step, expected, error, expected_error)) {
      exception_ = kIrregular;
    } else {
      fail(step, fmt::format("{} | {}", expected_error, describe(expected)),
           fmt::format("{} | {}", error, describe(state_)));
    }
  }

  // The first invariant that the expected state breaks where ours does not.
  std::optional<Invariant> fault_of(const State& expected) const {
    const std::set<std::string> ours = faults_of(state_);
    for (const Violation& theirs : violations(expected, rules())) {
      if (!ours.contains(theirs.message)) return theirs.invariant;
    }
    return std::nullopt;
  }

  // On an irregular machine: what a kubelet can give we give too, in no fewer cores.
  bool is_no_worse(const json::object& step, const State& expected, const std::string& error,
                   const std::string& expected_error) const {
    // Both refuse: for the same reason, whatever they count as CPUs per core.
    if (!expected_error.empty() && !error.empty()) return same_reason(error, expected_error);
    if (!expected_error.empty()) return true;  // ours is checked for soundness by itself
    const auto pod = text_of(step, "pod");
    const auto container = text_of(step, "container");
    if (!error.empty() || !pod || !container) return false;
    const Holding* ours = state_.find({.pod = *pod, .container = *container});
    const Holding* theirs = expected.find({.pod = *pod, .container = *container});
    if (ours == nullptr || theirs == nullptr) return false;
    return ours->assigned.size() == theirs->assigned.size() &&
           topology_.count_whole_cores(ours->assigned) >=
               topology_.count_whole_cores(theirs->assigned);
  }

  const json::object& line_;
  const Topology& topology_;
  const StaticPolicy& policy_;
  std::map<std::string, Pod> pods_;
  State state_;
  bool started_ = true;
  bool aliasing_ = false;
  std::string unsound_;  // what is wrong with the answer to the current step
  std::string exception_;
  std::optional<Verdict> failed_;
};

// A refusal of the kubelet's constructor that KEP-5554 does not share. Ours goes on,
// perhaps to another reason to refuse.
bool is_extra_pair(std::string_view error) {
  return error.find("prefer-align-cpus-by-uncorecache and distribute-cpus") !=
         std::string_view::npos;
}

}  // namespace

Result<Verdict> judge_static_policy(const json::object& line, const Machines& machines) {
  const Topology& topology = *TRY(machine_of(line, machines));
  const std::string expected = TRY(text_of(line, "newError"));
  const auto policy = make_policy(line, topology);
  if (policy && expected.empty()) return Replay(line, topology, *policy).run();
  const std::string error = policy ? "" : policy.error().message;
  if (error == expected) return Verdict::passed();
  if (is_extra_pair(expected)) return Verdict::skipped(std::string(kOptionPair));
  return Verdict::failed("constructor: " + expected, "constructor: " + error);
}

}  // namespace corehold::vectors
