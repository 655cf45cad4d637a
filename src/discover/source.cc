// SPDX-License-Identifier: Apache-2.0
#include "discover/source.h"

#include <fmt/format.h>

#include "discover/hwloc_source.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::string_view kXmlPrefix = "xml:";
constexpr std::string_view kSyntheticPrefix = "synthetic:";

// The largest machine we accept exports to about 3 MB.
constexpr std::size_t kMaxXmlBytes = 64U << 20U;

Result<Topology> named(std::string_view name, Result<Topology> result) {
  if (!result) return wrap(name, result.error());
  return result;
}

}  // namespace

Result<TopologySource> TopologySource::parse(std::string_view text) {
  if (text == "host") return TopologySource{.kind = Kind::kHost};
  const auto after = [&](std::string_view prefix) {
    return std::string(text.substr(prefix.size()));
  };
  if (text.starts_with(kXmlPrefix) && text.size() > kXmlPrefix.size()) {
    return TopologySource{.kind = Kind::kXml, .detail = after(kXmlPrefix)};
  }
  if (text.starts_with(kSyntheticPrefix) && text.size() > kSyntheticPrefix.size()) {
    return TopologySource{.kind = Kind::kSynthetic, .detail = after(kSyntheticPrefix)};
  }
  return Error{Code::kInvalid, fmt::format("\"{}\" is not a topology source: use host, xml:FILE or "
                                           "synthetic:DESCRIPTION",
                                           text.substr(0, 200))};
}

std::string TopologySource::str() const {
  switch (kind) {
    case Kind::kHost:
      return "host";
    case Kind::kXml:
      return std::string(kXmlPrefix) + detail;
    case Kind::kSynthetic:
      return std::string(kSyntheticPrefix) + detail;
  }
  check_failed("every Kind has a form", __FILE__, __LINE__);
}

Result<Topology> discover(const TopologySource& source) {
  switch (source.kind) {
    case TopologySource::Kind::kHost:
      return named("topology of this host", topology_from_host());
    case TopologySource::Kind::kXml:
      return named(source.detail, topology_from_xml(TRY(read_file(source.detail, kMaxXmlBytes))));
    case TopologySource::Kind::kSynthetic:
      return named("synthetic description", topology_from_synthetic(source.detail));
  }
  check_failed("every Kind is discovered", __FILE__, __LINE__);
}

}  // namespace corehold
