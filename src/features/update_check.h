// SPDX-License-Identifier: Apache-2.0
//
// The update validator: whether the node a pod is bound to can do what an update of the
// pod asks for. What the admission plugin NodeDeclaredFeatureValidator decides, with its
// texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "features/node.h"
#include "features/registry/registry.h"

namespace corehold {

// An update of a pod, as an API server sees it.
struct FeatureUpdate {
  const Pod& old_pod;
  const Pod& new_pod;
  std::string_view subresource{};  // "": the pod itself
};

// The node that the update has to be checked against, spec.nodeName. No value: there is
// nothing to check, because the pod is not bound, its spec does not change, or the
// subresource is neither the pod itself nor resize.
std::optional<std::string> node_to_check(const FeatureUpdate& update);

// Whether that node (null: nobody knows it) has the features that the update needs.
// InPlacePodVerticalScalingExclusiveCPUs is not asked of a node that pins no CPUs, where
// a resize is nothing special. Updates for which node_to_check() has no value pass.
//
// Fails with kUnsupported, "pod update requires features X, Y which are not available on
// node "N""; with kNotFound, "node "N" not found", when something is needed of an unknown
// node; with kInvalid without a target version.
Result<void> check_update(const Registry& registry, const FeatureUpdate& update,
                          const FeatureNode* node, const std::optional<Version>& target);

}  // namespace corehold
