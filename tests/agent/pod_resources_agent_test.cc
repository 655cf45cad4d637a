// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's podresources API of a whole agent, asked by gRPC clients. Needs no root.
#include <podresources.grpc.pb.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include "agent/agent_process.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Stub = v1::PodResourcesLister::Stub;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class PodResourcesAgent : public testing::Test {
 protected:
  // CPUs 0-7 on one NUMA node, 8-15 on the other; 0-1 are reserved.
  bool start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--simulate", "package:2 numa:1 l3:1 core:4 pu:2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return agent_.start(arguments);
  }
  std::string socket() const { return agent_.root() + "/pod-resources/kubelet.sock"; }
  static std::unique_ptr<Stub> client(const std::string& socket) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::PodResourcesLister::NewStub(
        grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
  }
  static grpc::Status list(Stub& stub, v1::ListPodResourcesResponse& answer) {
    grpc::ClientContext context;
    return stub.List(&context, {}, &answer);
  }

  void create(const std::string& body) {
    const HttpAnswer made = agent_.ask({.method = "POST", .target = kPods, .body = body});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  bool is_phase(const std::string& name, const std::string& phase) {
    return comes_true(
        [&] { return agent_.field(fmt::format("{}/{}", kPods, name), "/status/phase") == phase; });
  }
  void remove(const std::string& name) {
    const std::string target = fmt::format("{}/{}", kPods, name);
    agent_.ask({.method = "DELETE", .target = target + "?gracePeriodSeconds=0"});
    ASSERT_TRUE(comes_true([&] { return agent_.ask({.target = target}).status == 404; }));
  }
  std::size_t threads() const {
    const fs::directory_iterator tasks(fmt::format("/proc/{}/task", agent_.pid()));
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
  }

  AgentProcess agent_;
};

