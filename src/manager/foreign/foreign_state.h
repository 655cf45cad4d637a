// SPDX-License-Identifier: Apache-2.0
//
// ForeignState: in place of the running half where somebody else runs the containers, a kubelet
// with its runtime. The runtime asks before it makes, starts or resizes a container, and tells of
// what has happened; tells and answers may get lost. No container is ever stopped, and nothing of a
// pod is on record here: a new agent finds the pods with the runtime, and their CPUs in the
// checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "container/ask.h"
#include "manager/record.h"

namespace corehold {

// A question that is not answered yet.
struct Question {
  RequestId request = 0;
  Ask::Kind kind = Ask::Kind::kCreate;
  int attempt = 0;

  bool operator==(const Question&) const = default;
};

struct ForeignContainer {
  int newest = 0;  // the highest attempt that was ever asked or told of
  int up = 0;      // the attempt that starts or runs, if any does (PlacedContainer::presence)
  std::optional<Question> question{};  // a runtime asks one question of a container at a time

  bool operator==(const ForeignContainer&) const = default;
};

struct ForeignPod {
  std::map<std::string, ForeignContainer> containers{};  // by name
  bool is_removed = false;  // the runtime has nothing of it; the pod goes when its CPUs are free

  bool operator==(const ForeignPod&) const = default;
};

struct ForeignState {
  std::map<std::string, ForeignPod> pods{};  // by UID
  std::uint64_t next_sequence = 1;

  // Pods to look at: those that were asked about and not answered, and those that leave.
  std::set<std::string> open{};
};

}  // namespace corehold
