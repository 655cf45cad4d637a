// SPDX-License-Identifier: Apache-2.0
#include "pod/podinfo_request.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "pod/json_field.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxPath = 4095;

bool is_shortest(std::string_view path) {
  if (!path.starts_with('/') || path.size() < 2 || path.size() > kMaxPath) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(slash);
  }
  return true;
}

}  // namespace

Result<std::string> parse_podinfo_directory(std::string_view text) {
  if (is_shortest(text) && !has_control_bytes(text)) return std::string(text);
  return Error{Code::kInvalid,
               fmt::format("{} is not an absolute path below / without \".\", \"..\" and needless "
                           "slashes, such as /etc/podinfo",
                           shown(text))};
}

Result<std::optional<std::string>> podinfo_directory(
    const std::map<std::string, std::string>& annotations) {
  const auto found = annotations.find(kPodInfoAnnotation);
  if (found == annotations.end()) return std::optional<std::string>();
  return std::optional<std::string>(TRY(parse_podinfo_directory(found->second)));
}

bool hides_podinfo(std::string_view mount_path, std::string_view directory) {
  // As it is written: what links inside a container point to is not known.
  const std::string path = std::filesystem::path(mount_path).lexically_normal().string();
  if (!path.starts_with(directory)) return false;
  return path.size() == directory.size() || path[directory.size()] == '/';
}

}  // namespace corehold