TEST_F(PodResourcesAgent, TellsOfPodsAndOfWhatThereIsToGive) {
  ASSERT_TRUE(start()) << agent_.log();
  create(pod_text("a", 2, "sleep 1000"));
  create(pod_text("b", 0, "sleep 1000"));
  ASSERT_TRUE(is_phase("a", "Running")) << agent_.log();
  ASSERT_TRUE(is_phase("b", "Running")) << agent_.log();
  const auto stub = client(socket());
  v1::ListPodResourcesResponse all;
  const grpc::Status listed = list(*stub, all);
  ASSERT_TRUE(listed.ok()) << listed.error_message();
  ASSERT_EQ(all.pod_resources_size(), 2);
  EXPECT_EQ(all.pod_resources(0).name(), "a");
  EXPECT_EQ(all.pod_resources(0).namespace_(), "default");
  EXPECT_THAT(all.pod_resources(0).containers(0).cpu_ids(), ElementsAre(2, 3));
  EXPECT_THAT(all.pod_resources(1).containers(0).cpu_ids(), IsEmpty());

  v1::GetPodResourcesRequest request;
  request.set_pod_namespace("default");
  request.set_pod_name("a");
  v1::GetPodResourcesResponse one;
  grpc::ClientContext first;
  ASSERT_TRUE(stub->Get(&first, request, &one).ok());
  EXPECT_THAT(one.pod_resources().containers(0).cpu_ids(), ElementsAre(2, 3));
  request.set_pod_name("none");
  grpc::ClientContext second;
  const grpc::Status none = stub->Get(&second, request, &one);
  EXPECT_EQ(none.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(none.error_message(), "pod none in namespace default not found");

  v1::AllocatableResourcesResponse allocatable;
  grpc::ClientContext third;
  ASSERT_TRUE(stub->GetAllocatableResources(&third, {}, &allocatable).ok());
  EXPECT_EQ(allocatable.cpu_ids_size(), 14);
  const std::string metrics = agent_.ask({.target = "/metrics"}).body;
  EXPECT_THAT(metrics, HasSubstr("endpoint_requests_total{server_api_version=\"v1\"} 4\n"));
  EXPECT_THAT(metrics, HasSubstr("endpoint_errors_get{server_api_version=\"v1\"} 1\n"));
}

TEST_F(PodResourcesAgent, HasNoThreadsForItBeforeAnybodyConnects) {
  constexpr std::size_t kOwn = 2;  // the loop, and the one that writes to the store
  ASSERT_TRUE(start()) << agent_.log();
  EXPECT_EQ(threads(), kOwn);
  const auto stub = client(socket());
  v1::ListPodResourcesResponse answer;
  ASSERT_TRUE(list(*stub, answer).ok());
  EXPECT_GT(threads(), kOwn);
}

TEST_F(PodResourcesAgent, TellsDevicesAndMemoryWithTheirNodes) {
  const std::string config = agent_.root() + "/node.yaml";
  ASSERT_TRUE(write_file_atomically(
      config,
      "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
      "cpuManagerPolicy: static\nreservedSystemCPUs: \"0-1\"\nmemoryManagerPolicy: Static\n"
      "kubeReserved: {memory: 1Gi}\nevictionHard: {memory.available: 0Mi}\n"
      "reservedMemory:\n- {numaNode: 0, limits: {memory: 1Gi}}\n"
      "---\nkind: CoreholdConfiguration\napiVersion: corehold.dev/v1alpha1\n"
      "memory:\n- {numaNode: 0, memory: 4Gi}\n- {numaNode: 1, memory: 4Gi}\n"
      "devices:\n- {resource: example.com/nic, devices: [{id: eth0, numaNodes: [1]}]}\n"));
  ASSERT_TRUE(start({"--config", config})) << agent_.log();
  const auto stub = client(socket());
  v1::AllocatableResourcesResponse answer;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->GetAllocatableResources(&context, {}, &answer).ok());
  ASSERT_EQ(answer.memory_size(), 2) << answer.ShortDebugString();
  EXPECT_EQ(answer.memory(0).size(), 3U << 30U);
  EXPECT_EQ(answer.memory(1).topology().nodes(0).id(), 1);
  ASSERT_EQ(answer.devices_size(), 1);
  EXPECT_EQ(answer.devices(0).resource_name(), "example.com/nic");
  EXPECT_EQ(answer.devices(0).topology().nodes(0).id(), 1);
}

TEST_F(PodResourcesAgent, ServesWhereItIsToldTo) {
  const std::string config = agent_.root() + "/node.yaml";
  const std::string path = agent_.root() + "/elsewhere/pr.sock";
  ASSERT_TRUE(write_file_atomically(
      config, fmt::format("kind: CoreholdConfiguration\napiVersion: corehold.dev/v1alpha1\n"
                          "paths: {{podResourcesSocket: {}}}\n",
                          path)));
  ASSERT_TRUE(start({"--config", config})) << agent_.log();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  v1::ListPodResourcesResponse answer;
  EXPECT_TRUE(list(*client(path), answer).ok());
  EXPECT_FALSE(fs::exists(socket()));
}

TEST_F(PodResourcesAgent, AnswersManyWhilePodsComeAndGoAndEndsWhileAsked) {
  ASSERT_TRUE(start()) << agent_.log();
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> answered = 0;
  constexpr int kClients = 4;
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      const auto stub = client(socket());
      v1::ListPodResourcesResponse answer;
      while (list(*stub, answer).ok()) {
        ++answered;
        for (const auto& pod : answer.pod_resources()) {
          if (pod.containers(0).cpu_ids_size() != 2) ++wrong;
        }
      }
      if (!is_over) ++wrong;
    });
  }
  for (int i = 0; i < 5 || answered < 50; ++i) {
    create(pod_text("a", 2, "sleep 1000"));
    create(pod_text("b", 2, "sleep 1000"));
    EXPECT_TRUE(is_phase("b", "Running")) << agent_.log();
    remove("a");
    remove("b");
  }
  is_over = true;
  EXPECT_EQ(agent_.end(SIGTERM), 0) << agent_.log();
  for (std::thread& each : clients) each.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace corehold
