// SPDX-License-Identifier: Apache-2.0
#include "api/json/json_erase.h"

#include <unordered_set>
#include <utility>

namespace corehold {

namespace json = boost::json;

void erase_members(json::object& object, const std::vector<std::string_view>& keys) {
  if (keys.empty()) return;
  if (keys.size() <= 4) {
    for (const std::string_view key : keys) object.stable_erase(key);
    return;
  }
  const std::unordered_set<std::string_view> gone(keys.begin(), keys.end());
  json::object kept;
  kept.reserve(object.size());
  for (auto& member : object) {
    if (!gone.contains(member.key())) kept.emplace(member.key(), std::move(member.value()));
  }
  object = std::move(kept);
}

}  // namespace corehold
