// SPDX-License-Identifier: Apache-2.0
#include "agent/seen.h"

#include <utility>

#include "pod/pod_json.h"

namespace corehold {
namespace {

std::string reason_of(const RuntimeExit& exit) {
  if (!exit.known) return "ContainerStatusUnknown";
  if (exit.out_of_memory) return "OOMKilled";
  return exit.code == 0 ? "Completed" : "Error";
}

Result<Pod> manifest_of(const RuntimeContainer& container) {
  boost::json::value document = TRY(parse_json(container.manifest));
  if (!document.is_object()) return Error{Code::kInvalid, "not an object"};
  return pod_from_json(std::move(document.get_object()));
}

}  // namespace

Exit exit_of(const RuntimeExit& exit, WallTime started_at) {
  return {.code = exit.code,
          .signal = exit.signal,
          .reason = reason_of(exit),
          .message = exit.message,
          .started_at = started_at,
          .finished_at = exit.finished_at};
}

SeenContainer seen_of(const RuntimeContainer& container, const Log& log) {
  SeenContainer seen{.container = container.container,
                     .attempt = container.attempt,
                     .running = container.running,
                     .cpus = container.cpus,
                     .strayed = container.strayed,
                     .started_at = container.started_at};
  if (container.exit) seen.exit = exit_of(*container.exit, container.started_at);
  if (container.manifest.empty()) return seen;
  auto pod = manifest_of(container);
  if (pod) {
    seen.pod = *std::move(pod);
  } else {
    log.warning("the runtime's copy of a pod cannot be read",
                {{"uid", container.container.pod},
                 {"container", container.container.container},
                 {"error", pod.error().message}});
  }
  return seen;
}

std::vector<SeenContainer> seen_of(const std::vector<RuntimeContainer>& containers,
                                   const Log& log) {
  std::vector<SeenContainer> all;
  all.reserve(containers.size());
  for (const RuntimeContainer& container : containers) all.push_back(seen_of(container, log));
  return all;
}

}  // namespace corehold
