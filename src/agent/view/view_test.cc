// SPDX-License-Identifier: Apache-2.0
#include "agent/view/view.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "agent/node/feature_rules.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

// CPUs 0-7 in four cores of two; 0-1 reserved.
class ViewTest : public testing::Test {
 protected:
  ViewTest() : topology_(machine("1s4c2t")), setup_(make()) {
    node_.placing.bookings = setup_.empty;
    RunPod& pod = node_.running.pods["u1"];
    pod.record.pod = {
        .name = "a", .namespace_name = "n", .uid = "u1", .containers = {{.name = "main"}}};
    pod.record.containers["main"] = {};
    pod.containers["main"] = {};
    placed().standing = Standing::kAdmitted;
    pod.record.started_at = 5000ms;
  }

  NodeSetup make() {
    Config config = planning_defaults(topology_);
    config.static_options.full_pcpus_only = true;
    config.static_options.scale_delay = 1500ms;
    config.gates.set(Gate::kCpuManagerPolicyAlphaOptions, true);
    config.gates.others["SwapBehavior"] = false;
    config.topology = {
        .policy = TopologyPolicy::kRestricted, .scope = TopologyScope::kPod, .max_numa_nodes = 16};
    auto setup = NodeSetup::make(topology_, config);
    EXPECT_TRUE(setup) << setup.error().message;
    return *std::move(setup);
  }
  PlacedPod& placed() { return node_.placing.pods["u1"]; }
  json::value status() const {
    return pod_json(node_.running.pods.at("u1"), node_.placing.pods.at("u1"), facts_, 7)
        .at("status")
        .at("containerStatuses")
        .at(0);
  }

  Topology topology_;
  NodeSetup setup_;
  NodeFacts facts_{.setup = setup_, .name = "host"};
  NodeState node_;
};

TEST_F(ViewTest, ShowsACrashLoopWithTheLastEnd) {
  RunPod& pod = node_.running.pods["u1"];
  pod.containers["main"] = {.stage = Stage::kBackingOff};
  pod.record.containers["main"] = {.attempt = 2, .exits = 3, .last_exit = ContainerExit{.code = 3}};
  EXPECT_EQ(status().at("state").at("waiting").at("reason").get_string(), "CrashLoopBackOff");
  EXPECT_EQ(status().at("lastState").at("terminated").at("exitCode").get_int64(), 3);
  EXPECT_EQ(status().at("restartCount").get_int64(), 2);
}

TEST_F(ViewTest, ShowsThatAllContainersAreBeingRestarted) {
  RunPod& pod = node_.running.pods["u1"];
  const auto restarting = [&]() -> json::value {
    const json::value shown = pod_json(pod, placed(), facts_, 7);
    for (const json::value& each : shown.at("status").at("conditions").get_array()) {
      if (each.at("type") == "AllContainersRestarting") return each;
    }
    return nullptr;
  };
  EXPECT_EQ(restarting(), nullptr);
  pod.record.restart_all = {.under_way = true, .since = 6000ms};
  pod.containers["main"] = {.stage = Stage::kBackingOff};
  pod.record.containers["main"] = {.exits = 1, .last_exit = ContainerExit{.code = 42}};
  EXPECT_EQ(json::serialize(restarting()),
            R"({"type":"AllContainersRestarting","status":"True","lastProbeTime":null,)"
            R"("lastTransitionTime":"1970-01-01T00:00:06Z","reason":"RestartAllContainersStarted",)"
            R"("message":"container exited with restart policy rule","observedGeneration":1})");
  EXPECT_EQ(status().at("state").at("waiting").at("reason").get_string(),
            "RestartingAllContainers");
  // Afterwards, of a pod that may do it again.
  setup_.gates.set(Gate::kRestartAllContainersOnContainerExits, true);
  add_restart_rule(pod.record.pod, "main", 42, "RestartAllContainers");
  pod.record.restart_all = {.since = 7000ms};
  EXPECT_EQ(json::serialize(restarting()),
            R"({"type":"AllContainersRestarting","status":"False","lastProbeTime":null,)"
            R"("lastTransitionTime":"1970-01-01T00:00:07Z","observedGeneration":1})");
}

TEST_F(ViewTest, ShowsAContainerThatHasEndedForGood) {
  RunPod& pod = node_.running.pods["u1"];
  pod.containers["main"] = {};
  pod.record.containers["main"] = {
      .exits = 1, .ended = true, .last_exit = ContainerExit{.code = 143, .signal = 15}};
  EXPECT_EQ(status().at("state").at("terminated").at("signal").get_int64(), 15);
}

