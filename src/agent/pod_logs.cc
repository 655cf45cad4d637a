// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_logs.h"

#include <chrono>
#include <memory>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "agent/answer.h"
#include "runtime/log_file.h"
#include "runtime/pod_files.h"

namespace corehold {
namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr std::chrono::milliseconds kPause{200};

struct Question {
  LogQuery query{};
  bool previous = false;
  bool follow = false;
};

Result<Question> question_of(const HttpTarget& target) {
  Question question;
  if (const auto lines = TRY(target.number("tailLines"))) {
    question.query.tail = static_cast<std::size_t>(*lines);
  }
  question.query.timestamps = TRY(target.flag("timestamps"));
  question.previous = TRY(target.flag("previous"));
  question.follow = TRY(target.flag("follow"));
  return question;
}

// Which run is meant.
Result<int> attempt_of(const PodState& pod, const std::string& container, bool previous) {
  const auto found = pod.record.containers.find(container);
  const auto state = pod.containers.find(container);
  const ContainerRecord record =
      found == pod.record.containers.end() ? ContainerRecord{} : found->second;
  const bool runs = state != pod.containers.end() && state->second.stage == Stage::kRunning;
  const std::string who = fmt::format("container {:?} in pod {:?}", container, pod.record.pod.name);
  if (!runs && record.exits == 0) {
    return Error{Code::kInvalid, who + " is waiting to start"};
  }
  const int newest = runs ? record.attempt : record.exits - 1;
  if (!previous) return newest;
  if (newest == 0) return Error{Code::kInvalid, "previous terminated " + who + " not found"};
  return newest - 1;
}

// A log that is sent as it grows. Held by its own timer's handler, and by nobody once the
// run has ended or the client has gone.
class Follower : public std::enable_shared_from_this<Follower> {
 public:
  Follower(boost::asio::io_context& loop, const Shell& shell, HttpExchangePtr exchange,
           ContainerRef container, int attempt)
      : timer_(loop),
        shell_(shell),
        exchange_(std::move(exchange)),
        container_(std::move(container)),
        attempt_(attempt) {}

  void begin(const std::string& path, const LogQuery& query, LogText text) {
    path_ = path;
    query_ = query;
    query_.tail.reset();
    exchange_->begin(200, kText);
    exchange_->on_gone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->is_over_ = true;
    });
    send(std::move(text));
    wait();
  }

 private:
  bool is_running() const {
    const auto pod = shell_.node().pods.find(container_.pod);
    if (pod == shell_.node().pods.end()) return false;
    const auto record = pod->second.record.containers.find(container_.container);
    const auto state = pod->second.containers.find(container_.container);
    return record != pod->second.record.containers.end() && state != pod->second.containers.end() &&
           record->second.attempt == attempt_ && state->second.stage == Stage::kRunning;
  }

  void send(LogText text) {
    position_ = text.end;
    exchange_->write(std::move(text.text));
  }

  void wait() {
    timer_.expires_after(kPause);
    timer_.async_wait([self = shared_from_this()](const auto& error) {
      if (!error && !self->is_over_) self->look();
    });
  }

  void look() {
    // Before reading: what is written after is not lost.
    const bool runs = is_running();
    auto text = read_log_from(path_, position_, query_);
    if (!text) return exchange_->end();
    send(*std::move(text));
    if (runs) return wait();
    exchange_->end();
  }

  boost::asio::steady_timer timer_;
  const Shell& shell_;
  HttpExchangePtr exchange_;
  ContainerRef container_;
  int attempt_;
  std::string path_{};
  LogQuery query_{};
  LogPosition position_{};
  bool is_over_ = false;
};

}  // namespace

void PodLogs::serve(const HttpExchangePtr& exchange, const HttpTarget& target, const PodState& pod,
                    const std::string& container) {
  const auto question = question_of(target);
  if (!question) return answer_error(*exchange, StatusReason::kBadRequest, question.error());
  const auto attempt = attempt_of(pod, container, question->previous);
  if (!attempt) return answer_error(*exchange, StatusReason::kBadRequest, attempt.error());
  const std::string& uid = pod.record.pod.uid;
  const std::string path = log_path(root_, uid, container, *attempt);
  auto text = read_log(path, question->query);
  if (!text) return answer_error(*exchange, StatusReason::kInternal, text.error());
  if (!question->follow) {
    return exchange->answer({.content_type = kText, .body = std::move(text->text)});
  }
  std::make_shared<Follower>(loop_, shell_, exchange, ContainerRef{uid, container}, *attempt)
      ->begin(path, question->query, *std::move(text));
}

}  // namespace corehold
