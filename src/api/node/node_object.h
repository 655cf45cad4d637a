// SPDX-License-Identifier: Apache-2.0
//
// The node as the API gives it: a Kubernetes Node with what there is and what may be
// given, and as conditions whether it is ready and how containers are kept to their CPUs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

namespace corehold {

// The agent's own. The first is there when something is declared.
inline constexpr std::string_view kFeaturesAnnotation = "corehold.dev/declared-features";
inline constexpr std::string_view kPolicyAnnotation = "corehold.dev/cpu-manager-policy";

struct NodeView {
  std::string name{};
  std::string uid{};
  std::uint64_t resource_version = 0;
  std::chrono::milliseconds created_at{};  // since the Unix epoch
  std::chrono::milliseconds since{};       // when it last became ready, or stopped being so
  std::string version{};                   // "0.1.0"
  std::string kernel{};                    // "6.1.0-18-amd64"
  std::string architecture{};              // "amd64"
  std::string os_image{};                  // "Debian GNU/Linux 12 (bookworm)"
  std::string machine_id{};
  std::string boot_id{};
  int cpus = 0;  // of the machine
  int reserved_cpus = 0;
  std::int64_t memory = 0;  // bytes; 0: not known
  std::string policy{};     // "static", "none"
  bool ready = true;
  std::string message{};      // why it is not
  std::string confinement{};  // "cgroup v2", "cgroup v1", "affinity", "simulated"
  std::string note{};         // what the operator should know about that
  std::vector<std::string> declared_features{};  // sorted
  // Whether CPUs that containers hold are kept free of the rest of the machine.
  struct Exclusive {
    bool is_so = false;
    std::string reason = "ContainersOnly";  // one word
    std::string message{};
    std::chrono::milliseconds since{};

    bool operator==(const Exclusive&) const = default;
  };
  std::optional<Exclusive> exclusive{};  // no value: a machine that is not there
};

boost::json::object to_json(const NodeView& view);
boost::json::object node_list_json(boost::json::array nodes, std::uint64_t resource_version);

// A line about a Node, for tables.
struct NodeSummary {
  std::string name{};
  std::string status{};  // "Ready", "NotReady"
  std::string policy{};
  std::string cpus{};         // capacity
  std::string allocatable{};  // of it
  std::string confinement{};
  std::string note{};
  std::string version{};
  std::chrono::milliseconds created_at{};
  std::string memory{};  // capacity
  std::string kernel{};
  std::string architecture{};
  // Why held CPUs are not kept free of the rest of the machine; "": they are, or it is not said.
  std::string intruders{};
};

// Fails with kInvalid, naming the field.
Result<NodeSummary> node_summary(const boost::json::value& node);

}  // namespace corehold
