// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/serve/table_rows.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Restarts so far, and when the last one of them began.
struct Restarts {
  std::int64_t count = 0;
  std::string_view last{};  // RFC 3339 in UTC with seconds, so text order is time order

  void add(const json::object& status) {
    count += look_number(status, {"restartCount"});
    last = std::max(last, look_text(status, {"lastState", "terminated", "finishedAt"}));
  }

  std::string text(std::chrono::milliseconds now) const {
    if (count == 0 || last.empty()) return fmt::to_string(count);
    return fmt::format("{} ({} ago)", count, age_since(last, now));
  }
};

bool has_true_condition(const json::object& pod, std::string_view type) {
  const json::array& conditions = look_array(pod, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [&](const json::value& value) {
    const json::object& condition = as_object_or_empty(value);
    return look_text(condition, {"type"}) == type && look_text(condition, {"status"}) == "True";
  });
}

// How a container ended, in a word.
std::string ending(const json::object& terminated) {
  const std::string_view reason = look_text(terminated, {"reason"});
  if (!reason.empty()) return std::string(reason);
  const std::int64_t signal = look_number(terminated, {"signal"});
  if (signal != 0) return fmt::format("Signal:{}", signal);
  return fmt::format("ExitCode:{}", look_number(terminated, {"exitCode"}));
}

// Reads the statuses of a pod's containers the way `kubectl get pods` has always told them.
class PodReading {
 public:
  explicit PodReading(const json::object& pod) : pod_(pod) {
    total_ = look_array(pod, {"spec", "containers"}).size();
    read_phase();
    for (const json::value& value : look_array(pod, {"spec", "initContainers"})) {
      const json::object& container = as_object_or_empty(value);
      const bool sidecar = look_text(container, {"restartPolicy"}) == "Always";
      sidecars_[look_text(container, {"name"})] = sidecar;
      if (sidecar) ++total_;
    }
    const bool initializing = read_init_containers();
    if (!initializing || has_true_condition(pod, "Initialized")) read_containers();
    read_deletion();
  }

  std::string ready() const { return fmt::format("{}/{}", ready_, total_); }
  const std::string& status() const { return status_; }
  const Restarts& restarts() const { return restarts_; }

 private:
  void read_phase() {
    const std::string_view reason = look_text(pod_, {"status", "reason"});
    status_ = reason.empty() ? look_text(pod_, {"status", "phase"}) : reason;
    for (const json::value& value : look_array(pod_, {"status", "conditions"})) {
      const json::object& condition = as_object_or_empty(value);
      if (look_text(condition, {"type"}) == "PodScheduled" &&
          look_text(condition, {"reason"}) == "SchedulingGated") {
        status_ = "SchedulingGated";
      }
    }
  }

  // What an init container that is not done says of the pod; no value for one that is done
  // or, as a sidecar, has started.
  std::optional<std::string> init_status(const json::object& status, std::size_t index) {
    const json::object* ended = look_object(status, {"state", "terminated"});
    if (ended != nullptr && look_number(*ended, {"exitCode"}) == 0) return std::nullopt;
    if (sidecars_[look_text(status, {"name"})] && look_true(status, {"started"})) {
      if (look_true(status, {"ready"})) ++ready_;
      return std::nullopt;
    }
    if (ended != nullptr) return "Init:" + ending(*ended);
    const std::string_view waits = look_text(status, {"state", "waiting", "reason"});
    if (!waits.empty() && waits != "PodInitializing") return fmt::format("Init:{}", waits);
    return fmt::format("Init:{}/{}", index, look_array(pod_, {"spec", "initContainers"}).size());
  }

  bool read_init_containers() {
    const json::array& statuses = look_array(pod_, {"status", "initContainerStatuses"});
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      const json::object& status = as_object_or_empty(statuses[i]);
      restarts_.add(status);
      if (sidecars_[look_text(status, {"name"})]) sidecar_restarts_.add(status);
      if (auto found = init_status(status, i)) {
        status_ = *std::move(found);
        return true;
      }
    }
    return false;
  }

  // Once they run, restarts of init containers that are done no longer count.
  void read_containers() {
    restarts_ = sidecar_restarts_;
    bool any_runs = false;
    const json::array& statuses = look_array(pod_, {"status", "containerStatuses"});
    for (std::size_t i = statuses.size(); i > 0; --i) {
      const json::object& status = as_object_or_empty(statuses[i - 1]);
      restarts_.add(status);
      const std::string_view waits = look_text(status, {"state", "waiting", "reason"});
      if (!waits.empty()) {
        status_ = waits;
      } else if (const json::object* ended = look_object(status, {"state", "terminated"})) {
        status_ = ending(*ended);
      } else if (look_true(status, {"ready"}) && look_object(status, {"state", "running"})) {
        any_runs = true;
        ++ready_;
      }
    }
    if (status_ == "Completed" && any_runs) {
      status_ = has_true_condition(pod_, "Ready") ? "Running" : "NotReady";
    }
  }

  void read_deletion() {
    if (look(pod_, {"metadata", "deletionTimestamp"}) == nullptr) return;
    const std::string_view phase = look_text(pod_, {"status", "phase"});
    if (look_text(pod_, {"status", "reason"}) == "NodeLost") {
      status_ = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      status_ = "Terminating";
    }
  }

  const json::object& pod_;
  std::map<std::string_view, bool> sidecars_{};  // init containers by name
  std::size_t total_ = 0;
  std::size_t ready_ = 0;
  std::string status_{};
  Restarts restarts_{};
  Restarts sidecar_restarts_{};
};

std::string readiness_gates(const json::object& pod) {
  const json::array& gates = look_array(pod, {"spec", "readinessGates"});
  if (gates.empty()) return "<none>";
  const auto open = std::count_if(gates.begin(), gates.end(), [&](const json::value& gate) {
    return has_true_condition(pod, look_text(as_object_or_empty(gate), {"conditionType"}));
  });
  return fmt::format("{}/{}", open, gates.size());
}

std::string_view or_none(std::string_view text) { return text.empty() ? "<none>" : text; }

std::string_view pod_ip(const json::object& pod) {
  const json::array& ips = look_array(pod, {"status", "podIPs"});
  return ips.empty() ? std::string_view() : look_text(as_object_or_empty(ips.front()), {"ip"});
}

}  // namespace

json::array pod_cells(const json::object& pod, std::chrono::milliseconds now) {
  const PodReading reading(pod);
  return {look_text(pod, {"metadata", "name"}),
          reading.ready(),
          reading.status(),
          reading.restarts().text(now),
          age_since(look_text(pod, {"metadata", "creationTimestamp"}), now),
          or_none(pod_ip(pod)),
          or_none(look_text(pod, {"spec", "nodeName"})),
          or_none(look_text(pod, {"status", "nominatedNodeName"})),
          readiness_gates(pod)};
}

}  // namespace corehold
