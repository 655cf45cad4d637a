// SPDX-License-Identifier: Apache-2.0
#include "features/feature.h"

#include <fmt/format.h>

namespace corehold {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Parts between slashes: a letter, then letters and digits; the first letter is a capital.
bool has_feature_form(std::string_view name) {
  if (name.empty() || name.front() < 'A' || name.front() > 'Z') return false;
  bool starts_part = true;
  for (const char c : name) {
    if (c == '/') {
      if (starts_part) return false;
      starts_part = true;
      continue;
    }
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_letter(c) && !(is_digit && !starts_part)) return false;
    starts_part = false;
  }
  return !starts_part;
}

}  // namespace

bool Feature::discover(const NodeConfiguration& node) const {
  return obstacles(*this, node).empty();
}

std::vector<std::string> obstacles(const Feature& feature, const NodeConfiguration& node) {
  std::vector<std::string> texts;
  for (const std::string& gate : feature.requirements.gates) {
    const auto found = node.gates.find(gate);
    if (found == node.gates.end() || !found->second) {
      texts.push_back(fmt::format("gate {} is off", gate));
    }
  }
  for (const auto& [key, wanted] : feature.requirements.static_config) {
    const auto found = node.static_config.find(key);
    if (found == node.static_config.end()) {
      texts.push_back(fmt::format("{} is not set, must be {}", key, wanted));
    } else if (found->second != wanted) {
      texts.push_back(fmt::format("{} is {}, must be {}", key, found->second, wanted));
    }
  }
  for (const std::string& name : feature.requirements.runtime_features) {
    if (!node.runtime_features.contains(name)) {
      texts.push_back(fmt::format("the runtime lacks {}", name));
    }
  }
  if (!feature.is_current(node.version)) {
    texts.push_back(fmt::format("version {} is past {}, the last with this feature",
                                node.version->str(), feature.max_version->str()));
  }
  return texts;
}

Result<void> check_feature_name(std::string_view name) {
  if (name.size() > kMaxFeatureName) {
    return Error{Code::kInvalid,
                 fmt::format("invalid feature name \"{}\": must be no more than {} characters",
                             name, kMaxFeatureName)};
  }
  if (!has_feature_form(name)) {
    return Error{
        Code::kInvalid,
        fmt::format("invalid feature name \"{}\": must start with an UpperCamelCase segment, with "
                    "subsequent segments separated by '/' (e.g., MyFeature or "
                    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
                    name)};
  }
  return {};
}

}  // namespace corehold
