// SPDX-License-Identifier: Apache-2.0
//
// The requests that wait for a Reply of the manager, and what to do with it.
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
    waiting_.emplace(
        ++last_, [callback = std::move(callback)](const Reply& reply) { callback(reply.error); });
    return last_;
  }

  // A question of the runtime.
  RequestId add_question(std::function<void(Result<Grant>)> answer) {
    waiting_.emplace(++last_, [answer = std::move(answer)](const Reply& reply) {
      if (reply.error) return answer(*reply.error);
      answer(reply.grant.value_or(Grant{}));
    });
    return last_;
  }

  // A reply to an unknown request is no error.
  void replied(const Reply& reply) {
    auto waiting = waiting_.extract(reply.request);
    if (!waiting.empty()) waiting.mapped()(reply);
  }

 private:
  std::map<RequestId, std::function<void(const Reply&)>> waiting_{};
  RequestId last_ = 0;
};

}  // namespace corehold
