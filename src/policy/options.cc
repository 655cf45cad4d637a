// SPDX-License-Identifier: Apache-2.0
#include "policy/options.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "pod/scale_delay.h"

namespace corehold {
namespace {

constexpr std::string_view kScaleDelay = "scale-delay-time";
constexpr std::string_view kSwitch = "true or false";

constexpr std::array<OptionInfo, 7> kOptions{{
    {"full-pcpus-only", OptionStage::kStable, kSwitch, "false",
     "exclusive CPUs come as whole cores, and a request that does not fill them is refused"},
    {"strict-cpu-reservation", OptionStage::kStable, kSwitch, "false",
     "reserved CPUs are for the system alone: shared containers do not run on them"},
    {"prefer-align-cpus-by-uncorecache", OptionStage::kStable, kSwitch, "false",
     "keep the CPUs of a container under as few last-level caches as possible"},
    {"distribute-cpus-across-numa", OptionStage::kBeta, kSwitch, "false",
     "spread a container that needs several NUMA nodes evenly over them"},
    {"distribute-cpus-across-cores", OptionStage::kAlpha, kSwitch, "false",
     "give CPUs of different cores rather than siblings"},
    {"align-by-socket", OptionStage::kAlpha, kSwitch, "false",
     "prefer the CPUs of one socket, not only of one NUMA node"},
    {kScaleDelay, OptionStage::kAlpha, "0s to 10s, as in 5s, 500ms or 1.5s", "0s",
     "how long a container that shrinks keeps its CPUs after it was told which ones go"},
}};

// One row per option that is on or off.
struct Row {
  std::string_view name;
  bool StaticOptions::*field;
};

constexpr std::array<Row, 6> kRows{{
    {"full-pcpus-only", &StaticOptions::full_pcpus_only},
    {"strict-cpu-reservation", &StaticOptions::strict_cpu_reservation},
    {"prefer-align-cpus-by-uncorecache", &StaticOptions::prefer_align_by_uncore},
    {"distribute-cpus-across-numa", &StaticOptions::distribute_across_numa},
    {"distribute-cpus-across-cores", &StaticOptions::distribute_across_cores},
    {"align-by-socket", &StaticOptions::align_by_socket},
}};

Error invalid(std::string message) { return Error{Code::kInvalid, std::move(message)}; }

// What Go's strconv.ParseBool accepts.
std::optional<bool> parse_bool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 6> kFalse{"0", "f", "F", "false", "FALSE", "False"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return std::nullopt;
}

// Whether a text that is no boolean for Go was meant as a yes.
bool is_a_yes(std::string_view text) {
  constexpr std::array<std::string_view, 5> kYes{"yes", "y", "on", "enabled", "true"};
  std::string lower(text.substr(0, 8));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(kYes.begin(), kYes.end(), lower) != kYes.end();
}

// Reads one option after the other and collects what is wrong.
class OptionsReader {
 public:
  explicit OptionsReader(const PolicyGates& gates) : gates_(gates) {}

  void read(const std::string& name, const std::string& value) {
    const auto* option = std::find_if(kOptions.begin(), kOptions.end(),
                                      [&](const OptionInfo& row) { return row.name == name; });
    if (option == kOptions.end()) {
      return add(name, OptionFault::kUnknown,
                 fmt::format("unknown CPU Manager Policy option: \"{}\"", name));
    }
    check_stage(*option);
    if (name == kScaleDelay) return read_delay(value);
    const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                   [&](const Row& candidate) { return candidate.name == name; });
    CHECK(row != kRows.end());
    read_switch(*row, value);
  }

  StaticOptionsRead finish() && {
    if (meant_.distribute_across_cores) {
      if (meant_.full_pcpus_only) exclude("full-pcpus-only");
      if (meant_.distribute_across_numa) exclude("distribute-cpus-across-numa");
    }
    return std::move(read_);
  }

