// SPDX-License-Identifier: Apache-2.0
#include "pod/feature_name.h"

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

std::string_view feature_name_problem(std::string_view name) {
  static_assert(kMaxFeatureName == 253);
  if (name.size() > kMaxFeatureName) return "must be no more than 253 characters";
  if (has_feature_form(name)) return "";
  return "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
         "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters "
         "and slashes";
}

}  // namespace corehold
