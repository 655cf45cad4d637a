// SPDX-License-Identifier: Apache-2.0
//
// How far the resize of a pod has come, by what the API shows of it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "pod/pod.h"

namespace corehold {

// What one container is to have of one resource.
struct WantedAmount {
  std::string container{};
  std::string resource{};  // "cpu", "memory"
  Quantity request{};
};

struct ResizeProgress {
  enum class Stage {
    kDone,        // the containers run with what they were to have
    kNotRunning,  // the pod has not started, and will start with it
    kUndecided,   // the node has not said anything yet
    kDeferred,    // it does not fit now
    kInfeasible,  // it cannot be
    kInProgress,
    kReplaced,  // another resize of the pod was asked for since
    kEnded,     // the pod has, or is about to
  };

  Stage stage = Stage::kUndecided;
  std::string message{};  // the node's; "": it has not said any

  // Whether nothing more will happen without anybody's doing.
  bool is_over() const;
  // Whether the wish came true.
  bool is_good() const { return stage == Stage::kDone || stage == Stage::kNotRunning; }
  bool operator==(const ResizeProgress&) const = default;
};

// What the container was granted of a resource, as the API writes it; "": its status has none.
// The spec has what was last asked for, granted or not.
std::string granted_amount(const boost::json::object& pod, std::string_view container,
                           std::string_view resource);

ResizeProgress resize_progress(const boost::json::object& pod,
                               const std::vector<WantedAmount>& wanted);

}  // namespace corehold
