// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitor/host_path.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

bool fits(mode_t mode, std::string_view type) {
  if (type.starts_with("Directory")) return S_ISDIR(mode);
  if (type.starts_with("File")) return S_ISREG(mode);
  if (type == "Socket") return S_ISSOCK(mode);
  if (type == "CharDevice") return S_ISCHR(mode);
  if (type == "BlockDevice") return S_ISBLK(mode);
  return true;
}

Result<void> check_host_path(const HostPath& host) {
  const std::string& path = host.path;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (fits(status.st_mode, host.type)) return {};
    return Error{Code::kInvalid, fmt::format("{} is not of type {}", path, host.type)};
  }
  if (errno != ENOENT) return errno_error(fmt::format("stat {}", path), errno);
  if (!host.type.ends_with("OrCreate")) {
    return Error{Code::kNotFound, fmt::format("{} does not exist", path)};
  }
  if (!path.starts_with(host.root + "/")) {
    return Error{Code::kUnsupported,
                 fmt::format("{} does not exist, and nothing is created outside {}: create it "
                             "first, or use an emptyDir",
                             path, host.root)};
  }
  const Leaf leaf = host.type == "DirectoryOrCreate" ? Leaf::kDirectory : Leaf::kFile;
  return make_inside(host.root, path.substr(host.root.size() + 1), leaf);
}

}  // namespace

Result<void> check_host_paths(const std::vector<HostPath>& host_paths) {
  for (const HostPath& host : host_paths) {
    const auto checked = check_host_path(host);
    if (!checked) return wrap(fmt::format("volume {}", host.volume), checked.error());
  }
  return {};
}

}  // namespace corehold
