// SPDX-License-Identifier: Apache-2.0
//
// What `--resize POD/CONTAINER=N` and `corehold resize` ask for, in terms of resources. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pod/pod.h"

namespace corehold {

// An amount of CPUs or memory above zero. Fails with kInvalid.
Result<Quantity> positive_amount(std::string_view text);

// `now` with another amount of one resource: the request becomes `amount`. A limit that was
// the request's equal follows, so that Guaranteed pods stay so; any other limit stays, unless
// it would be below the request. Nothing is limited that was not before.
Resources with_amount(Resources now, const std::string& resource, const Quantity& amount);

// Containers that can be resized: all but init containers, sidecars first.
std::vector<std::string> resizable_containers(const Pod& pod);

// The pods that change, in the order they are first named, each with all that is asked of
// it. A word is [NAMESPACE/]POD[/CONTAINER]=N; the container may be left out where there is
// but one.
//
// Fails with kInvalid: a word that cannot be read, names no container or several, the same
// container twice, or gives an amount that no pod can have.
Result<std::vector<Pod>> resized_pods(const std::vector<Pod>& pods,
                                      const std::vector<std::string>& words);

}  // namespace corehold
