// SPDX-License-Identifier: Apache-2.0
#include "agent/podresources/pod_resources_session.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <podresources.grpc.pb.h>

#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

namespace corehold {
namespace {

using Service = v1::PodResourcesLister::AsyncService;

// One call, from the moment gRPC is told to wait for it to the moment its answer is out. gRPC
// has the only pointer to it while it waits or sends, the box while it waits for the loop.
class Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  // Has gRPC wait for another call of this kind.
  virtual void await_next() = 0;
  virtual void answer(const PodResourcesSource& source) = 0;
  virtual void refuse(const grpc::Status& why) = 0;

  bool has_arrived = false;
};

// What is done for each of the service's methods.
template <typename Request, typename Response>
struct Method {
  using Await = void (Service::*)(grpc::ServerContext*, Request*,
                                  grpc::ServerAsyncResponseWriter<Response>*,
                                  grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);
  Await await;
  grpc::Status (*fill)(const PodResourcesSource&, const Request&, Response&);
};

// Where calls come from.
struct Desk {
  Service& service;
  grpc::ServerCompletionQueue& queue;
};

template <typename Request, typename Response>
class CallOf final : public Call {
 public:
  static void await(const Desk& desk, const Method<Request, Response>& method) {
    // gRPC gives it back through the queue.
    auto* call = new CallOf(desk, method);
    (desk.service.*method.await)(&call->context_, &call->request_, &call->writer_, &desk.queue,
                                 &desk.queue, call);
  }

  void await_next() override { await(desk_, method_); }

  void answer(const PodResourcesSource& source) override {
    Response response;
    const grpc::Status status = method_.fill(source, request_, response);
    if (!status.ok()) return refuse(status);
    writer_.Finish(response, grpc::Status::OK, this);
  }

  void refuse(const grpc::Status& why) override { writer_.FinishWithError(why, this); }

 private:
  CallOf(const Desk& desk, const Method<Request, Response>& method)
      : desk_(desk), method_(method) {}

  Desk desk_;
  const Method<Request, Response>& method_;
  grpc::ServerContext context_{};
  Request request_{};
  grpc::ServerAsyncResponseWriter<Response> writer_{&context_};
};

constexpr Method<v1::ListPodResourcesRequest, v1::ListPodResourcesResponse> kList{
    .await = &Service::RequestList,
    .fill = [](const PodResourcesSource& source, const v1::ListPodResourcesRequest&,
               v1::ListPodResourcesResponse& answer) {
      source.list(answer);
      return grpc::Status();
    }};

constexpr Method<v1::GetPodResourcesRequest, v1::GetPodResourcesResponse> kGet{
    .await = &Service::RequestGet,
    .fill = [](const PodResourcesSource& source, const v1::GetPodResourcesRequest& request,
               v1::GetPodResourcesResponse& answer) {
      const auto found = source.get(request, answer);
      if (found) return grpc::Status();
      return grpc::Status(found.error().code == Code::kNotFound ? grpc::StatusCode::NOT_FOUND
                                                                : grpc::StatusCode::UNKNOWN,
                          found.error().message);
    }};

constexpr Method<v1::AllocatableResourcesRequest, v1::AllocatableResourcesResponse> kAllocatable{
    .await = &Service::RequestGetAllocatableResources,
    .fill = [](const PodResourcesSource& source, const v1::AllocatableResourcesRequest&,
               v1::AllocatableResourcesResponse& answer) {
      source.get_allocatable(answer);
      return grpc::Status();
    }};

// Calls that wait for the loop. It outlives the engine as long as the loop has been asked
// to look into it.
struct Box {
  explicit Box(const PodResourcesSource& asked) : source(asked) {}

  const PodResourcesSource& source;
  // Guards what follows: calls are put in by gRPC's thread and taken out by the loop's. Posting
  // alone is not enough: those that wait when the loop has stopped must still be refused,
  // and nothing may be asked of a queue that is being closed.
  std::mutex mutex{};
  std::deque<Call*> calls{};
  bool is_closed = false;