TEST_F(ViewTest, ShowsARunningContainer) {
  RunPod& pod = node_.running.pods["u1"];
  pod.containers["main"] = {.stage = Stage::kRunning};
  pod.record.containers["main"] = {.started_at = 6000ms};
  EXPECT_EQ(status().at("state").at("running").at("startedAt").get_string(),
            "1970-01-01T00:00:06Z");
  EXPECT_TRUE(status().at("ready").get_bool());
}

Resources cpu(const char* amount) { return {.requests = {{"cpu", *Quantity::parse(amount)}}}; }

// The container runs with 2 CPUs, 4 are granted, 6 are wished for.
TEST_F(ViewTest, ShowsAResizeThatIsNotOver) {
  RunPod& pod = node_.running.pods["u1"];
  pod.containers["main"] = {.stage = Stage::kRunning};
  pod.record.pod.containers[0].resources = cpu("4");
  pod.record.containers["main"].actual = cpu("2");
  pod.record.resize_began_at = 6000ms;
  pod.record.wish = ResizeWish{.resources = {{"main", cpu("6")}}, .since = 7000ms};
  const auto shown = [&] { return pod_json(pod, placed(), facts_, 7); };
  const auto conditions = [&] {
    std::vector<std::string> found;
    const json::object object = shown();
    for (const json::value& each : object.at("status").at("conditions").as_array()) {
      const json::object& condition = each.as_object();
      if (!condition.at("type").as_string().starts_with("PodResize")) continue;
      std::string text(condition.at("type").as_string());
      for (const char* field : {"lastTransitionTime", "reason", "message"}) {
        if (const json::value* value = condition.if_contains(field)) {
          text += " " + std::string(value->as_string());
        }
      }
      found.push_back(std::move(text));
    }
    return found;
  };
  EXPECT_EQ(shown().at("spec").at("containers").at(0).at("resources").at("requests").at("cpu"),
            "6");
  EXPECT_EQ(status().at("allocatedResources").at("cpu"), "4");
  EXPECT_EQ(status().at("resources").at("requests").at("cpu"), "2");
  const std::string progress = "PodResizeInProgress 1970-01-01T00:00:06Z";
  EXPECT_EQ(conditions(), std::vector<std::string>{progress});
  placed().resize.verdict = ResizeVerdict::kInfeasible;
  placed().resize.message = "too many";
  EXPECT_EQ(conditions(),
            (std::vector<std::string>{"PodResizePending 1970-01-01T00:00:07Z Infeasible too many",
                                      progress}));
  pod.record.wish.reset();
  EXPECT_EQ(conditions(), std::vector<std::string>{progress + " Error too many"});
  EXPECT_EQ(shown().at("spec").at("containers").at(0).at("resources").at("requests").at("cpu"),
            "4");
}

TEST_F(ViewTest, MapsCpusToTheirHolders) {
  apply(node_.placing.bookings.cpus,
        Assign{.container = {.pod = "u1", .container = "main"}, .cpus = *CpuSet::parse("2-3")});
  apply(node_.placing.bookings.cpus, SetShared{.cpus = *CpuSet::parse("0-1,4-7")});
  node_.placing.offline = *CpuSet::parse("7");
  const CpuMap map = cpu_map(node_, facts_, {});
  ASSERT_EQ(map.containers.size(), 1U);
  EXPECT_EQ(map.containers[0].namespace_name, "n");
  EXPECT_EQ(map.containers[0].assigned.str(), "2-3");
  EXPECT_EQ(map.containers[0].since, 5000ms);
  EXPECT_EQ(map.shared.str(), "0-1,4-6");
  EXPECT_EQ(map.free.str(), "4-5");
  EXPECT_EQ(map.offline.str(), "7");
}

