// SPDX-License-Identifier: Apache-2.0
#include "api/patch/merge_patch.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/json/json_erase.h"
#include "api/patch/patch_body.h"
#include "gotext/go_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

void merge(json::object& target, json::object& patch) {
  std::vector<std::string_view> gone;
  for (auto& member : patch) {
    const std::string_view key = member.key();
    json::value& value = member.value();
    if (value.is_null()) {
      gone.push_back(key);
      continue;
    }
    json::object* inner = value.if_object();
    if (inner == nullptr) {
      target.insert_or_assign(key, std::move(value));
      continue;
    }
    json::value& there = target[key];
    if (!there.is_object()) there = json::object();
    merge(there.get_object(), *inner);
  }
  erase_members(target, gone);
}

}  // namespace

ApiResult<json::object> apply_merge_patch(json::object current, json::value patch) {
  json::object* changes = patch.if_object();
  if (changes == nullptr) {
    return bad_patch(
        fmt::format("error decoding patch: json: cannot unmarshal {} into Go value of type "
                    "map[string]interface {{}}",
                    go_json_type(patch)));
  }
  merge(current, *changes);
  return current;
}

}  // namespace corehold
