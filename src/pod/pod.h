// SPDX-License-Identifier: Apache-2.0
//
// Pod and Container: the part of a Kubernetes pod that decides about CPUs. What
// is not modelled stays in `raw`, the JSON the pod came from, and is written
// back with it (pod_json.h). Plain data; nothing here is checked or defaulted
// unless one of the functions below is called.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pod/quantity.h"
#include "pod/raw_object.h"

namespace corehold {

inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kMemory = "memory";

// Amounts by resource name.
using ResourceList = std::map<std::string, Quantity, std::less<>>;

struct Resources {
  ResourceList requests{};
  ResourceList limits{};

  bool operator==(const Resources&) const = default;
};

struct Container {
  enum class Kind {
    kApp,
    kInit,     // runs to its end before the next one starts
    kSidecar,  // an init container with restartPolicy Always: runs beside the rest
  };

  std::string name{};
  Kind kind = Kind::kApp;
  Resources resources{};
  std::string restart_policy{};                        // its own; "" for the pod's
  std::map<std::string, std::string> resize_policy{};  // resource name -> restartPolicy

  // The request for a resource as it is written; zero when there is none.
  Quantity request(std::string_view resource) const;
  Quantity limit(std::string_view resource) const;

  bool operator==(const Container&) const = default;
};

struct Pod {
  std::string name{};
  std::string namespace_name{};  // "" until defaulted
  std::string uid{};             // "" until the API gives it one
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::optional<std::int32_t> priority{};
  std::string restart_policy{};
  std::vector<Container> init_containers{};  // kInit and kSidecar, in starting order
  std::vector<Container> containers{};       // kApp
  std::optional<Resources> resources{};      // pod-level; present and empty is not absent
  std::string qos_class{};                   // status.qosClass; "" when not set
  std::string phase{};                       // status.phase; "" when not set
  RawObject raw{};                           // what it was read from, unknown fields and all

  // Init container or container of that name; null when there is none.
  const Container* find(std::string_view container) const;

  bool operator==(const Pod&) const = default;
};

// Init containers, then containers: the order in which they start. As long as the pod.
std::vector<const Container*> in_starting_order(const Pod& pod);

// "namespace/name", with "default" for no namespace.
std::string display_name(const Pod& pod);

// spec.terminationGracePeriodSeconds: how long its containers have between being asked to
// stop and being killed. 30 seconds where nothing sensible is written.
std::chrono::seconds termination_grace(const Pod& pod);

// What the Kubernetes API fills in, where nothing is written: namespace "default",
// restartPolicy Always, a request for every limit that has none. Pod-level requests
// follow pod-level limits likewise. Idempotent.
void set_defaults(Pod& pod);

// Every mistake in what the pod says, as "field path: what is wrong", in the order of
// the fields: no or duplicate names, no containers, negative amounts, a request above
// its limit, a CPU amount beyond 64 bits. Empty for a pod that may be admitted.
std::vector<std::string> mistakes(const Pod& pod);

// Fails with kInvalid, all mistakes in one message.
Result<void> validate(const Pod& pod);

}  // namespace corehold
