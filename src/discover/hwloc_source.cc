// SPDX-License-Identifier: Apache-2.0
#include "discover/hwloc_source.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <hwloc.h>

#include "discover/hwloc_reader.h"
#include "discover/synthetic_text.h"
#include "discover/xml_check.h"
#include "sys/file/file.h"
#include "sys/process/child_trial.h"

namespace corehold {
namespace {

constexpr const char* kIsolatedPath = "/sys/devices/system/cpu/isolated";
constexpr const char* kNohzFullPath = "/sys/devices/system/cpu/nohz_full";
constexpr std::size_t kMaxListBytes = 1U << 16U;

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

// A topology context that will see disallowed CPUs too, and no devices.
Handle new_handle() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Handle handle(raw);
  const unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED |
                              HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                              HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
  if (hwloc_topology_set_flags(raw, flags) != 0) return nullptr;
  return handle;
}

Error no_memory() { return Error{Code::kIo, "hwloc cannot start: out of memory"}; }

Handle load_xml(const std::string& text) {
  Handle handle = new_handle();
  // The size counts the final NUL.
  const int size = static_cast<int>(text.size() + 1);
  if (handle == nullptr || hwloc_topology_set_xmlbuffer(handle.get(), text.c_str(), size) != 0 ||
      hwloc_topology_load(handle.get()) != 0) {
    return nullptr;
  }
  return handle;
}

}  // namespace

Result<CpuSet> parse_boot_cpus(std::string_view text) {
  const auto is_space = [](char letter) { return letter == '\n' || letter == ' '; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  // What Linux up to 6.12 shows for a list that was never made, behind spaces.
  if (text == "(null)") text = {};
  return CpuSet::parse(text);
}

namespace {

// No such file on kernels built without it: no CPU is meant.
Result<CpuSet> read_boot_cpus(const std::string& path) {
  const auto text = read_file(path, kMaxListBytes);
  if (!text && text.error().code != Code::kNotFound) return text.error();
  auto cpus = parse_boot_cpus(text ? *text : "");
  if (!cpus) return wrap(path, cpus.error());
  return cpus;
}

}  // namespace

Result<Topology> topology_from_host() {
  const Handle handle = new_handle();
  if (handle == nullptr) return no_memory();
  if (hwloc_topology_load(handle.get()) != 0) {
    return Error{Code::kIo, fmt::format("hwloc cannot read it: {}", std::strerror(errno)), errno};
  }
  if (hwloc_topology_is_thissystem(handle.get()) == 0) {
    return Error{
        Code::kConflict,
        "the environment makes hwloc describe another machine; unset HWLOC_XMLFILE, "
        "HWLOC_SYNTHETIC, HWLOC_FSROOT and HWLOC_THISSYSTEM, or name the file as xml:FILE"};
  }
  const CpuSet isolated = TRY(read_boot_cpus(kIsolatedPath));
  const CpuSet nohz_full = TRY(read_boot_cpus(kNohzFullPath));
  return read_topology(handle.get(), {.isolated = isolated, .nohz_full = nohz_full});
}

Result<Topology> topology_from_xml(std::string_view text) {
  if (text.size() >= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{Code::kInvalid, "larger than 2 GB, which no machine's topology is"};
  }
  const Error not_xml{Code::kInvalid,
                      "not an hwloc XML topology; `lstopo --of xml FILE` writes one"};
  if (text.find('\0') != std::string_view::npos ||
      text.find("<topology") == std::string_view::npos) {
    return not_xml;
  }
  TRY(check_xml(text));
  const std::string terminated(text);
  const auto attempt = [&] {
    const Handle handle = load_xml(terminated);
    if (handle == nullptr) return false;
    static_cast<void>(read_topology(handle.get(), {}));
    return true;
  };
  switch (TRY(try_in_child(attempt))) {
    case Verdict::kAccepted:
      break;
    case Verdict::kRefused:
      return not_xml;
    case Verdict::kComplained:
      return Error{Code::kInvalid,
                   "its objects contradict each other; hwloc would drop some of them"};
    case Verdict::kDied:
      return Error{Code::kInvalid, "malformed in a way that hwloc does not survive"};
  }
  const Handle handle = load_xml(terminated);
  if (handle == nullptr) return no_memory();
  return read_topology(handle.get(), {});
}

Result<Topology> topology_from_synthetic(std::string_view text) {
  const std::string plain = TRY(normalize_synthetic(text));
  const Handle handle = new_handle();
  if (handle == nullptr) return no_memory();
  if (hwloc_topology_set_synthetic(handle.get(), plain.c_str()) != 0 ||
      hwloc_topology_load(handle.get()) != 0) {
    return Error{Code::kInvalid,
                 fmt::format("hwloc does not accept \"{}\"; levels go from the outside in and end "
                             "with pu, as in \"package:2 numa:1 l3:2 core:4 pu:2\"",
                             text.substr(0, 200))};
  }
  return read_topology(handle.get(), {});
}

}  // namespace corehold
