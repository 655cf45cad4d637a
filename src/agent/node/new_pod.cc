// SPDX-License-Identifier: Apache-2.0
#include "agent/node/new_pod.h"

#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/pod/pod_acceptance.h"
#include "pod/pod_json.h"
#include "runtime/workspace/launch.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr int kSuffix = 5;
constexpr const char* kNominalMemory = "1Mi";

}  // namespace

Result<void> accept_run_pod(Pod& pod, const NodeRules& rules) {
  pod.uid = random_uuid();
  std::string text = node_mistakes_text(pod, rules);
  if (text.empty()) return {};
  return Error{Code::kInvalid, std::move(text)};
}

Result<void> check_can_fit(const Pod& pod, const NodeSetup& setup) {
  Bookings empty = setup.empty;
  const Decision alone = admit(setup.rules(), empty, pod);
  if (!alone.refusal) return {};
  // An odd number of CPUs is refused by full-pcpus-only, not for its size.
  const bool is_odd = alone.refusal->reason == "SMTAlignmentError";
  return Error{Code::kInvalid,
               alone.refusal->message + (is_odd ? "" : "; more than this node can ever give")};
}

Pod run_pod(const RunRequest& request) {
  const std::string memory = request.memory.empty() ? kNominalMemory : request.memory;
  const json::object amounts{{"cpu", fmt::to_string(request.cpus)}, {"memory", memory}};
  json::object container{{"name", kRunContainer},
                         {"command", json::value_from(request.command)},
                         {"resources", json::object{{"limits", amounts}, {"requests", amounts}}}};
  if (!request.working_directory.empty()) container["workingDir"] = request.working_directory;
  const std::string name = request.name.empty() ? "run-" + random_suffix(kSuffix) : request.name;
  auto pod = pod_from_json(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", json::object{{"name", name},
                                 {"namespace", "default"},
                                 {"annotations", json::object{{kRunAnnotation, "true"}}}}},
       {"spec", json::object{{"restartPolicy", "Never"},
                             {"containers", json::array{std::move(container)}}}}});
  CHECK(pod);
  set_defaults(*pod);
  return *std::move(pod);
}

}  // namespace corehold
