// SPDX-License-Identifier: Apache-2.0
#include "features/update_check.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/known_features.h"
#include "features/match.h"
#include "pod/json_field.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::value written_spec_of(const Pod& pod) {
  json::object object = to_json(pod);
  const json::value* spec = field(object, "spec");
  return spec == nullptr ? json::value() : *spec;
}

std::string node_name(const json::value& spec) {
  const json::object* object = spec.if_object();
  const json::value* name = object == nullptr ? nullptr : field(*object, "nodeName");
  return name != nullptr && name->is_string() ? std::string(name->get_string()) : std::string();
}

}  // namespace

std::optional<std::string> node_to_check(const FeatureUpdate& update) {
  if (!update.subresource.empty() && update.subresource != "resize") return std::nullopt;
  const json::value spec = written_spec_of(update.new_pod);
  std::string name = node_name(spec);
  if (name.empty() || spec == written_spec_of(update.old_pod)) return std::nullopt;
  return name;
}

Result<void> check_update(const Registry& registry, const FeatureUpdate& update,
                          const FeatureNode* node, const std::optional<Version>& target) {
  const auto name = node_to_check(update);
  if (!name) return {};
  auto inferred = registry.infer_for_update(update.old_pod, update.new_pod, target);
  if (!inferred) {
    return wrap("failed to infer pod capability requirements", inferred.error());
  }
  FeatureSet required = *inferred;
  const auto exclusive = registry.find(kExclusiveCpusFeature);
  if (exclusive && node != nullptr && !pins_cpus(*node)) required.erase(*exclusive);
  if (required.empty()) return {};
  if (node == nullptr) return Error{Code::kNotFound, fmt::format("node \"{}\" not found", *name)};
  const Match found = TRY(match_node(registry, required, node));
  if (found.fits) return {};
  return Error{Code::kUnsupported,
               fmt::format("pod update requires features {} which are not available on node \"{}\"",
                           fmt::join(TRY(registry.names(found.missing)), ", "), *name)};
}

}  // namespace corehold
