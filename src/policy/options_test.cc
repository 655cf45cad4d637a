// SPDX-License-Identifier: Apache-2.0
#include "policy/options.h"

#include <gtest/gtest.h>

#include "topology/testing.h"

namespace corehold {
namespace {

using Texts = std::map<std::string, std::string>;

std::string error_of(const Texts& texts, const PolicyGates& gates = {.alpha_options = true}) {
  const auto options = parse_static_options(texts, gates);
  return options ? "" : options.error().message;
}

TEST(StaticOptionsParse, ReadsEveryOption) {
  const auto options = parse_static_options({{"full-pcpus-only", "true"},
                                             {"strict-cpu-reservation", "1"},
                                             {"prefer-align-cpus-by-uncorecache", "T"},
                                             {"distribute-cpus-across-numa", "True"},
                                             {"align-by-socket", "false"},
                                             {"scale-delay-time", "1.5s"}},
                                            {.alpha_options = true, .resize_exclusive_cpus = true});
  ASSERT_TRUE(options);
  EXPECT_EQ(*options, (StaticOptions{.full_pcpus_only = true,
                                     .strict_cpu_reservation = true,
                                     .prefer_align_by_uncore = true,
                                     .distribute_across_numa = true,
                                     .scale_delay = std::chrono::milliseconds(1500)}));
}

TEST(StaticOptionsParse, NamesTheOptionThatIsWrong) {
  EXPECT_EQ(error_of({{"no-such-option", "true"}}),
            R"(unknown CPU Manager Policy option: "no-such-option")");
  EXPECT_EQ(
      error_of({{"full-pcpus-only", "maybe"}}),
      R"(bad value for option "full-pcpus-only": strconv.ParseBool: parsing "maybe": invalid syntax)");
  EXPECT_EQ(
      error_of({{"align-by-socket", "true"}}, {}),
      R"(CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided)");
  EXPECT_EQ(
      error_of({{"distribute-cpus-across-numa", "true"}}, {.beta_options = false}),
      R"(CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided)");
}

TEST(StaticOptionsParse, LetsFortyOfSixtyFourCombinationsThrough) {
  const std::vector<std::string> names{"full-pcpus-only",
                                       "strict-cpu-reservation",
                                       "prefer-align-cpus-by-uncorecache",
                                       "distribute-cpus-across-numa",
                                       "distribute-cpus-across-cores",
                                       "align-by-socket"};
  int accepted = 0;
  for (unsigned bits = 0; bits < 64; ++bits) {
    Texts texts;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((bits >> i & 1U) != 0) texts[names[i]] = "true";
    }
    accepted += error_of(texts).empty() ? 1 : 0;
  }
  EXPECT_EQ(accepted, 40);
  EXPECT_EQ(
      error_of({{"full-pcpus-only", "true"}, {"distribute-cpus-across-cores", "true"}}),
      "static policy options full-pcpus-only and distribute-cpus-across-cores can not be used "
      "at the same time");
}

TEST(StaticOptionsRead, ReportsEveryMistakeAndKeepsTheRest) {
  const auto read = read_static_options({{"align-by-socket", "true"},
                                         {"distribute-cpus-across-cores", "true"},
                                         {"distribute-cpus-across-numa", "true"},
                                         {"full-pcpus-only", "true"},
                                         {"no-such-option", "1"},
                                         {"strict-cpu-reservation", "maybe"}},
                                        {.alpha_options = true});
  std::vector<std::string> options;
  for (const OptionMistake& mistake : read.mistakes) options.push_back(mistake.option);
  EXPECT_EQ(options, (std::vector<std::string>{"no-such-option", "strict-cpu-reservation",
                                               "distribute-cpus-across-cores",
                                               "distribute-cpus-across-cores"}));
  EXPECT_TRUE(read.options.align_by_socket && read.options.full_pcpus_only);
  EXPECT_FALSE(read.options.strict_cpu_reservation);
}

TEST(StaticOptionsRead, NoMistakeHidesAnother) {
  const auto read = read_static_options({{"distribute-cpus-across-cores", "true"},
                                         {"full-pcpus-only", "Yes"},
                                         {"scale-delay-time", "20s"}},
                                        {});
  std::vector<OptionFault> faults;
  for (const OptionMistake& mistake : read.mistakes) faults.push_back(mistake.fault);
  EXPECT_EQ(faults, (std::vector<OptionFault>{OptionFault::kStage, OptionFault::kValue,
                                              OptionFault::kStage, OptionFault::kValue,
                                              OptionFault::kNeed, OptionFault::kPair}));
  EXPECT_EQ(
      read_static_options({{"scale-delay-time", "0"}}, {.alpha_options = true}).mistakes.size(),
      1U);
}

TEST(StaticOptionsOn, NamesThoseThatAreOn) {
  EXPECT_TRUE(options_on({}).empty());
  EXPECT_EQ(options_on({.full_pcpus_only = true, .scale_delay = std::chrono::seconds(1)}),
            (std::vector<std::string_view>{"full-pcpus-only", "scale-delay-time"}));
}

TEST(StaticOptionTable, NamesEveryOptionThatCanBeRead) {
  for (const OptionInfo& option : static_option_table()) {
    const Texts texts{{std::string(option.name), std::string(option.default_value)}};
    const auto options = parse_static_options(texts, {.alpha_options = true});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(*options, StaticOptions{}) << option.name;
  }
}

TEST(StaticOptionsCheck, AlignBySocketNeedsTheRightMachineAndPolicy) {
  const StaticOptions aligned{.align_by_socket = true};
  EXPECT_TRUE(check_static_options(aligned, machine("2s4c"), TopologyPolicy::kRestricted));
  EXPECT_FALSE(check_static_options(aligned, machine("2s4c"), TopologyPolicy::kSingleNumaNode));
  EXPECT_FALSE(check_static_options(aligned, machine("1n2s4c"), TopologyPolicy::kNone));
}

TEST(ScaleDelayOption, RefusesEveryBadValueByName) {
  const PolicyGates gates{.alpha_options = true, .resize_exclusive_cpus = true};
  for (const char* good : {"0s", "1ms", "500ms", "1.5s", "5s", "10s"}) {
    EXPECT_EQ(error_of({{"scale-delay-time", good}}, gates), "");
  }
  for (const char* bad : {"", "5", "-1s", "-1ms", "10.001s", "11s", "10001ms", "1m", "soon", "off",
                          "true", "0.5ms", "1e2ms", " 5s"}) {
    EXPECT_EQ(error_of({{"scale-delay-time", bad}}, gates)
                  .rfind("bad value for option \"scale-delay-time\": \"", 0),
              0U)
        << bad;
  }
  EXPECT_EQ(
      error_of({{"scale-delay-time", "11s"}}, gates),
      R"(bad value for option "scale-delay-time": "11s" is longer than 10s; write 0s to 10s, )"
      R"(as in "5s", "500ms" or "1.5s")");
}

TEST(ScaleDelayOption, NeedsTheResizeGate) {
  EXPECT_EQ(error_of({{"scale-delay-time", "0s"}}), "");
  EXPECT_EQ(error_of({{"scale-delay-time", "5s"}}),
            "option \"scale-delay-time\" is 5s but feature gate "
            "InPlacePodVerticalScalingExclusiveCPUs is off; switch it on or set the option to 0s");
}

}  // namespace
}  // namespace corehold
