// SPDX-License-Identifier: Apache-2.0
#include "agent/new_pod.h"

#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/object_rules.h"
#include "pod/pod_json.h"
#include "runtime/launch.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr int kSuffix = 5;
constexpr const char* kNominalMemory = "1Mi";

void check_names(const Pod& pod, std::vector<std::string>& found) {
  if (!pod.name.empty() && !dns_subdomain_problems(pod.name).empty()) {
    found.push_back(fmt::format(
        "metadata.name: {:?} must be lower-case letters, digits, '-' and '.', at most 253, "
        "beginning and ending with a letter or digit",
        pod.name));
  }
  for (const Container* container : in_starting_order(pod)) {
    if (container->name.empty() || dns_label_problems(container->name).empty()) continue;
    found.push_back(
        fmt::format("container name {:?} must be lower-case letters, digits and '-', at most 63, "
                    "beginning and ending with a letter or digit",
                    container->name));
  }
}

}  // namespace

Result<void> accept_new_pod(Pod& pod) {
  pod.uid = random_uuid();
  pod.qos_class.clear();
  pod.phase.clear();
  std::vector<std::string> found = mistakes(pod);
  check_names(pod, found);
  for (std::string& mistake : mistakes_of(pod)) found.push_back(std::move(mistake));
  if (found.empty()) return {};
  return Error{Code::kInvalid,
               fmt::format("pod {}: {}", display_name(pod), fmt::join(found, "; "))};
}

Result<void> check_can_fit(const Pod& pod, const NodeSetup& setup) {
  const Decision alone = admit(setup.rules(), setup.empty, pod);
  if (!alone.refusal) return {};
  // An odd request is not too large a one.
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
