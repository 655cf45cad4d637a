// SPDX-License-Identifier: Apache-2.0
#include "api/node/node_update.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/field_errors.h"
#include "api/json/json_edit.h"
#include "api/json/json_erase.h"
#include "api/json/json_look.h"
#include "api/object/core_types.h"
#include "api/object/label_rules.h"
#include "api/object/typed_reader.h"
#include "base/check.h"
#include "gotext/go_json_writer.h"
#include "pod/feature_name.h"

namespace corehold {
namespace {

namespace json = boost::json;

void check_features(const json::object& node, FieldErrors& errors) {
  const json::array& features = look_array(node, {"status", "declaredFeatures"});
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::string_view name = features[i].get_string();
    const ErrorPath path = ErrorPath("status") / "declaredFeatures" / i;
    const std::string_view problem = feature_name_problem(name);
    if (!problem.empty()) {
      errors.invalid(path, name,
                     fmt::format("invalid feature name {}: {}", go_quoted(name), problem));
    }
    if (i == 0) continue;
    const std::string_view before = features[i - 1].get_string();
    if (before == name) {
      errors.duplicate(path, name);
    } else if (before > name) {
      errors.invalid(path, name, "list must be sorted alphabetically");
    }
  }
}

void check_taints(const json::object& node, FieldErrors& errors) {
  const json::array& taints = look_array(node, {"spec", "taints"});
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const json::object& taint = as_object_or_empty(taints[i]);
    const ErrorPath path = ErrorPath("spec") / "taints" / i;
    const std::string_view key = look_text(taint, {"key"});
    errors.add_all(path / "key", key, label_key_problems(key));
    const std::string_view value = look_text(taint, {"value"});
    errors.add_all(path / "value", value, label_value_problems(value));
    const std::string_view effect = look_text(taint, {"effect"});
    if (effect.empty()) {
      errors.required(path / "effect");
    } else if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
      errors.not_supported(path / "effect", effect,
                           {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    }
  }
}

// What may be given once and then stays.
void check_kept(const json::object& old, const json::object& node, FieldErrors& errors) {
  for (const std::string_view field : {"podCIDR", "providerID"}) {
    const std::string_view before = look_text(old, {"spec", field});
    if (before.empty() || before == look_text(node, {"spec", field})) continue;
    errors.forbidden(
        ErrorPath("spec") / field,
        fmt::format("node updates may not change {} except from \"\" to valid", field));
  }
}

}  // namespace

ApiResult<json::object> prepare_node_update(const json::object& old, const json::object& next,
                                            const NodeUpdate& update) {
  const StructType* type = core_type("Node");
  CHECK(type != nullptr);
  const json::object before = canonical(*type, old);
  json::object node = canonical(*type, next);
  if (auto refused = refuse_other_object(before, node, update.verb, "nodes")) return *refused;
  copy_field(before, node, update.path == NodePath::kObject ? "status" : "spec");
  if (!update.has_declared_features)
    erase_members(made_object(node, "status"), {"declaredFeatures"});
  FieldErrors errors;
  json::object& metadata = made_object(node, "metadata");
  carry_metadata(look_object_or_empty(before, {"metadata"}), metadata, errors);
  check_metadata(metadata, errors);
  check_taints(node, errors);
  check_kept(before, node, errors);
  check_features(node, errors);
  if (!errors.empty()) return errors.status("Node", look_text(node, {"metadata", "name"}));
  return canonical(*type, node);
}

bool is_same_node(const json::object& old, const json::object& next) {
  if (old == next) return true;
  const StructType* type = core_type("Node");
  CHECK(type != nullptr);
  const auto plain = [&](const json::object& object) {
    json::object whole = canonical(*type, object);
    made_object(whole, "metadata").erase("managedFields");
    whole["kind"] = "Node";
    whole["apiVersion"] = "v1";
    return whole;
  };
  return plain(old) == plain(next);
}

}  // namespace corehold
