// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/confinement.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <optional>

#include <fmt/format.h>

#include "pod/json_field.h"
#include "runtime/cgroup/affinity.h"
#include "runtime/cgroup/cgroup_directory.h"
#include "runtime/cgroup/cgroup_v1.h"
#include "runtime/cgroup/cgroup_v2.h"
#include "runtime/cgroup/hold_cgroup.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

bool has_word(std::string_view text, std::string_view word, char separator) {
  const std::string padded = fmt::format("{0}{1}{0}", separator, text);
  return padded.find(fmt::format("{0}{1}{0}", separator, word)) != std::string::npos;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

struct MountPoint {
  std::string path{};
  std::string type{};
  std::string options{};
};

std::vector<MountPoint> cgroup_mounts(const std::string& proc) {
  std::vector<MountPoint> mounts;
  const auto text = read_kernel_file(proc + "/mounts");
  if (!text) return mounts;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 4 || !words[2].starts_with("cgroup")) continue;
    mounts.push_back({.path = std::string(words[1]),
                      .type = std::string(words[2]),
                      .options = std::string(words[3])});
  }
  return mounts;
}

bool is_writable(const std::string& path) { return ::access(path.c_str(), W_OK) == 0; }

bool has_controller(const std::string& cgroup, std::string_view controller) {
  const auto text = read_kernel_file(cgroup + "/cgroup.controllers");
  return text && has_word(*text, controller, ' ');
}

// Whether the service manager has delegated this cgroup to us, as systemd marks it.
bool is_delegated(const std::string& cgroup) {
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    char value = 0;
    if (::getxattr(cgroup.c_str(), name, &value, sizeof value) == 1 && value == '1') return true;
  }
  return false;
}

// The v2 cgroup of this process, below the mount point; "" for the root itself.
std::string own_cgroup(const std::string& proc) {
  const auto text = read_kernel_file(proc + "/self/cgroup");
  if (!text) return "";
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("0::/")) return std::string(line.substr(line.size() == 4 ? 4 : 3));
  }
  return "";
}

std::optional<CgroupV2::Places> given_v2(const MountPoint& mount, const std::string& cgroup,
                                         std::string& reason) {
  const std::string base = mount.path + cgroup;
  if (!is_writable(base + "/cgroup.subtree_control")) {
    reason = fmt::format("{} cannot be written", base);
  } else if (!has_controller(base, "cpuset")) {
    reason = fmt::format("{} was delegated without the cpuset controller", base);
  } else {
    return CgroupV2::Places{.mount = mount.path,
                            .base = base,
                            .delegated = true,
                            .given = true,
                            .has_cpu = has_controller(base, "cpu"),
                            .has_memory = has_controller(base, "memory")};
  }
  return std::nullopt;
}

std::optional<CgroupV2::Places> find_v2(const MountPoint& mount, const ConfinementOptions& options,
                                        std::string& reason) {
  if (!has_controller(mount.path, "cpuset")) return std::nullopt;
  if (!options.cgroup.empty()) return given_v2(mount, options.cgroup, reason);
  std::string own = own_cgroup(options.proc);
  if (own.ends_with("/agent") && is_delegated(mount.path + own.substr(0, own.rfind('/')))) {
    own.resize(own.rfind('/'));
  }
  const std::string base = mount.path + own;
  if (!own.empty() && is_delegated(base) && is_writable(base + "/cgroup.subtree_control")) {
    if (has_controller(base, "cpuset")) {
      return CgroupV2::Places{.mount = mount.path,
                              .base = base,
                              .delegated = true,
                              .has_cpu = has_controller(base, "cpu"),
                              .has_memory = has_controller(base, "memory")};
    }
    reason = fmt::format("{} was delegated without the cpuset controller", base);
  }
  if (is_writable(mount.path) && is_writable(mount.path + "/cgroup.subtree_control")) {
    return CgroupV2::Places{.mount = mount.path,
                            .base = mount.path + "/" + options.name,
                            .delegated = false,
                            .has_cpu = has_controller(mount.path, "cpu"),
                            .has_memory = has_controller(mount.path, "memory")};
  }
  if (reason.empty()) reason = fmt::format("{} cannot be written", mount.path);
  return std::nullopt;
}

std::optional<CgroupV1::Places> find_v1(const std::vector<MountPoint>& mounts,
                                        const ConfinementOptions& options, std::string& reason) {
  CgroupV1::Places places{.name = options.name};
  for (const MountPoint& mount : mounts) {
    if (mount.type != "cgroup") continue;
    if (has_word(mount.options, "cpuset", ',')) places.cpuset = mount.path;
    if (has_word(mount.options, "freezer", ',') && is_writable(mount.path)) {
      places.freezer = mount.path;
    }
    if (has_word(mount.options, "cpu", ',') && is_writable(mount.path)) places.cpu = mount.path;
    if (has_word(mount.options, "memory", ',') && is_writable(mount.path)) {
      places.memory = mount.path;
    }
  }
  if (places.cpuset.empty()) return std::nullopt;
  if (is_writable(places.cpuset)) return places;
  reason = fmt::format("{} cannot be written", places.cpuset);
  return std::nullopt;
}

constexpr std::array<std::string_view, 2> kTopsOfV2{"/pods/", "/shared/"};
constexpr std::array<std::string_view, 2> kTopsOfV1{"/corehold/", "/corehold/"};

