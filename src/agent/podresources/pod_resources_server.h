// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's podresources API on its Unix socket. gRPC wakes up every second once it
// has been started, so it runs only while a client is connected, and a little longer.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "agent/podresources/pod_resources_session.h"
#include "base/result.h"
#include "sys/socket/unix_listener.h"

namespace corehold {

struct PodResourcesOptions {
  UnixListenerOptions socket{};
  PodResourcesSource source;
  PodResourcesLimits limits{};
  std::function<void(const std::string&)> on_trouble{};
};

class PodResourcesServer {
 public:
  virtual ~PodResourcesServer() = default;

  // Listens; makes the socket's directory if it is missing. What the source refers to and the
  // loop must outlive the server, which is used and destroyed on the loop's thread, or
  // when the loop does not run any more.
  static Result<std::unique_ptr<PodResourcesServer>> listen(boost::asio::io_context& loop,
                                                            PodResourcesOptions options);

  // Ends all connections and removes the socket; nothing the second time.
  virtual void close() = 0;

  // Whether gRPC runs.
  virtual bool is_awake() const = 0;
};

}  // namespace corehold
