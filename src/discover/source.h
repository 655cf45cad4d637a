// SPDX-License-Identifier: Apache-2.0
//
// TopologySource: where a topology comes from, as people write it on a command line:
// "host", "xml:FILE" or "synthetic:DESCRIPTION". discover() fetches it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace corehold {

struct TopologySource {
  enum class Kind { kHost, kXml, kSynthetic };

  Kind kind = Kind::kHost;
  std::string detail{};  // the file's path, or the description; empty for the host

  // Fails with kInvalid on any other form, and on an empty FILE or DESCRIPTION.
  static Result<TopologySource> parse(std::string_view text);
  // What parse() reads back as the same TopologySource.
  std::string str() const;

  bool operator==(const TopologySource&) const = default;
};

// The topology of `source`. Fails with kIo when the file cannot be read, else as
// the functions of hwloc_source.h do; the message begins with what was read.
Result<Topology> discover(const TopologySource& source);

}  // namespace corehold