// A path up to two names after one of `tops`; "": it has no such names.
std::string container_level(std::string_view path, const std::array<std::string_view, 2>& tops) {
  for (const std::string_view top : tops) {
    const std::size_t at = path.find(top);
    if (at == std::string_view::npos) continue;
    const std::size_t pod = path.find('/', at + top.size());
    if (pod == std::string_view::npos || pod + 1 >= path.size()) continue;
    return std::string(path.substr(0, path.find('/', pod + 1)));
  }
  return "";
}

std::string text_in(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = field(object, key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

bool flag_in(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = field(object, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

void NewestCpus::announce(const CpuSet& cpus) {
  const std::scoped_lock held(lock_);
  cpus_ = cpus;
}

Result<void> NewestCpus::use(const CpuSet& otherwise,
                             const std::function<Result<void>(const CpuSet&)>& write) {
  const std::scoped_lock one_write(writing_);
  if (is_closed_) return {};
  CpuSet newest = otherwise;
  {
    const std::scoped_lock held(lock_);
    if (cpus_) newest = *cpus_;
  }
  return write(newest);
}

void NewestCpus::close() {
  const std::scoped_lock one_write(writing_);
  is_closed_ = true;
}

Result<void> write_newest(const ContainerProcesses& container, const CpuSet& cpus,
                          const std::function<Result<void>(const CpuSet&)>& write) {
  return container.own_cpus ? container.own_cpus->use(cpus, write) : write(cpus);
}

Result<std::string> step_into_leaf(const std::string& proc) {
  for (const MountPoint& mount : cgroup_mounts(proc)) {
    if (mount.type != "cgroup2" || !has_controller(mount.path, "cpuset")) continue;
    const std::string own = own_cgroup(proc);
    if (own.empty()) continue;
    std::string leaf = mount.path + own + "/holder";
    TRY(make_cgroup(leaf));
    TRY(write_kernel_file(leaf + "/cgroup.procs", std::to_string(::getpid())));
    return leaf;
  }
  return std::string();
}

std::string own_container_cgroup_of(pid_t pid) {
  const auto text = read_kernel_file(fmt::format("/proc/{}/cgroup", pid));
  if (!text) return "";
  const auto mounts = cgroup_mounts("/proc");
  for (const std::string_view line : split(*text, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool is_v2 = parts[0] == "0";
    if (!is_v2 && !has_word(parts[1], "cpuset", ',')) continue;
    const std::string container = container_level(
        line.substr(parts[0].size() + parts[1].size() + 2), is_v2 ? kTopsOfV2 : kTopsOfV1);
    if (container.empty()) continue;
    for (const MountPoint& mount : mounts) {
      const bool is_of_line =
          is_v2 ? mount.type == "cgroup2"
                : mount.type == "cgroup" && has_word(mount.options, "cpuset", ',');
      struct stat status {};
      std::string path = mount.path + container;
      if (is_of_line && ::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid()) {
        return path;
      }
    }
  }
  return "";
}

std::unique_ptr<Confinement> find_confinement(const ConfinementOptions& options) {
  std::string reason;
  const auto mounts = cgroup_mounts(options.proc);
  for (const MountPoint& mount : mounts) {
    if (mount.type != "cgroup2") continue;
    if (auto places = find_v2(mount, options, reason)) {
      return std::make_unique<CgroupV2>(std::move(*places));
    }
  }
  if (auto places = find_v1(mounts, options, reason)) {
    return std::make_unique<CgroupV1>(std::move(*places));
  }
  return make_affinity(reason.empty() ? "there is no cpuset cgroup" : reason);
}

std::unique_ptr<Confinement> make_affinity(std::string reason) {
  return std::make_unique<Affinity>(std::move(reason));
}

Result<std::unique_ptr<Confinement>> open_confinement(const boost::json::object& description) {
  const std::string kind = text_in(description, "kind");
  std::unique_ptr<Confinement> opened;
  if (kind == "cgroup v2") {
    opened = std::make_unique<CgroupV2>(
        CgroupV2::Places{.mount = text_in(description, "mount"),
                         .base = text_in(description, "base"),
                         .delegated = flag_in(description, "delegated"),
                         .has_cpu = flag_in(description, "hasCpu"),
                         .has_memory = flag_in(description, "hasMemory")});
  } else if (kind == "cgroup v1") {
    opened = std::make_unique<CgroupV1>(CgroupV1::Places{.cpuset = text_in(description, "cpuset"),
                                                         .cpu = text_in(description, "cpu"),
                                                         .name = text_in(description, "name"),
                                                         .freezer = text_in(description, "freezer"),
                                                         .memory = text_in(description, "memory")});
  } else if (kind == "affinity") {
    opened = make_affinity(text_in(description, "reason"));
  } else {
    return Error{Code::kCorrupt, fmt::format("there is no confinement {}", shown(kind))};
  }
  return opened;
}

std::string pod_mark(const ContainerRef& container) {
  return fmt::format("{}/{}", container.pod, container.container);
}

std::int64_t cpu_weight(std::int64_t shares) {
  constexpr std::int64_t kLeast = 2;
  constexpr std::int64_t kMost = 262'144;
  if (shares < kLeast) shares = kLeast;
  if (shares > kMost) shares = kMost;
  return 1 + (shares - kLeast) * 9999 / (kMost - kLeast);
}

}  // namespace corehold
