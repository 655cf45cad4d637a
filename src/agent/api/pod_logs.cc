// SPDX-License-Identifier: Apache-2.0
#include "agent/api/pod_logs.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "agent/api/log_options.h"
#include "agent/api/log_reader.h"
#include "runtime/workspace/pod_files.h"
#include "serve/answer.h"
#include "sys/clock.h"

namespace corehold {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr std::chrono::milliseconds kPause{200};
// Which run is meant.
Result<int> attempt_of(const RunPod& pod, const std::string& container, bool previous) {
  const auto found = pod.record.containers.find(container);
  const auto state = pod.containers.find(container);
  const ContainerRecord record =
      found == pod.record.containers.end() ? ContainerRecord{} : found->second;
  const bool runs = state != pod.containers.end() && is_running(state->second.stage);
  const std::string who = fmt::format("container {:?} in pod {:?}", container, pod.record.pod.name);
  if (!runs && record.exits == 0) {
    return Error{Code::kInvalid, who + " is waiting to start"};
  }
  const int newest = runs ? record.attempt : record.exits - 1;
  if (!previous) return newest;
  if (newest == 0) return Error{Code::kInvalid, "previous terminated " + who + " not found"};
  return newest - 1;
}

// A log that is being sent, the next piece when the client has taken the last. Owned by the
// exchange and the handler of its own timer: it goes when all is sent or the client has gone.
class Sender : public std::enable_shared_from_this<Sender> {
 public:
  enum class Follow { kNo, kUntilItEnds };

  Sender(boost::asio::io_context& loop, const Shell& shell, HttpExchangePtr exchange,
         LogReader reader, Follow follow, ContainerRef container, int attempt)
      : timer_(loop),
        shell_(shell),
        exchange_(std::move(exchange)),
        reader_(std::move(reader)),
        follow_(follow),
        container_(std::move(container)),
        attempt_(attempt) {}

  // `first` is what has been read already.
  void begin(LogReader::Piece first) {
    exchange_->begin(200, kText);
    if (exchange_->request().method == "HEAD") return exchange_->end();
    exchange_->on_gone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->is_over_ = true;
    });
    exchange_->on_sent([self = shared_from_this()] { self->go_on(); });
    first_ = std::move(first);
  }

 private:
  bool is_running() const {
    const auto pod = shell_.node().running.pods.find(container_.pod);
    if (pod == shell_.node().running.pods.end()) return false;
    const auto record = pod->second.record.containers.find(container_.container);
    const auto state = pod->second.containers.find(container_.container);
    return record != pod->second.record.containers.end() && state != pod->second.containers.end() &&
           record->second.attempt == attempt_ && corehold::is_running(state->second.stage);
  }

  void go_on() {
    if (is_over_) return;
    // Asked before reading, so that lines written in between are not lost.
    const bool may_grow = follow_ == Follow::kUntilItEnds && is_running();
    auto piece =
        first_ ? Result<LogReader::Piece>(*std::exchange(first_, std::nullopt)) : reader_.next();
    if (!piece || (piece->is_over && piece->text.empty())) return exchange_->end();
    if (!piece->text.empty()) return exchange_->write(std::move(piece->text));
    if (piece->more) return wait(std::chrono::milliseconds(0));
    if (may_grow) return wait(kPause);
    exchange_->end();
  }

  void wait(std::chrono::milliseconds pause) {
    timer_.expires_after(pause);
    timer_.async_wait([self = shared_from_this()](const auto& error) {
      if (!error) self->go_on();
    });
  }

  boost::asio::steady_timer timer_;
  const Shell& shell_;
  HttpExchangePtr exchange_;
  LogReader reader_;
  Follow follow_;
  ContainerRef container_;
  int attempt_;
  std::optional<LogReader::Piece> first_{};
  bool is_over_ = false;
};

}  // namespace

void PodLogs::serve(const HttpExchangePtr& exchange, const HttpTarget& target, const RunPod& pod,
                    const std::string& container) {
  const auto options = log_options(target, pod.record.pod.name, wall_now());
  if (!options) return answer_status(*exchange, options.error());
  const auto attempt = attempt_of(pod, container, options->previous);
  if (!attempt) return answer_error(*exchange, StatusReason::kBadRequest, attempt.error());
  const std::string& uid = pod.record.pod.uid;
  const std::string path = log_path(root_, uid, container, *attempt);
  LogReader reader(path, options->query);
  auto first = reader.next();
  if (!first) return answer_error(*exchange, StatusReason::kInternal, first.error());
  const auto follow = options->follow ? Sender::Follow::kUntilItEnds : Sender::Follow::kNo;
  std::make_shared<Sender>(loop_, shell_, exchange, std::move(reader), follow,
                           ContainerRef{uid, container}, *attempt)
      ->begin(*std::move(first));
}

}  // namespace corehold
