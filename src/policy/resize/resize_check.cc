// SPDX-License-Identifier: Apache-2.0
#include "policy/resize/resize_check.h"

#include <fmt/format.h>

#include "hints/memory.h"
#include "policy/refusal_text.h"

namespace corehold {
namespace {

class ResizeChecker {
 public:
  ResizeChecker(const AdmissionRules& rules, const ResizeGates& gates, const ResizeTerms* terms,
                const Bookings& bookings, const Pod& now, const Pod& wanted)
      : rules_(rules),
        gates_(gates),
        terms_(terms),
        bookings_(bookings),
        now_(now),
        wanted_(wanted),
        qos_(qos_class(now, rules.pod_gates)) {}

  std::optional<ResizeRefusal> run() const {
    if (auto refusal = check_pod()) return refusal;
    const auto containers = in_starting_order(wanted_);
    for (const Container* to : containers) {
      const Container* from = now_.find(to->name);
      if (from == nullptr) continue;
      if (auto refusal = check_container(*from, *to)) return refusal;
    }
    return std::nullopt;
  }

 private:
  static ResizeRefusal told(std::string_view container, std::string text, std::string message) {
    return {.container = std::string(container),
            .text = std::move(text),
            .message = std::move(message)};
  }

  ResizeRefusal refuse(const Container* container, std::string_view text,
                       std::string_view detail) const {
    return told(container == nullptr ? "" : std::string_view(container->name), std::string(text),
                fmt::format("{}{}{}{}", whose(wanted_, container), text, detail.empty() ? "" : "; ",
                            detail));
  }

  static ResizeRefusal named(std::string_view error, const Container& container,
                             std::string_view text) {
    ResizeRefusal refusal =
        told(container.name, std::string(text), fmt::format("{}: {}", error, text));
    refusal.error = error;
    return refusal;
  }

  std::optional<ResizeRefusal> check_pod() const {
    if (!gates_.in_place) {
      return refuse(nullptr, "in-place resize is off on this node",
                    "feature gate InPlacePodVerticalScaling");
    }
    if (has_pod_level_resources(now_) || has_pod_level_resources(wanted_)) {
      return refuse(nullptr, "pods with pod-level resources cannot be resized", "");
    }
    const QosClass then = qos_by_resources(wanted_, rules_.pod_gates);
    if (then == qos_) return std::nullopt;
    std::string detail = fmt::format("it is {} and would be {}", name_of(qos_), name_of(then));
    for (const Container* container : in_starting_order(wanted_)) {
      for (const std::string_view resource : {kCpu, kMemory}) {
        const Quantity request = container->request(resource);
        const Quantity limit = container->limit(resource);
        if (request == limit) continue;
        detail += fmt::format("; container {}: {} request {}, limit {}", container->name, resource,
                              request.str(), limit.str());
      }
    }
    return refuse(nullptr, "Pod QOS Class may not change as a result of resizing", detail);
  }

  std::optional<ResizeRefusal> check_container(const Container& from, const Container& to) const {
    if (to.kind == Container::Kind::kInit) {
      if (from.resources == to.resources) return std::nullopt;
      return refuse(&to, "init containers cannot be resized", "");
    }
    if (auto refusal = check_memory(from, to)) return refusal;
    if (terms_ == nullptr) return std::nullopt;
    const std::int64_t had = exclusive_cpus(qos_, from);
    const std::int64_t has = exclusive_cpus(qos_, to);
    if (had == 0 && has == 0) return std::nullopt;
    if (!gates_.exclusive_cpus && from.request(kCpu) != to.request(kCpu)) {
      return refuse(&to,
                    fmt::format("Resize is infeasible for Guaranteed Pods alongside CPU Manager "
                                "policy \"{}\"",
                                rules_.policy.name()),
                    "feature gate InPlacePodVerticalScalingExclusiveCPUs is off");
    }
    if ((had == 0) != (has == 0)) return inconsistent(from, to, had == 0);
    const Holding* holding = bookings_.cpus.find(wanted_.uid, to.name);
    // A container that has ended holds nothing, which does not keep others from changing.
    if (holding == nullptr && had == has) return std::nullopt;
    return check_count(from, to, holding, has);
  }

  std::optional<ResizeRefusal> check_memory(const Container& from, const Container& to) const {
    if (bookings_.memory.find(wanted_.uid, to.name) == nullptr) return std::nullopt;
    const auto before = memory_request(now_, from, rules_.pod_gates);
    const auto after = memory_request(wanted_, to, rules_.pod_gates);
    if (before && after && *before == *after) return std::nullopt;
    return refuse(&to,
                  "Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "
                  "\"Static\"",
                  "its memory has its place on NUMA nodes");
  }

  ResizeRefusal inconsistent(const Container& from, const Container& to, bool to_exclusive) const {
    return named("inconsistentCPUAllocationError", to,
                 fmt::format("container {} of pod {} cannot move from {} CPUs: RequestedCPUs={}, "
                             "AllocatedCPUs={}, Shared2Exclusive={}",
                             to.name, display_name(wanted_),
                             to_exclusive ? "shared to exclusive" : "exclusive to shared",
                             to.request(kCpu).str(), from.request(kCpu).str(), to_exclusive));
  }

  std::optional<ResizeRefusal> check_count(const Container& from, const Container& to,
                                           const Holding* holding, std::int64_t count) const {
    if (holding != nullptr && holding->assigned.size() == count) return std::nullopt;
    if (!gates_.exclusive_cpus) {
      return refuse(&to, "its CPUs cannot change",
                    "feature gate InPlacePodVerticalScalingExclusiveCPUs is off");
    }
    if (holding == nullptr || holding->promised.empty()) {
      return named("getPromisedCPUSetError", to,
                   fmt::format("no CPUs are on record as promised to container {} of pod {}: "
                               "PodUID={}, ContainerName={}",
                               to.name, display_name(wanted_), wanted_.uid, to.name));
    }
    const int promised = holding->promised.size();
    if (count < promised) {
      return named("prohibitedCPUAllocationError", to,
                   fmt::format("container {} of pod {} cannot have less than the CPUs it was "
                               "promised, {}: RequestedCPUs={}, AllocatedCPUs={}, PromisedCPUs={}, "
                               "GuaranteedCPUs={}",
                               to.name, display_name(wanted_), holding->promised.str(),
                               to.request(kCpu).str(), from.request(kCpu).str(), promised, count));
    }
    return std::nullopt;
  }

  const AdmissionRules& rules_;
  const ResizeGates& gates_;
  const ResizeTerms* terms_;
  const Bookings& bookings_;
  const Pod& now_;
  const Pod& wanted_;
  const QosClass qos_;  // now, and afterwards too
};

}  // namespace

std::optional<ResizeRefusal> check_resize(const AdmissionRules& rules, const ResizeGates& gates,
                                          const ResizeTerms* terms, const Bookings& bookings,
                                          const Pod& now, const Pod& wanted) {
  return ResizeChecker(rules, gates, terms, bookings, now, wanted).run();
}

}  // namespace corehold