TEST_F(ViewTest, CountsDownToTheEndOfADelay) {
  const ContainerRef ref{.pod = "u1", .container = "main"};
  apply(node_.placing.bookings.cpus, Assign{.container = ref, .cpus = *CpuSet::parse("2-3")});
  apply(node_.placing.bookings.cpus, SetShared{.cpus = *CpuSet::parse("0-1,4-7")});
  apply(node_.placing.bookings.cpus, Reassign{ref, *CpuSet::parse("2-5")});
  apply(node_.placing.bookings.cpus, SetShared{.cpus = *CpuSet::parse("0-1,6-7")});
  apply(node_.placing.bookings.cpus, SetPending{ref, *CpuSet::parse("2-3")});
  PlacedContainer& state = placed().containers["main"];
  state.shrink = ShrinkState{.after = *CpuSet::parse("2-3")};
  const Now now{.steady = 100s, .wall = 5000s};
  // Before the container is told, its delay has no end yet.
  EXPECT_FALSE(cpu_map(node_, facts_, now).containers[0].pending_for.has_value());
  state.shrink->told_at = 98s;
  state.shrink->delay = 5s;
  const CpuMap map = cpu_map(node_, facts_, now);
  EXPECT_EQ(map.containers[0].pending->str(), "2-3");
  EXPECT_EQ(map.containers[0].pending_for, 3000ms);
  EXPECT_EQ(map.containers[0].pending_until, 5003s);
  // Over, and not applied yet.
  EXPECT_EQ(cpu_map(node_, facts_, {.steady = 200s}).containers[0].pending_for, 0ms);
}

TEST_F(ViewTest, ShowsWhatAResizeFailsAt) {
  RunPod& pod = node_.running.pods.at("u1");
  pod.record.containers["main"].actual = Resources{};
  placed().resize.errors = {{"", "cannot write"}, {"main", "cannot set"}};
  const json::value shown = pod_json(pod, placed(), facts_, 1);
  const json::array& conditions = shown.at("status").at("conditions").as_array();
  const auto found = std::find_if(conditions.begin(), conditions.end(), [](const auto& each) {
    return each.at("type") == "PodResizeInProgress";
  });
  ASSERT_NE(found, conditions.end());
  EXPECT_EQ(found->at("reason"), "Error");
  EXPECT_EQ(found->at("message"), "cannot write; cannot set");
}

// Its event says it without the prefix.
TEST_F(ViewTest, ShowsARefusedPodAsAKubeletDoes) {
  RunPod& pod = node_.running.pods.at("u1");
  placed().standing = Standing::kWaiting;
  pod.record.failed = true;
  pod.record.reason = "OutOfcpu";
  pod.record.message = "not enough";
  const json::value shown = pod_json(pod, placed(), facts_, 1);
  EXPECT_EQ(shown.at("status").at("phase"), "Failed");
  EXPECT_EQ(shown.at("status").at("message"), "Pod was rejected: not enough");
  EXPECT_EQ(shown.at("status").at("startTime"), "1970-01-01T00:00:05Z");
  EXPECT_EQ(shown.at("spec").at("nodeName"), "host");
}

TEST_F(ViewTest, TellsWhichFeaturesTheNodeDeclaresAndWhyNotTheOthers) {
  Config config = planning_defaults(topology_);
  config.gates.set(Gate::kDownwardApiAssignedResources, true);
  config.cpu_manager_policy = CpuManagerPolicy::kNone;
  facts_.features = own_features(config);
  const CpuSettings settings = cpu_map(node_, facts_, {}).settings;
  EXPECT_EQ(settings.declared_features, std::vector<std::string>{"DownwardAPIAssignedResources"});
  EXPECT_EQ(settings.undeclared_features.size(), 10U);
  EXPECT_EQ(settings.undeclared_features.at("InPlacePodVerticalScalingExclusiveCPUs"),
            "its gate is off, cpuManagerPolicy is none, must be static");
  EXPECT_EQ(settings.undeclared_features.at("RestartAllContainersOnContainerExits"),
            "its gate is off");
  EXPECT_EQ(settings.undeclared_features.at("VolumeBindMountOptions"),
            "this node does not have it");
}

TEST_F(ViewTest, TellsHowTheNodeIsSetUp) {
  const CpuSettings settings = cpu_map(node_, facts_, {}).settings;
  EXPECT_EQ(settings, (CpuSettings{.topology_policy = "restricted",
                                   .topology_scope = "pod",
                                   .topology_options = {"max-allowable-numa-nodes=16"},
                                   .gates = {{"CPUManagerPolicyAlphaOptions", true}},
                                   .idle_gates = {{"SwapBehavior", false}},
                                   .scale_delay = 1500ms,
                                   .reconcile_period = 10s,
                                   .min_shared = 1}));
}

TEST_F(ViewTest, FindsPodsByNamespaceAndName) {
  node_.placing.pods["u0"];
  node_.running.pods["u0"].record.pod = {.name = "z", .namespace_name = "m", .uid = "u0"};
  EXPECT_EQ(find_pod(node_, "m", "z")->record.pod.uid, "u0");
  EXPECT_EQ(find_pod(node_, "n", "z"), nullptr);
}

}  // namespace
}  // namespace corehold