  std::deque<Call*> take_all() {
    const std::lock_guard lock(mutex);
    return std::exchange(calls, {});
  }
  std::deque<Call*> close() {
    const std::lock_guard lock(mutex);
    is_closed = true;
    return std::exchange(calls, {});
  }
};

// Mistakes of peers do not belong in the agent's log; messages before an abort do.
void keep_quiet(gpr_log_func_args* what) {
  const std::string_view message = what->message;
  if (message.starts_with("assertion failed")) {
    fmt::print(stderr, "{}:{}: {}\n", what->file, what->line, message);
  }
}

grpc::ServerBuilder& limit(grpc::ServerBuilder& builder, const PodResourcesLimits& limits) {
  grpc::ResourceQuota quota("podresources");
  quota.Resize(limits.quota_bytes);
  return builder.SetResourceQuota(quota)
      .SetMaxReceiveMessageSize(limits.request_bytes)
      .SetMaxSendMessageSize(limits.answer_bytes)
      .AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams)
      .AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, limits.metadata_bytes)
      .AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(limits.idle.count()))
      .AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0)
      .AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
}

}  // namespace

class PodResourcesSession::Engine {
 public:
  Engine(boost::asio::io_context& loop, const PodResourcesSource& source,
         const PodResourcesLimits& limits)
      : loop_(loop), limits_(limits), box_(std::make_shared<Box>(source)) {
    gpr_set_log_function(keep_quiet);
    ::grpc_init();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  ~Engine() {
    for (Call* call : box_->close()) {
      call->refuse({grpc::StatusCode::UNAVAILABLE, "the agent is stopping"});
    }
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + limits_.parting);
    if (queue_) queue_->Shutdown();
    if (thread_.joinable()) thread_.join();
    server_.reset();
    queue_.reset();
    // gRPC would otherwise end in a thread that is never joined.
    ::grpc_shutdown_blocking();
  }

  Result<void> start() {
    grpc::ServerBuilder builder;
    limit(builder, limits_).RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (!server_) return Error{Code::kIo, "gRPC cannot be started"};
    const Desk desk{.service = service_, .queue = *queue_};
    CallOf<v1::ListPodResourcesRequest, v1::ListPodResourcesResponse>::await(desk, kList);
    CallOf<v1::GetPodResourcesRequest, v1::GetPodResourcesResponse>::await(desk, kGet);
    CallOf<v1::AllocatableResourcesRequest, v1::AllocatableResourcesResponse>::await(desk,
                                                                                     kAllocatable);
    try {
      thread_ = std::thread([this] { pump(); });
    } catch (const std::exception& failure) {
      return Error{Code::kIo, fmt::format("start a thread for gRPC: {}", failure.what())};
    }
    return {};
  }

  void take(Descriptor connection) {
    grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
  }

 private:
  // On gRPC's thread, to the end of the queue.
  void pump() {
    void* tag = nullptr;
    bool is_good = false;
    while (queue_->Next(&tag, &is_good)) {
      std::unique_ptr<Call> call(static_cast<Call*>(tag));
      // Answered, or none came before the end.
      if (call->has_arrived || !is_good) continue;
      call->has_arrived = true;
      put_in_box(std::move(call));
    }
  }

  void put_in_box(std::unique_ptr<Call> call) {
    const std::lock_guard lock(box_->mutex);
    // The server has ended the connection, and the call with it.
    if (box_->is_closed) return;
    call->await_next();
    if (box_->calls.size() >= limits_.waiting) {
      return call.release()->refuse(
          {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls at a time"});
    }
    box_->calls.push_back(call.release());
    if (box_->calls.size() > 1) return;
    boost::asio::post(loop_, [box = box_] {
      for (Call* each : box->take_all()) each->answer(box->source);
    });
  }

  boost::asio::io_context& loop_;
  PodResourcesLimits limits_;
  std::shared_ptr<Box> box_;
  Service service_{};
  std::unique_ptr<grpc::ServerCompletionQueue> queue_{};
  std::unique_ptr<grpc::Server> server_{};
  std::thread thread_{};
};

PodResourcesSession::PodResourcesSession(std::unique_ptr<Engine> engine)
    : engine_(std::move(engine)) {}

PodResourcesSession::~PodResourcesSession() = default;

Result<std::unique_ptr<PodResourcesSession>> PodResourcesSession::start(
    boost::asio::io_context& loop, const PodResourcesSource& source,
    const PodResourcesLimits& limits) {
  auto engine = std::make_unique<Engine>(loop, source, limits);
  TRY(engine->start());
  return std::unique_ptr<PodResourcesSession>(new PodResourcesSession(std::move(engine)));
}

void PodResourcesSession::take(Descriptor connection) { engine_->take(std::move(connection)); }

}  // namespace corehold
