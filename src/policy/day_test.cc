// SPDX-License-Identifier: Apache-2.0
//
// One scripted day on six machines: pods come and go under every allowed combination of
// the static policy's options (KEP-5554 has 40), every topology policy and scope. After
// each step the books balance; in the evening, when all have left, they are as in the
// morning.
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "policy/admission_testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::array kPolicies{TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                               TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode};
constexpr std::array kScopes{TopologyScope::kContainer, TopologyScope::kPod};

// A pod that comes or, without containers, one that leaves. "again": it comes once more.
// "cpu=3u" is three times the unit of the machine, "g" are GiB.
struct Step {
  std::string pod;
  std::vector<std::string> containers;
};

const std::vector<Step>& script() {
  static const std::vector<Step> kScript{
      {"log-0", {"main cpu=100m..1 memory=1g"}},
      {"db-0", {"main cpu=2u memory=2g"}},
      {"db-1", {"init:setup cpu=1u memory=3g", "main cpu=2u memory=2g"}},
      {"web-0", {"sidecar:proxy cpu=1u memory=1g", "main cpu=1u memory=1g"}},
      {"web-1", {"main cpu=250m memory=1g"}},
      {"nic-0", {"main cpu=1u memory=1g example.com/nic=1"}},
      {"best-0", {"main"}},
      {"big-0", {"main cpu=4u memory=9g"}},
      {"odd-0", {"main cpu=3 memory=1g"}},
      {"again", {"db-0"}},
      {"db-0", {}},
      {"gpu-0", {"main cpu=2u memory=1g example.com/gpu=1 example.com/nic=1"}},
      {"two-0", {"one cpu=1u memory=1g", "two cpu=1u memory=2g"}},
      {"web-2", {"init:a cpu=2u memory=1g", "init:b cpu=1u memory=4g", "main cpu=1u memory=1g"}},
      {"nobody", {}},
      {"huge-0", {"main cpu=1u memory=1g hugepages-2Mi=1g"}},
      {"huge-1", {"init:setup cpu=1 memory=1g hugepages-2Mi=2g", "main cpu=1u memory=1g"}},
      {"db-1", {}},
      {"half-0", {"main cpu=8u memory=4g"}},
      {"free-0", {"main cpu=1 example.com/free=2 memory=1g"}},
      {"nic-1", {"main cpu=500m.. example.com/nic=2"}},
      {"again", {"gpu-0"}},
      {"gone-0", {"main cpu=1 memory=1g example.com/gone=1"}},
      {"mem-0", {"main cpu=1 memory=7g"}},
      {"mem-1", {"main cpu=1 memory=12g"}},
      {"web-0", {}},
      {"web-1", {}},
      {"all-0", {"main cpu=16u memory=1g"}},
      {"three-0", {"one cpu=1u memory=1g", "two cpu=100m memory=1g", "three cpu=1 memory=1g"}},
      {"nic-0", {}},
      {"nic-2",
       {"init:setup cpu=1u memory=1g example.com/nic=2",
        "sidecar:proxy cpu=1 memory=1g example.com/nic=1",
        "main cpu=1u memory=1g example.com/nic=2"}},
      {"big-0", {}},
      {"big-1", {"main cpu=6u memory=6g"}},
      {"odd-1", {"main cpu=5 memory=1g"}},
      {"again", {"nic-2"}},
      {"half-0", {}},
      {"half-1", {"init:setup cpu=8u memory=2g", "main cpu=4u memory=2g example.com/gpu=1"}},
      {"mem-0", {}},
      {"db-2", {"main cpu=2u memory=5g", "backup cpu=1 memory=1g"}},
      {"db-3", {"main cpu=2u memory=5g"}},
      {"huge-0", {}},
      {"gpu-1", {"main cpu=1u memory=1g example.com/gpu=2"}},
      {"gpu-0", {}},
      {"gpu-2", {"main cpu=1u memory=1g example.com/gpu=2"}},
      {"two-0", {}},
      {"odd-0", {}},
      {"wide-0",
       {"a cpu=1 memory=1g", "b cpu=1 memory=1g", "c cpu=1 memory=1g", "d cpu=1 memory=1g",
        "e cpu=1 memory=1g"}},
      {"wide-1", {"a cpu=1u memory=1g", "b cpu=1u memory=1g", "c cpu=1u memory=1g"}},
      {"mem-1", {}},
      {"mem-2", {"main cpu=1u memory=20g"}},
      {"web-2", {}},
      {"web-3",
       {"init:setup cpu=4u memory=8g", "sidecar:proxy cpu=1u memory=1g", "main cpu=2u memory=1g"}},
      {"again", {"web-3"}},
      {"nic-1", {}},
      {"nic-3", {"main cpu=1u memory=1g example.com/nic=3"}},
      {"three-0", {}},
      {"half-2", {"one cpu=4u memory=2g", "two cpu=4u memory=2g"}},
      {"log-1", {"main memory=1g..2g"}},
      {"db-2", {}},
      {"big-2", {"main cpu=5u memory=10g"}},
      {"odd-2", {"main cpu=1 memory=1g", "side cpu=1 memory=1g"}},
      {"half-1", {}},
      {"last-0", {"main cpu=2u memory=1g example.com/nic=1 example.com/gpu=1"}},
  };
  return kScript;
}

