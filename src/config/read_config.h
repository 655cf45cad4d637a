// SPDX-License-Identifier: Apache-2.0
//
// The text of a configuration file to a Config: a KubeletConfiguration, a
// CoreholdConfiguration or both, in any order. Everything that is wrong is reported at
// once, each with its line. No file is read here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "topology/topology.h"

namespace corehold {

// Longer texts are refused; a kubelet's configuration has a few thousand bytes.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20U;

// Something to tell about one line of the file.
struct ConfigRemark {
  int line = 0;         // from 1; 0: of no line in particular
  std::string field{};  // "devices[0].resource"; "" for the text as such
  std::string message{};

  bool operator==(const ConfigRemark&) const = default;
};

struct CheckedConfig {
  Config config{};                       // to be used only without mistakes
  std::vector<ConfigRemark> mistakes{};  // by line
  std::vector<ConfigRemark> warnings{};  // by line: what is allowed and hardly meant
  std::vector<ConfigRemark> notes{};     // by line: what is accepted and has no effect
  std::map<std::string, int> lines{};    // where each field stands that was given
};

// After a mistake in the YAML itself (but for a key given twice), the document it is in
// and those after it are not checked.
CheckedConfig read_config(std::string_view text);

// What is wrong with the configuration on this machine, whatever the file looks like:
// `line` is 0, and `field` one of CheckedConfig::lines where it was read from a file. CPUs,
// NUMA nodes and memory it lacks, more NUMA nodes than allowed, options its hardware
// contradicts.
std::vector<ConfigRemark> mistakes_on(const Config& config, const Topology& topology);

// Fails with kInvalid, all of mistakes_on() in one message.
Result<void> check_on(const Config& config, const Topology& topology);

}  // namespace corehold
