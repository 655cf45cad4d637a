// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/partition.h"

#include <cerrno>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/cgroup/cgroup_directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

constexpr std::string_view kIsolated = "isolated";

std::string exclusive_file(const std::string& cgroup) { return cgroup + "/cpuset.cpus.exclusive"; }

CpuSet exclusive_of(const std::string& cgroup) {
  const auto cpus = read_cpus(exclusive_file(cgroup));
  return cpus ? *cpus : CpuSet{};
}

// kUnsupported: another cgroup has some of these CPUs for itself.
Result<void> write_exclusive(const std::string& cgroup, const CpuSet& cpus) {
  if (exclusive_of(cgroup) == cpus) return {};
  // The kernel takes an empty line for "none", and nothing for nothing at all.
  auto written = write_kernel_file(exclusive_file(cgroup), cpus.empty() ? "\n" : cpus.str());
  if (written || written.error().number != EINVAL) return written;
  Error error = written.error();
  error.code = Code::kUnsupported;
  return error;
}

// The cgroups between the mount point and this one, outermost first, as paths.
std::vector<std::string> above(const std::string& mount, const std::string& path) {
  std::vector<std::string> found;
  for (const std::string& level : levels_above(path.substr(mount.size() + 1))) {
    found.push_back(fmt::format("{}/{}", mount, level));
  }
  return found;
}

// Gives back what no child has any more, innermost first.
Result<void> shrink_above(const std::string& mount, const std::string& path) {
  const auto levels = above(mount, path);
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (!is_cgroup(*level)) continue;
    CpuSet needed;
    for (const std::string& child : children_of(*level)) needed |= exclusive_of(child);
    TRY(write_exclusive(*level, needed & exclusive_of(*level)));
  }
  return {};
}

}  // namespace

std::string partition_file(const std::string& cgroup) { return cgroup + "/cpuset.cpus.partition"; }

bool has_partitions(const std::string& mount) {
  return read_kernel_file(mount + "/cpuset.cpus.isolated").has_value();
}

PartitionView read_partition(const std::string& cgroup) {
  const auto text = read_kernel_file(partition_file(cgroup));
  if (!text || *text == "member") return {};
  return {
      .kind = *text == kIsolated ? PartitionView::Kind::kIsolated : PartitionView::Kind::kInvalid,
      .text = *text};
}

Result<void> end_partition(const std::string& mount, const std::string& path) {
  if (read_partition(path).kind != PartitionView::Kind::kMember) {
    TRY(write_kernel_file(partition_file(path), "member"));
  }
  if (exclusive_of(path).empty()) return {};
  TRY(write_exclusive(path, {}));
  return shrink_above(mount, path);
}

namespace {

// kUnsupported: the kernel refuses, and the CPUs may be anything.
Result<void> make_partition(const std::string& mount, const std::string& path, const CpuSet& cpus) {
  const std::string cpus_file = path + "/cpuset.cpus";
  // Growing: without being exclusive all the way down, more CPUs have no effect.
  for (const std::string& level : above(mount, path)) {
    TRY(write_exclusive(level, exclusive_of(level) | cpus));
  }
  TRY(write_exclusive(path, exclusive_of(path) | cpus));
  if (TRY(read_cpus(cpus_file)) != cpus) TRY(write_kernel_file(cpus_file, cpus.str()));
  // Shrinking: what is exclusive follows the CPUs.
  TRY(write_exclusive(path, cpus));
  TRY(shrink_above(mount, path));
  if (read_partition(path).kind != PartitionView::Kind::kIsolated) {
    TRY(write_kernel_file(partition_file(path), kIsolated));
  }
  const PartitionView made = read_partition(path);
  if (made.kind == PartitionView::Kind::kIsolated) return {};
  return Error{Code::kUnsupported, fmt::format("the CPUs are set, but {} is no isolated partition: "
                                               "the kernel says \"{}\"",
                                               path, made.text)};
}

}  // namespace

Result<void> set_partition(const std::string& mount, const std::string& path, const CpuSet& cpus) {
  const std::string cpus_file = path + "/cpuset.cpus";
  const PartitionView now = read_partition(path);
  const bool is_so = now.kind == PartitionView::Kind::kIsolated && exclusive_of(path) == cpus;
  if (is_so && TRY(read_cpus(cpus_file)) == cpus) return {};
  // One that has become invalid does not even have its CPUs: Linux 6.12 lets it run on all others.
  if (now.kind == PartitionView::Kind::kInvalid) TRY(end_partition(mount, path));
  auto made = make_partition(mount, path, cpus);
  if (made || made.error().code != Code::kUnsupported) return made;
  TRY(end_partition(mount, path));
  TRY(write_kernel_file(cpus_file, cpus.str()));
  return made;
}

void forget_partition(const std::string& mount, const std::string& path) {
  static_cast<void>(shrink_above(mount, path));
}

}  // namespace corehold