struct Machine {
  const char* name;
  Topology topology;
  int unit;  // CPUs
};

std::vector<Machine> machines() {
  return {{"one socket", machine("1s8c"), 1},
          {"two sockets", machine("2s4c2t", Numbering::kThreadsFar), 2},
          {"two sockets of two NUMA nodes", machine("2s2n2l3c2t"), 4},
          {"eight NUMA nodes", machine("2s4n3c2t"), 4},
          {"uneven", without(machine("2s2n4c2t"), cpus("5,9-10,17")), 2},
          {"sixteen NUMA nodes", machine("4s4n2c2t"), 4}};
}

std::vector<StaticOptions> combinations() {
  std::vector<StaticOptions> all;
  for (unsigned bits = 0; bits < 64; ++bits) {
    const auto is_set = [&](unsigned bit) { return (bits >> bit & 1U) != 0; };
    const StaticOptions options{.full_pcpus_only = is_set(0),
                                .strict_cpu_reservation = is_set(1),
                                .prefer_align_by_uncore = is_set(2),
                                .distribute_across_numa = is_set(3),
                                .distribute_across_cores = is_set(4),
                                .align_by_socket = is_set(5)};
    const bool excluded = options.distribute_across_cores &&
                          (options.full_pcpus_only || options.distribute_across_numa);
    if (!excluded) all.push_back(options);
  }
  return all;
}

// 8 GiB and 1 GiB of huge pages on every node; a NIC near each, GPUs near two
// neighbours each, and two devices that are near no node.
NodeSetup setup_of(const Machine& machine, const StaticOptions& options) {
  NodeSetup setup;
  setup.config.options = options;
  setup.config.reserved_count = machine.topology.threads_per_core();
  NodeId previous = machine.topology.nodes().back().id;
  for (const auto& node : machine.topology.nodes()) {
    setup.memory[node.id] = {{"memory", 8 * kGi}, {"hugepages-2Mi", kGi}};
    const std::string id = std::to_string(node.id.value);
    setup.devices["example.com/nic"].push_back({.id = id, .nodes = {node.id}});
    setup.devices["example.com/gpu"].push_back({.id = id, .nodes = {node.id, previous}});
    previous = node.id;
  }
  setup.devices["example.com/free"] = {{.id = "a"}, {.id = "b"}};
  return setup;
}

// "cpu=3u memory=1g" with the unit of the machine.
std::string spelled(const std::string& line, int unit) {
  std::string text;
  std::size_t digits = 0;  // where the number began that text ends with
  for (const char c : line) {
    if (c == 'u' && digits < text.size()) {
      const int count = std::stoi(text.substr(digits));
      text.resize(digits);
      text += std::to_string(count * unit);
    } else if (c == 'g' && digits < text.size()) {
      text += "Gi";
    } else {
      text += c;
    }
    if (c < '0' || c > '9') digits = text.size();
  }
  return text;
}

struct Tally {
  int runs = 0;
  int refused_starts = 0;
  int admitted = 0;
  int again = 0;
  std::map<std::string, int> refused{};  // by reason
};

