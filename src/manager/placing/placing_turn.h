// SPDX-License-Identifier: Apache-2.0
//
// PlacingTurn: the placing half of one step() under way. Inside the manager only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "manager/placing/notice.h"
#include "manager/placing/placing_state.h"
#include "manager/turn.h"

namespace corehold {

struct PlacingTurn : Turn {
  PlacingState& placing;
  std::vector<Notice>& notices;

  void tell(Notice notice) const { notices.push_back(std::move(notice)); }

  // What a record of the pod must have has changed: the pod is not firm until it is saved.
  void change_record(PlacedPod& pod) const {
    pod.is_firm = false;
    tell(PlacedRecordChanged{pod.pod.uid});
  }

  // The pod is looked at in this turn.
  void touch(const std::string& uid) const {
    placing.work.insert(uid);
    placing.to_place.insert(uid);
  }
  // The same, after a change of the container: REQUIRED after each, since what others may do
  // depends on where the container may run.
  void touch(const ContainerRef& ref, PlacedContainer& container) const;
  // The container may run where it says, and holds CPUs by what is durable now. Done by touch().
  void count(const ContainerRef& ref, const PlacedContainer& container) const;
  // Every pod is looked at: something has changed that all depend on.
  void touch_all() const;
};

}  // namespace corehold
