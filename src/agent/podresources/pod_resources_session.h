// SPDX-License-Identifier: Apache-2.0
//
// gRPC, while a client is connected to the podresources socket. Calls arrive on a thread of
// gRPC, wait in a box and are answered on the loop; that thread touches nothing else of the agent.
// The adapter for gRPC: requests are bounded in size and number, connections in time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "sys/descriptor.h"

namespace v1 {
class AllocatableResourcesResponse;
class GetPodResourcesRequest;
class GetPodResourcesResponse;
class ListPodResourcesResponse;
}  // namespace v1

namespace corehold {

// Where answers come from; asked on the loop only.
struct PodResourcesSource {
  std::function<void(v1::ListPodResourcesResponse&)> list{};
  // An error is told with its message; kNotFound is gRPC's NOT_FOUND.
  std::function<Result<void>(const v1::GetPodResourcesRequest&, v1::GetPodResourcesResponse&)>
      get{};
  std::function<void(v1::AllocatableResourcesResponse&)> get_allocatable{};
};

struct PodResourcesLimits {
  int connections = 32;
  int streams = 16;                          // calls at a time over one connection
  std::size_t waiting = 64;                  // calls that wait for the loop
  int request_bytes = 4 << 10;               // names of a pod and a namespace
  int answer_bytes = 16 << 20;               // as in the kubelet
  int metadata_bytes = 8 << 10;              // of a request
  std::size_t quota_bytes = 8U << 20U;       // what gRPC may hold for all peers
  std::chrono::milliseconds idle{300'000};   // then a connection without calls is ended
  std::chrono::milliseconds linger{30'000};  // from the last connection to the end of gRPC
  std::chrono::milliseconds parting{200};    // for calls under way when the agent ends
};

class PodResourcesSession {
 public:
  // Starts gRPC and its threads. All but the limits must outlive the session; it is made, used
  // and destroyed on the loop's thread.
  static Result<std::unique_ptr<PodResourcesSession>> start(boost::asio::io_context& loop,
                                                            const PodResourcesSource& source,
                                                            const PodResourcesLimits& limits);
  PodResourcesSession(const PodResourcesSession&) = delete;
  PodResourcesSession& operator=(const PodResourcesSession&) = delete;
  // Refuses what waits, ends all connections and waits for the end of gRPC's threads.
  ~PodResourcesSession();

  // Serves this connected stream socket and closes it in the end.
  void take(Descriptor connection);

 private:
  class Engine;
  explicit PodResourcesSession(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace corehold
