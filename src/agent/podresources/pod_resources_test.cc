// SPDX-License-Identifier: Apache-2.0
#include "agent/podresources/pod_resources.h"

#include <podresources.pb.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kGi = std::int64_t{1} << 30U;

// Two NUMA nodes of 8 CPUs, 0-1 reserved; each has 8 GiB of which 1 is reserved, and a
// card; the bus is near both, of the stick the node is not known.
class PodResourcesTest : public testing::Test {
 protected:
  PodResourcesTest() : topology_(machine("2s4c2t")), setup_(make()) {
    node_.placing.bookings = setup_.empty;
  }

  NodeSetup make() const {
    Config config = planning_defaults(topology_);
    config.memory_manager_policy = MemoryManagerPolicy::kStatic;
    config.memory =
        MemoryInventory{{NodeId(0), {{"memory", 8 * kGi}}}, {NodeId(1), {{"memory", 8 * kGi}}}};
    config.reserved_memory = {{NodeId(0), {{"memory", kGi}}}, {NodeId(1), {{"memory", kGi}}}};
    config.devices = {{"example.com/bus", {{.id = "bus", .nodes = nodes("0-1")}}},
                      {"example.com/card",
                       {{.id = "left", .nodes = nodes("0")}, {.id = "right", .nodes = nodes("1")}}},
                      {"example.com/stick", {{.id = "stick"}}}};
    auto setup = NodeSetup::make(topology_, config);
    EXPECT_TRUE(setup) << setup.error().message;
    return *std::move(setup);
  }

  RunPod& add(const std::string& name, const std::vector<std::string>& containers) {
    const Pod pod = pod_of(name, containers);
    const Decision decision = admit(setup_.rules(), node_.placing.bookings, pod);
    EXPECT_FALSE(decision.refusal) << decision.refusal->message;
    RunPod& state = node_.running.pods[pod.uid];
    state.record.pod = pod;
    state.record.pod.namespace_name = "work";
    node_.placing.pods[pod.uid].standing = Standing::kAdmitted;
    return state;
  }

  std::string list() const {
    v1::ListPodResourcesResponse answer;
    list_pod_resources(node_, answer);
    return answer.ShortDebugString();
  }

  Topology topology_;
  NodeSetup setup_;
  NodeState node_;
};

TEST_F(PodResourcesTest, TellsWhatEachContainerHasBeenGiven) {
  add("b", {"main cpu=2 memory=2Gi example.com/card=1"});
  add("a", {"main cpu=500m"});
  EXPECT_EQ(list(),
            "pod_resources { name: \"a\" namespace: \"work\" containers { name: \"main\" } } "
            "pod_resources { name: \"b\" namespace: \"work\" containers { name: \"main\" "
            "devices { resource_name: \"example.com/card\" device_ids: \"left\" "
            "topology { nodes { } } } cpu_ids: 2 cpu_ids: 3 "
            "memory { memory_type: \"memory\" size: 2147483648 topology { nodes { } } } } }");
}

TEST_F(PodResourcesTest, LeavesOutInitContainersThatEndAndTellsOfSidecars) {
  add("a",
      {"init:setup cpu=4 memory=1Gi", "sidecar:proxy cpu=1 memory=1Gi", "main cpu=2 memory=1Gi"});
  v1::ListPodResourcesResponse answer;
  list_pod_resources(node_, answer);
  ASSERT_EQ(answer.pod_resources_size(), 1);
  std::vector<std::string> names;
  for (const auto& container : answer.pod_resources(0).containers()) {
    names.push_back(container.name() + "/" + std::to_string(container.cpu_ids_size()));
  }
  EXPECT_THAT(names, ElementsAre("proxy/1", "main/2"));
}

TEST_F(PodResourcesTest, ADeviceIsToldOnceForEachNodeItIsNear) {
  add("a", {"main example.com/bus=1 example.com/stick=1"});
  v1::ListPodResourcesResponse answer;
  list_pod_resources(node_, answer);
  const auto& devices = answer.pod_resources(0).containers(0).devices();
  ASSERT_EQ(devices.size(), 3);
  EXPECT_EQ(devices[0].topology().nodes(0).id(), 0);
  EXPECT_EQ(devices[1].topology().nodes(0).id(), 1);
  EXPECT_EQ(devices[1].device_ids(0), "bus");
  EXPECT_EQ(devices[2].device_ids(0), "stick");
  EXPECT_FALSE(devices[2].has_topology());
}

TEST_F(PodResourcesTest, APodThatWaitsIsNotListedAndHasNothing) {
  const std::string uid = add("a", {"main cpu=2 memory=1Gi"}).record.pod.uid;
  node_.placing.pods[uid].standing = Standing::kWaiting;
  EXPECT_EQ(list(), "");
  v1::GetPodResourcesResponse answer;
  ASSERT_TRUE(get_pod_resources(node_, "work", "a", answer));
  EXPECT_EQ(answer.pod_resources().containers(0).name(), "main");
  EXPECT_THAT(answer.pod_resources().containers(0).cpu_ids(), IsEmpty());
}

TEST_F(PodResourcesTest, OnePodIsFoundByNamespaceAndName) {
  add("a", {"main cpu=2 memory=1Gi"});
  v1::GetPodResourcesResponse answer;
  ASSERT_TRUE(get_pod_resources(node_, "work", "a", answer));
  EXPECT_THAT(answer.pod_resources().containers(0).cpu_ids(), ElementsAre(2, 3));
  const auto none = get_pod_resources(node_, "other", "a", answer);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_EQ(none.error().message, "pod a in namespace other not found");
}

TEST_F(PodResourcesTest, AllocatableResourcesDoNotDependOnTheirHolders) {
  v1::AllocatableResourcesResponse before;
  get_allocatable_resources(node_, setup_, before);
  EXPECT_EQ(before.cpu_ids_size(), 14);
  EXPECT_EQ(before.cpu_ids(0), 2);
  ASSERT_EQ(before.memory_size(), 2);
  EXPECT_EQ(before.memory(1).size(), static_cast<std::uint64_t>(7 * kGi));
  EXPECT_EQ(before.memory(1).topology().nodes(0).id(), 1);
  EXPECT_EQ(before.devices_size(), 5);
  add("a", {"main cpu=2 memory=2Gi example.com/card=1"});
  v1::AllocatableResourcesResponse after;
  get_allocatable_resources(node_, setup_, after);
  EXPECT_EQ(after.ShortDebugString(), before.ShortDebugString());
}

TEST_F(PodResourcesTest, PolicyNoneHasNoCpusToGive) {
  const auto setup = NodeSetup::make(topology_, Config{});
  ASSERT_TRUE(setup) << setup.error().message;
  const NodeState node{.placing = {.bookings = setup->empty}};
  v1::AllocatableResourcesResponse answer;
  get_allocatable_resources(node, *setup, answer);
  EXPECT_EQ(answer.ShortDebugString(), "");
}

}  // namespace
}  // namespace corehold
