// SPDX-License-Identifier: Apache-2.0
#include "features/queueing.h"

#include "features/match.h"

namespace corehold {

Result<QueueHint> hint_node_added(const FeatureSet& required, const FeatureSet& declared) {
  return TRY(match(required, declared)).fits ? QueueHint::kQueue : QueueHint::kSkip;
}

Result<QueueHint> hint_node_changed(const FeatureSet& required, const FeatureSet& declared_before,
                                    const FeatureSet& declared_now) {
  const bool fitted = TRY(match(required, declared_before)).fits;
  const bool fits = TRY(match(required, declared_now)).fits;
  return fits && !fitted ? QueueHint::kQueue : QueueHint::kSkip;
}

Result<QueueHint> hint_pod_changed(const Registry& registry, const Pod& old_pod, const Pod& new_pod,
                                   const std::optional<Version>& target) {
  const FeatureSet before = TRY(registry.infer_for_scheduling(old_pod, target));
  const FeatureSet now = TRY(registry.infer_for_scheduling(new_pod, target));
  return before == now ? QueueHint::kSkip : QueueHint::kQueue;
}

}  // namespace corehold
