// SPDX-License-Identifier: Apache-2.0
//
// The files of a pod's downwardAPI volumes, under <root>/podinfo/<uid>/<volume>/, and those that
// its annotation asks for, under <root>/podinfo/<uid>/.assigned-<container>/. All of a
// volume changes at once, the way kubelet volumes do: the files are links through `..data`,
// a link to a directory with the content, and that link is replaced. A watch on the
// directory (inotify) sees it. The content before the last stays, so that a reader that is on the
// way through `..data` while it changes arrives.
#pragma once

#include "base/result.h"
#include "container/placement.h"
#include "pod/pod.h"
#include "runtime/workspace/launch.h"

namespace corehold {

// `assigned.cpuset` and `assigned.memset` say what `by_container` has, in the kernel's list
// format. Writes what is not yet so; a volume whose files say it already is left alone. The new
// content is in place when it returns.
Result<void> write_podinfo(const Pod& pod, const AssignedByContainer& by_container,
                           const LaunchContext& context);

}  // namespace corehold
