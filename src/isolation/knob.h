// SPDX-License-Identifier: Apache-2.0
//
// One value of the machine that isolation narrows: what it would be without isolation, and the
// change that is missing. Shared by the plans of interrupts and of the level `full`.
#pragma once

#include <string>

#include "cpuset/cpu_set.h"
#include "isolation/change.h"
#include "isolation/journal.h"
#include "isolation/machine_view.h"
#include "isolation/wish.h"

namespace corehold {

struct Knob {
  Target target{};
  IsolationLevel level = IsolationLevel::kIrqs;
  Compare compare = Compare::kCpuList;
  std::string now{};   // what the machine has
  std::string what{};  // for people: "interrupt 24 (nvme0q1)"
  std::string advice{};
};

// What the value is without isolation: the one before our first write where a value of ours stands,
// else what is there now, which is somebody else's.
std::string original_value(const IsolationJournal& journal, const Knob& knob);

// `own` without the held CPUs; when nothing that is online is left of it, all that nobody holds.
CpuSet allowed_of(const CpuSet& own, const IsolationWish& wish);

// Plans that the knob gets this value, unless it has it. A value that the machine has refused is
// not tried again; it is named.
void plan_value(const Knob& knob, const std::string& value, const Refusals& refused,
                IsolationPlan& plan);

// Adds one plan to another, behind it.
void append(IsolationPlan& plan, const IsolationPlan& more);

}  // namespace corehold
