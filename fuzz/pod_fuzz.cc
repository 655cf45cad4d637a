// SPDX-License-Identifier: Apache-2.0
//
// Pods: no JSON or YAML crashes, and a pod that was read is written as text that
// gives the same pod, and the same text, again.
#include <cstdint>
#include <string_view>
#include <vector>

#include "pod/pod_json.h"
#include "pod/pod_yaml.h"
#include "pod/qos.h"

namespace {

void check_pods(const corehold::Result<std::vector<corehold::Pod>>& pods) {
  using namespace corehold;
  if (!pods) {
    CHECK(!pods.error().message.empty() && pods.error().message.size() < 100'000);
    return;
  }
  for (Pod pod : *pods) {
    const std::string text = write_json(pod);
    auto again = parse_pods_json(text);
    CHECK(again.has_value() && again->size() == 1 && write_json(again->front()) == text);
    CHECK(exclusive_cpus(pod, PodGates{}) >= 0);
    again->front().raw = pod.raw;
    CHECK(again->front() == pod);
    set_defaults(pod);
    const std::string defaulted = write_json(pod);
    again = parse_pods_json(defaulted);
    CHECK(again.has_value() && write_json(again->front()) == defaulted);
    CHECK(validate(pod).has_value() == mistakes(pod).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_pods(corehold::parse_pods_json(text));
  check_pods(corehold::parse_pods_yaml(text));
  return 0;
}