 private:
  void add(std::string_view option, OptionFault fault, std::string message) {
    read_.mistakes.push_back(
        {.option = std::string(option), .message = std::move(message), .fault = fault});
  }

  void check_stage(const OptionInfo& option) {
    const bool is_off = (option.stage == OptionStage::kAlpha && !gates_.alpha_options) ||
                        (option.stage == OptionStage::kBeta && !gates_.beta_options);
    if (!is_off) return;
    add(option.name, OptionFault::kStage,
        fmt::format("CPU Manager Policy {}-level Options not enabled, but option \"{}\" provided",
                    option.stage == OptionStage::kAlpha ? "Alpha" : "Beta", option.name));
  }

  void read_switch(const Row& row, std::string_view value) {
    const auto on = parse_bool(value);
    meant_.*row.field = on ? *on : is_a_yes(value);
    if (on) {
      read_.options.*row.field = *on;
      return;
    }
    add(row.name, OptionFault::kValue,
        fmt::format("bad value for option \"{}\": strconv.ParseBool: parsing {:?}: invalid syntax",
                    row.name, value));
  }

  void read_delay(std::string_view value) {
    const auto delay = parse_scale_delay(value);
    const bool is_above_zero =
        delay ? delay->count() > 0 : value.find_first_of("123456789") != std::string_view::npos;
    if (delay) {
      read_.options.scale_delay = *delay;
    } else {
      add(kScaleDelay, OptionFault::kValue,
          fmt::format("bad value for option \"{}\": {}", kScaleDelay, delay.error().message));
    }
    if (!is_above_zero || gates_.resize_exclusive_cpus) return;
    add(kScaleDelay, OptionFault::kNeed,
        fmt::format(
            "option \"{}\" is {} but feature gate "
            "InPlacePodVerticalScalingExclusiveCPUs is off; switch it on or set the option to 0s",
            kScaleDelay, value));
  }

  void exclude(std::string_view other) {
    constexpr std::string_view kAcrossCores = "distribute-cpus-across-cores";
    add(kAcrossCores, OptionFault::kPair,
        fmt::format("static policy options {} and {} can not be used at the same time", other,
                    kAcrossCores));
  }

  const PolicyGates& gates_;
  StaticOptions meant_{};
  StaticOptionsRead read_{};
};

}  // namespace

std::span<const OptionInfo> static_option_table() { return kOptions; }

StaticOptionsRead read_static_options(const std::map<std::string, std::string>& text,
                                      const PolicyGates& gates) {
  OptionsReader reader(gates);
  for (const auto& [name, value] : text) reader.read(name, value);
  return std::move(reader).finish();
}

Result<StaticOptions> parse_static_options(const std::map<std::string, std::string>& text,
                                           const PolicyGates& gates) {
  const StaticOptionsRead read = read_static_options(text, gates);
  if (!read.mistakes.empty()) return invalid(read.mistakes.front().message);
  return read.options;
}

std::vector<std::string_view> options_on(const StaticOptions& options) {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) {
    if (options.*row.field) names.push_back(row.name);
  }
  if (options.scale_delay.count() > 0) names.push_back(kScaleDelay);
  return names;
}

Result<void> check_static_options(const StaticOptions& options, TopologyPolicy topology_policy) {
  if (options.align_by_socket && topology_policy == TopologyPolicy::kSingleNumaNode) {
    return invalid(
        "Topolgy manager single-numa-node policy is incompatible with CPUManager "
        "align-by-socket policy option");
  }
  return {};
}

Result<void> check_static_options(const StaticOptions& options, const Topology& topology,
                                  TopologyPolicy topology_policy) {
  TRY(check_static_options(options, topology_policy));
  if (options.align_by_socket && topology.sockets().size() > topology.nodes().size()) {
    return invalid(
        "Align by socket is not compatible with hardware where number of sockets are more than "
        "number of NUMA");
  }
  return {};
}

}  // namespace corehold
