// SPDX-License-Identifier: Apache-2.0
//
// A line about a pod, read from the Pod that the API gives: for tables, and for waiting
// until something has become of it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace corehold {

struct PodSummary {
  std::string namespace_name{};
  std::string name{};
  std::string uid{};
  std::string phase{};
  std::string status{};   // one word: a container's trouble, else the reason, else the phase
  std::string message{};  // why it waits or has failed; mostly empty
  int ready = 0;          // containers that are
  int containers = 0;
  int restarts = 0;
  std::chrono::milliseconds created_at{};  // since the Unix epoch; zero: not known
  bool deleting = false;
  std::string resize{};  // "Deferred", "Infeasible"; "": none waits
  std::string qos{};     // "Guaranteed", ...
  std::string node{};    // where it is
};

// Fails with kInvalid, naming the field.
Result<PodSummary> pod_summary(const boost::json::value& pod);

// Of a PodList.
Result<std::vector<PodSummary>> pod_summaries(const boost::json::value& list);

}  // namespace corehold
