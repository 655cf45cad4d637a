// SPDX-License-Identifier: Apache-2.0
//
// The files of a pod's downwardAPI volumes, under <root>/podinfo/<uid>/<volume>/, and those that
// its annotation asks for, under <root>/podinfo/<uid>/.assigned-<container>/. All of a
// volume changes at once, the way kubelet volumes do: the files are links through `..data`,
// a link to a directory with the content, and that link is replaced. A watch on the
// directory (inotify) sees it. The content before the last stays, so that a reader who is on the
// way through `..data` while it changes arrives.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cpuset/cpu_set.h"
#include "pod/pod.h"
#include "runtime/launch.h"

namespace corehold {

// What `assigned.cpuset` and `assigned.memset` say, in the kernel's list format.
struct Assigned {
  CpuSet cpus{};  // empty: it has none of its own
  NodeSet mems{};

  bool operator==(const Assigned&) const = default;
};

// Writes what is not yet so; a volume whose files say it already is left alone. The new
// content is in place when it returns.
Result<void> write_podinfo(const Pod& pod, const std::map<std::string, Assigned>& by_container,
                           const LaunchContext& context);

}  // namespace corehold
