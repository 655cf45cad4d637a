// SPDX-License-Identifier: Apache-2.0
//
// Real gRPC clients, on threads of their own, against the server on a loop.
#include "agent/podresources/pod_resources_server.h"

#include <podresources.grpc.pb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <set>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

namespace corehold {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::ElementsAre;
using Stub = v1::PodResourcesLister::Stub;

class PodResourcesServerTest : public testing::Test {
 protected:
  PodResourcesServerTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "corehold-pr-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    limits_.linger = 0ms;
    loop_thread_ = std::thread([this] { loop_.run(); });
  }
  void TearDown() override {
    if (loop_thread_.joinable()) {
      on_loop([this] { server_.reset(); });
      stop_loop();
    }
    std::filesystem::remove_all(directory_);
  }

  void on_loop(const std::function<void()>& task) {
    std::promise<void> done;
    asio::post(loop_, [&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  void stop_loop() {
    work_.reset();
    loop_.stop();
    loop_thread_.join();
  }

  void listen() {
    on_loop([this] {
      auto server = PodResourcesServer::listen(
          loop_, {.socket = {.path = socket()}, .source = source(), .limits = limits_});
      ASSERT_TRUE(server) << server.error().message;
      server_ = *std::move(server);
    });
  }

  std::string socket() const { return directory_ + "/pod-resources/kubelet.sock"; }

  // Each with a connection of its own.
  std::unique_ptr<Stub> client() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::PodResourcesLister::NewStub(grpc::CreateCustomChannel(
        "unix:" + socket(), grpc::InsecureChannelCredentials(), arguments));
  }
  static grpc::Status list(Stub& stub, v1::ListPodResourcesResponse& answer) {
    grpc::ClientContext context;
    return stub.List(&context, {}, &answer);
  }
  static grpc::Status get(Stub& stub, const std::string& name,
                          v1::GetPodResourcesResponse& answer) {
    grpc::ClientContext context;
    v1::GetPodResourcesRequest request;
    request.set_pod_namespace("default");
    request.set_pod_name(name);
    return stub.Get(&context, request, &answer);
  }

  static void tell(const std::string& name, v1::PodResources& answer) {
    answer.set_name(name);
    v1::ContainerResources& container = *answer.add_containers();
    container.add_cpu_ids(2);
    container.add_cpu_ids(3);
  }
  PodResourcesSource source() {
    return {.list =
                [this](v1::ListPodResourcesResponse& answer) {
                  ++answered_;
                  for (const std::string& pod : pods_) tell(pod, *answer.add_pod_resources());
                },
            .get = [this](const v1::GetPodResourcesRequest& request,
                          v1::GetPodResourcesResponse& answer) -> Result<void> {
              ++answered_;
              if (!pods_.contains(request.pod_name())) {
                return Error{Code::kNotFound, "pod " + request.pod_name() + " not found"};
              }
              tell(request.pod_name(), *answer.mutable_pod_resources());
              return {};
            },
            .get_allocatable =
                [this](v1::AllocatableResourcesResponse& answer) {
                  ++answered_;
                  for (int cpu = 2; cpu < 16; ++cpu) answer.add_cpu_ids(cpu);
                }};
  }

  // Asks until it is so.
  bool becomes(bool awake) {
    for (int i = 0; i < 60'000; ++i) {
      bool is_awake = false;
      on_loop([&] { is_awake = server_->is_awake(); });
      if (is_awake == awake) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

  int connect_plainly() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  // Reads to the end that the other side makes.
  static void expect_end(int fd) {
    std::array<char, 4096> bytes{};
    ssize_t size = 1;
    while (size > 0) size = ::read(fd, bytes.data(), bytes.size());
    EXPECT_TRUE(size == 0 || errno == ECONNRESET) << errno;
    ::close(fd);
  }

  std::set<std::string> pods_{};  // only the loop's thread looks at it, once that runs
  std::string directory_{};
  PodResourcesLimits limits_{};
  std::atomic<int> answered_ = 0;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(loop_);
  std::unique_ptr<PodResourcesServer> server_{};
  std::thread loop_thread_{};
};

TEST_F(PodResourcesServerTest, AnswersFromTheNode) {
  pods_.insert("a");
  listen();
  const auto stub = client();
  v1::ListPodResourcesResponse all;
  ASSERT_TRUE(list(*stub, all).ok());
  ASSERT_EQ(all.pod_resources_size(), 1);
  EXPECT_THAT(all.pod_resources(0).containers(0).cpu_ids(), ElementsAre(2, 3));
  v1::GetPodResourcesResponse one;
  ASSERT_TRUE(get(*stub, "a", one).ok());
  EXPECT_EQ(one.pod_resources().name(), "a");
  v1::AllocatableResourcesResponse allocatable;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->GetAllocatableResources(&context, {}, &allocatable).ok());
  EXPECT_EQ(allocatable.cpu_ids_size(), 14);
  EXPECT_EQ(answered_, 3);
}

TEST_F(PodResourcesServerTest, SaysWhatTheSourceSaysWhenThereIsNoSuchPod) {
  listen();
  const auto stub = client();
  v1::GetPodResourcesResponse answer;
  const grpc::Status status = get(*stub, "none", answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "pod none not found");
}

TEST_F(PodResourcesServerTest, KeepsItsSocketToItselfAndRemovesIt) {
  listen();
  struct stat status {};
  ASSERT_EQ(::stat(socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  on_loop([this] { server_->close(); });
  EXPECT_NE(::stat(socket().c_str(), &status), 0);
}

TEST_F(PodResourcesServerTest, RunsGrpcOnlyWhileAClientIsConnected) {
  listen();
  EXPECT_TRUE(becomes(false));
  for (int i = 0; i < 3; ++i) {
    auto stub = client();
    v1::ListPodResourcesResponse answer;
    ASSERT_TRUE(list(*stub, answer).ok());
    EXPECT_TRUE(becomes(true));
    stub.reset();
    EXPECT_TRUE(becomes(false));
  }
}

TEST_F(PodResourcesServerTest, EndsConnectionsOnWhichNothingIsAsked) {
  limits_.idle = 50ms;
  listen();
  const auto stub = client();
  v1::ListPodResourcesResponse answer;
  ASSERT_TRUE(list(*stub, answer).ok());
  const int silent = connect_plainly();
  expect_end(silent);
  EXPECT_TRUE(becomes(false));
  // A client does not notice: it connects anew.
  EXPECT_TRUE(list(*stub, answer).ok());
}

TEST_F(PodResourcesServerTest, RefusesARequestThatIsTooLarge) {
  listen();
  const auto stub = client();
  v1::GetPodResourcesResponse answer;
  const grpc::Status status = get(*stub, std::string(1U << 20U, 'x'), answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  v1::ListPodResourcesResponse all;
  EXPECT_TRUE(list(*stub, all).ok());
}

TEST_F(PodResourcesServerTest, EndsAConnectionThatDoesNotSpeakGrpc) {
  listen();
  const int fd = connect_plainly();
  const std::string words = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_EQ(::write(fd, words.data(), words.size()), static_cast<ssize_t>(words.size()));
  expect_end(fd);
  const auto stub = client();
  v1::ListPodResourcesResponse answer;
  EXPECT_TRUE(list(*stub, answer).ok());
}

TEST_F(PodResourcesServerTest, TakesNoMoreConnectionsThanItMay) {
  limits_.connections = 2;
  listen();
  const int first = connect_plainly();
  const auto stub = client();
  v1::ListPodResourcesResponse answer;
  ASSERT_TRUE(list(*stub, answer).ok());
  expect_end(connect_plainly());
  EXPECT_TRUE(list(*stub, answer).ok());
  ::close(first);
}

TEST_F(PodResourcesServerTest, RefusesCallsWhenTooManyWait) {
  limits_.waiting = 0;
  listen();
  const auto stub = client();
  v1::ListPodResourcesResponse answer;
  EXPECT_EQ(list(*stub, answer).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(PodResourcesServerTest, EveryAnswerIsOfOneMomentWhilePodsComeAndGo) {
  listen();
  constexpr int kClients = 4;
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      const auto stub = client();
      while (!is_over) {
        v1::ListPodResourcesResponse answer;
        if (!list(*stub, answer).ok()) ++wrong;
        for (const auto& pod : answer.pod_resources()) {
          if (pod.containers_size() != 1 || pod.containers(0).cpu_ids_size() != 2) ++wrong;
        }
      }
    });
  }
  for (int i = 0; i < 100 || answered_ < 100; ++i) {
    on_loop([&] { pods_.insert("a"); });
    on_loop([&] { pods_.insert("b"); });
    on_loop([&] { pods_.erase("a"); });
    on_loop([&] { pods_.erase("b"); });
  }
  is_over = true;
  for (std::thread& each : clients) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(PodResourcesServerTest, EndsWhileItIsBeingAsked) {
  listen();
  constexpr int kClients = 4;
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  std::atomic<int> served = 0;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      const auto stub = client();
      v1::ListPodResourcesResponse answer;
      while (list(*stub, answer).ok()) ++served;
    });
  }
  while (served < 20) std::this_thread::yield();
  on_loop([this] { server_->close(); });
  for (std::thread& each : clients) each.join();
}

TEST_F(PodResourcesServerTest, RefusesWhatStillWaitsWhenTheLoopHasStopped) {
  listen();
  const auto stub = client();
  v1::ListPodResourcesResponse first;
  ASSERT_TRUE(list(*stub, first).ok());
  stop_loop();
  auto late = std::async(std::launch::async, [&] {
    v1::ListPodResourcesResponse answer;
    return list(*stub, answer);
  });
  EXPECT_EQ(late.wait_for(20ms), std::future_status::timeout);
  server_.reset();
  EXPECT_EQ(late.get().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace corehold
