// SPDX-License-Identifier: Apache-2.0
//
// Who waits for which Reply.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/result.h"
#include "manager/command.h"
#include "manager/effect.h"

namespace corehold {

class Requests {
 public:
  using Callback = std::function<void(const std::optional<Error>&)>;

  RequestId add(Callback callback) {
    waiting_.emplace(++last_, std::move(callback));
    return last_;
  }

  // A reply that nobody waits for is no error.
  void replied(const Reply& reply) {
    auto waiting = waiting_.extract(reply.request);
    if (!waiting.empty()) waiting.mapped()(reply.error);
  }

 private:
  std::map<RequestId, Callback> waiting_{};
  RequestId last_ = 0;
};

}  // namespace corehold
