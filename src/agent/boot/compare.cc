// SPDX-License-Identifier: Apache-2.0
#include "agent/boot/compare.h"

#include <algorithm>

#include <fmt/format.h>

namespace corehold {
namespace {

constexpr std::string_view kRestore = "restore it, or --recover rebuilds it from what runs";

Error missing(const std::string& path, const std::string& but) {
  return {Code::kCorrupt, fmt::format("{} is missing, but {}; {}", path, but, kRestore)};
}

}  // namespace

Result<void> check_together(const FoundTogether& found) {
  std::set<std::string> known = found.pods;
  std::ptrdiff_t running = 0;
  for (const SeenContainer& each : found.seen) {
    if (!each.running) continue;
    ++running;
    known.insert(each.container.pod);
  }
  const std::string containers = fmt::format("{} containers of this node run", running);
  if (found.pins_cpus && !found.has_checkpoint && running > 0) {
    return missing(found.checkpoint, containers);
  }
  if (found.pins_cpus && !found.has_checkpoint && found.had_checkpoint && !found.pods.empty()) {
    return missing(found.checkpoint, fmt::format("the store has {} pods", found.pods.size()));
  }
  if (found.is_store_new && running > 0) return missing(found.store, containers);
  for (const auto& [uid, holdings] : found.cpus.pods) {
    if (known.contains(uid)) continue;
    return Error{Code::kCorrupt,
                 fmt::format("{} gives CPUs to pod {}, which {} does not know: one of them is lost "
                             "or older than the other; restore it, or --recover takes the CPUs "
                             "of such pods back",
                             found.checkpoint, uid, found.store)};
  }
  return {};
}

}  // namespace corehold
