// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <boost/json/object.hpp>

#include "kernel/fence_reader.h"

namespace corehold {
namespace {

std::string text_in(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

}  // namespace

std::vector<FenceLevel> fence_levels(const FencePlaces& places) {
  std::vector<FenceLevel> levels;
  const std::string& own = places.own;
  for (std::size_t at = own.find('/'); at != std::string::npos;) {
    const std::size_t next = own.find('/', at + 1);
    levels.push_back({.cgroup = own.substr(0, at), .ours = {own.substr(at + 1, next - at - 1)}});
    at = next;
  }
  // Containers are in these two (runtime/container_cgroup.h).
  levels.push_back({.cgroup = own, .ours = {"pods", "shared"}});
  return levels;
}

std::optional<FencePlaces> fence_places(const boost::json::object& confinement) {
  const std::string kind = text_in(confinement, "kind");
  if (kind == "cgroup v1") {
    return FencePlaces{.version = FencePlaces::Version::kV1,
                       .mount = text_in(confinement, "cpuset"),
                       .own = "/" + text_in(confinement, "name")};
  }
  if (kind != "cgroup v2") return std::nullopt;
  const std::string mount = text_in(confinement, "mount");
  const std::string base = text_in(confinement, "base");
  if (!base.starts_with(mount + "/")) return std::nullopt;
  return FencePlaces{.version = FencePlaces::Version::kV2,
                     .mount = mount,
                     .own = base.substr(mount.size()),
                     .has_units = is_systemd_there()};
}

}  // namespace corehold
