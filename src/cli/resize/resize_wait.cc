// SPDX-License-Identifier: Apache-2.0
#include "cli/resize/resize_wait.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/json/time_text.h"
#include "base/code.h"
#include "cli/get/get_show.h"
#include "cli/get/node_render.h"
#include "cli/output.h"
#include "cli/plan/plan_text.h"
#include "cli/resize/live_line.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Stage = ResizeProgress::Stage;

// The longest pause between two looks at the pod, and the same while a countdown is shown.
constexpr milliseconds kLongestPause{200};
constexpr milliseconds kCountdownPause{100};
// What is in progress for longer is worth a word.
constexpr milliseconds kWatchPatience{1000};
// An agent that is there is given so much time to answer, even if that of --timeout is over.
constexpr milliseconds kLeastPatience{1000};
// How long an agent may be away when there is no --timeout.
constexpr milliseconds kMostAway{60'000};
// Two ends of a delay that are further apart are of two delays.
constexpr milliseconds kOtherDelay{500};

bool is_meant(const CpuHolder& holder, const AskedResize& resize) {
  return holder.uid == resize.uid &&
         std::any_of(resize.wanted.begin(), resize.wanted.end(),
                     [&](const WantedAmount& each) { return each.container == holder.container; });
}

// What is about to leave, and when.
struct Countdown {
  std::string leaving{};  // by container, to be compared
  // The last of them; by the agent's wall clock, so that a late answer is one of the same delay.
  milliseconds ends{};

  bool is_same(const Countdown& other) const {
    const milliseconds apart = ends > other.ends ? ends - other.ends : other.ends - ends;
    return leaving == other.leaving && apart < kOtherDelay;
  }
};

std::optional<Countdown> countdown_of(const CpuMap& map, const AskedResize& resize,
                                      milliseconds now) {
  std::optional<Countdown> found;
  for (const CpuHolder& holder : map.containers) {
    const auto left = delay_left(holder, now);
    if (!left || !is_meant(holder, resize)) continue;
    if (!found) found.emplace();
    found->leaving += fmt::format("{} {};", holder.container, holder.leaving().str());
    found->ends = std::max(found->ends, holder.pending_until);
  }
  return found;
}

int refuse(const AskedResize& resize, const ResizeProgress& now) {
  complain(
      fmt::format("pod {}: Infeasible: {}", display_name(resize.pod), on_one_line(now.message)));
  complain(fmt::format("it stays asked for; this takes it back: corehold {}", resize.undo));
  return kExitFailed;
}

class Waiting {
 public:
  // The referred must outlive it.
  Waiting(const AgentClient& client, const AskedResize& resize)
      : client_(client), resize_(resize) {}

  int run(seconds timeout) {
    const milliseconds began = steady_now();
    milliseconds pause{5};
    for (;;) {
      const auto now = look(patience(timeout, steady_now() - began));
      if (now && now->is_over()) return finish(*now);
      if (now) {
        come_back();
        say(*now);
      } else if (!is_worth_waiting(now.error(), timeout)) {
        line_.clear();
        return fail(now.error());
      }
      if (timeout.count() > 0 && steady_now() - began >= timeout) {
        line_.keep(fmt::format("pod {} is not resized after {}: {}; it stays asked for",
                               display_name(resize_.pod), age_text(timeout), last_));
        return kExitFailed;
      }
      std::this_thread::sleep_for(pause);
      pause =
          std::min(pause * 2, counted_down_ && line_.is_live() ? kCountdownPause : kLongestPause);
    }
  }

 private:
  static milliseconds patience(seconds timeout, milliseconds waited) {
    const milliseconds usual = HttpQuestion{}.patience;
    if (timeout.count() == 0) return usual;
    return std::min(usual, std::max(kLeastPatience, milliseconds(timeout) - waited));
  }

  Result<ResizeProgress> look(milliseconds patience) const {
    const ApiAnswer answer =
        TRY(client_.ask({.target = pods_target(resize_.pod.namespace_name, resize_.pod.name),
                         .patience = patience}));
    if (answer.failure && answer.failure->reason == StatusReason::kNotFound) {
      return ResizeProgress{.stage = Stage::kEnded};
    }
    if (answer.failure) return error_of(*answer.failure);
    const json::object& pod = as_object_or_empty(answer.body);
    if (look_text(pod, {"metadata", "uid"}) != resize_.uid) {
      return ResizeProgress{.stage = Stage::kEnded};
    }
    return resize_progress(pod, resize_.wanted);
  }

  // Whether the agent may answer again: the wish is in its store, and outlives it.
  bool is_worth_waiting(const Error& error, seconds timeout) {
    if (!away_since_) {
      away_since_ = steady_now();
      last_ = "the agent does not answer";
      line_.keep(fmt::format("{}; waits for the agent to come back", on_one_line(error.message)));
    }
    return timeout.count() > 0 || steady_now() - *away_since_ < kMostAway;
  }

  void come_back() {
    if (!away_since_) return;
    line_.keep(fmt::format("the agent is back after {}", left_text(steady_now() - *away_since_)));
    away_since_.reset();
    seen_.reset();
    said_.reset();
    counted_down_.reset();
  }

  std::string holdings() const {
    const auto map = fetch_map(client_);
    return map ? holdings_text(*map, resize_, wall_now()) : "";
  }

  std::string text_of(const ResizeProgress& now) const {
    switch (now.stage) {
      case Stage::kDeferred:
        return "Deferred: " + on_one_line(now.message);
      case Stage::kInProgress: {
        if (!now.message.empty()) return "in progress: " + on_one_line(now.message);
        const std::string who = holdings();
        return who.empty() ? "in progress" : "in progress: " + who;
      }
      default:
        return "not decided yet";
    }
  }

  // Whether there is one. Where the line cannot change, it is told once for each delay.
  bool count_down() {
    const auto map = fetch_map(client_);
    if (!map) return false;
    const milliseconds now = wall_now();
    const auto countdown = countdown_of(*map, resize_, now);
    if (!countdown) return false;
    last_ = "in progress: " + holdings_text(*map, resize_, now);
    line_.show(last_);
    const bool is_told = counted_down_ && counted_down_->is_same(*countdown);
    counted_down_ = countdown;
    if (!is_told && !line_.is_live()) line_.keep(last_);
    return true;
  }

  // Once for each turn it takes.
  void say(const ResizeProgress& now) {
    if (now.stage == Stage::kInProgress && now.message.empty() && count_down()) {
      said_ = now;
      return;
    }
    if (said_ && *said_ == now) return;
    if (!seen_ || *seen_ != now) {
      seen_ = now;
      seen_at_ = steady_now();
      last_ = text_of(now);
    }
    const bool is_short = now.message.empty() && steady_now() - seen_at_ < kWatchPatience;
    if (now.stage == Stage::kUndecided || is_short) return;
    said_ = now;
    last_ = text_of(now);
    line_.keep(last_);
  }

  int finish(const ResizeProgress& now) {
    const std::string who = on_one_line(display_name(resize_.pod));
    if (away_since_) come_back();
    line_.clear();
    switch (now.stage) {
      case Stage::kDone: {
        const std::string cpus = holdings();
        return answer(fmt::format("pod {} resized{}\n", who, cpus.empty() ? "" : ": " + cpus));
      }
      case Stage::kNotRunning:
        return answer(fmt::format("pod {} does not run yet and will start with it\n", who));
      case Stage::kInfeasible:
        return refuse(resize_, now);
      case Stage::kReplaced:
        complain(fmt::format("pod {}: something else has been asked for since", who));
        return kExitFailed;
      default:
        complain(fmt::format("pod {} has ended, or is about to", who));
        return kExitFailed;
    }
  }

  const AgentClient& client_;
  const AskedResize& resize_;
  LiveLine line_{};
  std::optional<ResizeProgress> seen_{};  // at the last look
  milliseconds seen_at_{};                // when it began to look so
  std::optional<ResizeProgress> said_{};
  std::optional<Countdown> counted_down_{};   // told or shown last
  std::optional<milliseconds> away_since_{};  // the agent
  std::string last_{};
};

}  // namespace

std::string holdings_text(const CpuMap& map, const AskedResize& resize, milliseconds now) {
  std::vector<std::string> parts;
  for (const CpuHolder& holder : map.containers) {
    if (!is_meant(holder, resize)) continue;
    std::string part = fmt::format("{} has {}", holder.container, shown(holder.assigned));
    if (!holder.leaving().empty()) {
      part += fmt::format(", of which {} will leave", holder.leaving().str());
      if (const auto left = delay_left(holder, now)) part += " in " + left_text(*left);
    }
    parts.push_back(std::move(part));
  }
  return on_one_line(fmt::format("{}", fmt::join(parts, "; ")));
}

int wait_for_resize(const AgentClient& client, const AskedResize& resize, seconds timeout) {
  return Waiting(client, resize).run(timeout);
}

int tell_resize(const AskedResize& resize, const ResizeProgress& first) {
  if (first.stage == Stage::kInfeasible) return refuse(resize, first);
  if (first.stage == Stage::kDeferred) complain("Deferred: " + on_one_line(first.message));
  return kExitDone;
}

}  // namespace corehold
