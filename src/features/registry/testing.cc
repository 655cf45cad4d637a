// SPDX-License-Identifier: Apache-2.0
#include "features/registry/testing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pod/pod_json.h"

namespace corehold {

Version version(std::string_view text) {
  auto parsed = Version::parse(text);
  CHECK(parsed.has_value());
  return *std::move(parsed);
}

Pod pod_with_spec(std::string_view spec) {
  auto pods = parse_pods_json(fmt::format(
      R"({{"kind":"Pod","metadata":{{"name":"p","namespace":"default"}},"spec":{}}})", spec));
  CHECK(pods.has_value() && pods->size() == 1);
  return pods->front();
}

FeatureSet features_of(const Registry& registry, const std::vector<std::string>& names) {
  auto set = registry.set_of(names);
  CHECK(set.has_value());
  return *set;
}

std::string text_of(const Registry& registry, const FeatureSet& set) {
  const auto names = registry.names(set);
  CHECK(names.has_value());
  return fmt::format("{}", fmt::join(*names, ", "));
}

Pod restart_all_pod() {
  return pod_with_spec(R"({"containers":[{"name":"c","restartPolicyRules":[
      {"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[42]}}]}]})");
}

Pod assigned_cpus_pod() {
  return pod_with_spec(
      R"({"containers":[{"name":"c"}],"volumes":[{"name":"v","downwardAPI":{"items":[{"path":"p",
          "resourceFieldRef":{"containerName":"c","resource":"assigned.cpuset"}}]}}]})");
}

}  // namespace corehold
