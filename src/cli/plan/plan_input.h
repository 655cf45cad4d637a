// SPDX-License-Identifier: Apache-2.0
//
// From the files that `corehold plan` is given to the pods it plans. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pod/pod.h"

namespace corehold {

// The list of all pods of a large cluster has some ten million bytes.
inline constexpr std::size_t kMaxPodListBytes = std::size_t{256} << 20U;

struct PodFile {
  std::string name{};  // for messages
  std::string text{};  // a manifest, or what `kubectl get pods -o json` prints
};

struct PodChoice {
  std::vector<Pod> pods{};           // in the order of the files, or that in which they started
  std::vector<std::string> notes{};  // what was left out or put in order, and why
};

// The pods to plan. Left out: pods that have ended (phase Succeeded or Failed) and, where
// `node` is not empty, pods bound to other nodes. Pods that have started, as in a dump, which
// is in no useful order, come in the order of status.startTime if they are all or the first
// of the list.
//
// Fails with kInvalid and the file's name: what is no pod, a pod that is not valid, two
// pods of the same namespace and name or with the same UID, a node that no pod is bound to.
Result<PodChoice> choose_pods(const std::vector<PodFile>& files, std::string_view node);

// The pods of one file as they are, ended ones too, in its order; a list may have none. Fails
// as choose_pods().
Result<std::vector<Pod>> listed_pods(const PodFile& file);

// Takes pods that have ended out of the list: "2 pods left out, ended: a/b, a/c", or "".
std::string leave_out_ended(std::vector<Pod>& pods);

}  // namespace corehold