// The day's pods as they are on this machine.
std::vector<std::optional<Pod>> pods_of_day(const Machine& machine) {
  std::vector<std::optional<Pod>> pods;
  for (const Step& step : script()) {
    std::vector<std::string> lines;
    for (const std::string& line : step.containers) lines.push_back(spelled(line, machine.unit));
    const bool comes = !lines.empty() && step.pod != "again";
    pods.push_back(comes ? std::optional(pod_of(step.pod, lines)) : std::nullopt);
  }
  return pods;
}

void come(AdmittingNode& node, const Pod& pod, Tally& tally) {
  const Bookings before = node.bookings();
  const Decision decision = node.admit(pod);
  if (!decision.refusal) {
    ++tally.admitted;
    return;
  }
  ++tally.refused[decision.refusal->reason];
  ASSERT_EQ(node.bookings(), before);
  ASSERT_NE(decision.refusal->message.find("pod default/" + pod.name), std::string::npos);
}

void come_again(AdmittingNode& node, const std::string& name, Tally& tally) {
  const auto found = node.pods().find(name);
  if (found == node.pods().end()) return;
  const Bookings before = node.bookings();
  const Pod pod = found->second;
  ASSERT_EQ(text_of(node.admit(pod)).find("Error"), std::string::npos);
  ASSERT_EQ(node.bookings(), before);
  ++tally.again;
}

void run_day(AdmittingNode& node, const std::vector<std::optional<Pod>>& pods, Tally& tally) {
  const Bookings morning = node.bookings();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const Step& step = script()[i];
    if (pods[i]) {
      come(node, *pods[i], tally);
    } else if (step.pod == "again") {
      come_again(node, step.containers.front(), tally);
    } else {
      node.release(step.pod);
    }
    ASSERT_EQ(node.problem(), "") << "after step " << i << ", " << step.pod;
  }
  while (!node.pods().empty()) node.release(std::string(node.pods().begin()->first));
  ASSERT_EQ(node.bookings(), morning);
}

void run_machine(const Machine& machine, Tally& tally) {
  const auto pods = pods_of_day(machine);
  for (const StaticOptions& options : combinations()) {
    for (const TopologyPolicy policy : kPolicies) {
      for (const TopologyScope scope : kScopes) {
        NodeSetup setup = setup_of(machine, options);
        setup.topology = {.policy = policy, .scope = scope, .max_numa_nodes = 16};
        auto node = AdmittingNode::make(machine.topology, std::move(setup));
        const bool impossible =
            options.align_by_socket && policy == TopologyPolicy::kSingleNumaNode;
        ASSERT_EQ(node.has_value(), !impossible);
        if (impossible) {
          ++tally.refused_starts;
          continue;
        }
        ++tally.runs;
        run_day(*node, pods, tally);
        ASSERT_FALSE(testing::Test::HasFatalFailure())
            << machine.name << ", " << name_of(policy) << ", " << name_of(scope);
      }
    }
  }
}

class ScriptedDay : public testing::TestWithParam<std::size_t> {};

TEST_P(ScriptedDay, KeepsTheBooksUnderEveryCombination) {
  const Machine machine = machines()[GetParam()];
  Tally tally;
  run_machine(machine, tally);
  std::string reasons;
  for (const auto& [reason, count] : tally.refused)
    reasons += fmt::format(", {} {}", count, reason);
  std::printf("%s\n", fmt::format("{}: {} days, {} starts refused, {} pods admitted, {} again{}",
                                  machine.name, tally.runs, tally.refused_starts, tally.admitted,
                                  tally.again, reasons)
                          .c_str());
  EXPECT_EQ(tally.runs + tally.refused_starts, 40 * 4 * 2);
  EXPECT_EQ(tally.refused_starts, 20 * 2);
  EXPECT_GT(tally.admitted, 0);
  EXPECT_GT(tally.again, 0);
  for (const auto& [reason, count] : tally.refused) {
    EXPECT_TRUE(reason == "TopologyAffinityError" || reason == "OutOfcpu" ||
                reason == "SMTAlignmentError" || reason == "UnexpectedAdmissionError")
        << reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, ScriptedDay, testing::Range<std::size_t>(0, machines().size()));

TEST(ScriptedDayOptions, AreTheFortyOfTheKep) { EXPECT_EQ(combinations().size(), 40U); }

}  // namespace
}  // namespace corehold
