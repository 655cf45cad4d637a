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

Result<CpuSet> parse_isolated(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const auto set = CpuSet::parse(text);
  if (!set) return wrap(kIsolatedPath, set.error());
  return *set;
}

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
  // No such file on kernels built without isolation: nothing is isolated.
  const auto text = read_file(kIsolatedPath, kMaxListBytes);
  if (!text && text.error().code != Code::kNotFound) return text.error();
  return read_topology(handle.get(), TRY(parse_isolated(text ? *text : "")));
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
