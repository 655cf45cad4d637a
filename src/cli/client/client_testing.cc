// SPDX-License-Identifier: Apache-2.0
#include "cli/client/client_testing.h"

#include <boost/json.hpp>

#include "api/pod/pod_object.h"
#include "pod/pod_yaml.h"
#include "topology/testing.h"

namespace corehold {

namespace json = boost::json;

const char* const kWebManifest = R"(
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: shop}}
spec:
  containers:
  - name: main
    command: [sleep, "1000"]
    resources: {limits: {cpu: 2, memory: 1Gi}}
)";

HttpResponse ok(const json::value& body) { return {.status = 200, .body = json::serialize(body)}; }

HttpResponse refusal(StatusReason reason, const std::string& message) {
  const ApiStatus status{.reason = reason, .message = message};
  return {.status = http_code(status), .body = json::serialize(to_json(status))};
}

FakeAgent::Handler answering(const Answers& answers) {
  return [answers](const HttpExchangePtr& exchange) {
    const HttpRequest& request = exchange->request();
    const auto found = answers.find(request.method + " " + request.target);
    exchange->answer(found != answers.end() ? found->second
                                            : refusal(StatusReason::kNotFound, "not found"));
  };
}

json::object pod_object(const std::string& manifest, std::string_view phase) {
  Pod pod = read_manifest(manifest)->front();
  pod.uid = "7f0c1d52";
  return to_json(
      PodView{.pod = pod,
              .phase = std::string(phase),
              .scheduled = phase == "Running",
              .created_at = std::chrono::seconds{1'700'000'000},
              .host = "box",
              .containers = {{.name = "main", .stage = ContainerView::Stage::kRunning}}});
}

CpuMap map_of_box() {
  CpuMap map{.node = "box", .topology = machine("2s4c2t"), .policy = "static"};
  map.reserved = cpus("0-1");
  map.shared = cpus("0-1,4-15");
  map.free = cpus("4-15");
  map.containers = {{.namespace_name = "default",
                     .pod = "web",
                     .uid = "7f0c1d52",
                     .container = "main",
                     .assigned = cpus("2-3"),
                     .promised = cpus("2-3"),
                     .numa = nodes("0")}};
  return map;
}

}  // namespace corehold
