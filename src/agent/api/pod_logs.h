// SPDX-License-Identifier: Apache-2.0
//
// What containers have written, as the API serves it: all of one run, the last lines, or
// followed until the run ends.
#pragma once

#include <string>

#include <boost/asio/io_context.hpp>

#include "agent/shell/shell.h"
#include "serve/http_target.h"
#include "sys/http/http_server.h"

namespace corehold {

class PodLogs {
 public:
  // Both must outlive it.
  PodLogs(boost::asio::io_context& loop, const Shell& shell, std::string root)
      : loop_(loop), shell_(shell), root_(std::move(root)) {}

  // Answers. What the target may say is in log_options.h.
  // REQUIRES: `container` is one of the pod's.
  void serve(const HttpExchangePtr& exchange, const HttpTarget& target, const RunPod& pod,
             const std::string& container);

 private:
  boost::asio::io_context& loop_;
  const Shell& shell_;
  std::string root_;
};

}  // namespace corehold
