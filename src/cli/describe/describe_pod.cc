// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/json/time_text.h"
#include "api/pod/pod_summary.h"
#include "cli/describe/describe_render.h"
#include "cli/describe/describe_text.h"
#include "cli/get/node_render.h"
#include "cli/output.h"
#include "cli/plan/plan_text.h"
#include "cli/plan/set_rows.h"
#include "cli/text_table.h"
#include "plan/entitlement.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

void add_lines(std::vector<Row>& rows, std::string name, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) rows.push_back({std::exchange(name, ""), line});
}

// The element of a list with that name; empty: there is none.
const json::object& named(const json::array& list, std::string_view name) {
  static const json::object kNone;
  for (const json::value& value : list) {
    const json::object& object = as_object_or_empty(value);
    if (look_text(object, {"name"}) == name) return object;
  }
  return kNone;
}

// "SIGTERM" would need a table of its own: numbers are what the API has.
std::string ending_text(const json::object& ended, milliseconds now) {
  std::string text = fmt::format("exit code {}", look_number(ended, {"exitCode"}));
  if (const auto signal = look_number(ended, {"signal"}); signal != 0) {
    text += fmt::format(", by signal {}", signal);
  }
  const std::string_view reason = look_text(ended, {"reason"});
  if (!reason.empty()) text += fmt::format(", {}", on_one_line(reason));
  const auto began = parse_time(look_text(ended, {"startedAt"}));
  const auto finished = parse_time(look_text(ended, {"finishedAt"}));
  if (finished) text += ", " + moment(look_text(ended, {"finishedAt"}), now);
  if (began && finished) text += fmt::format(", after {}", age_text(*finished - *began));
  const std::string_view message = look_text(ended, {"message"});
  return message.empty() ? text : fmt::format("{}: {}", text, on_one_line(message));
}

std::string state_text(const json::object& status, milliseconds now) {
  if (const json::object* running = look_object(status, {"state", "running"})) {
    return "running since " + moment(look_text(*running, {"startedAt"}), now);
  }
  if (const json::object* ended = look_object(status, {"state", "terminated"})) {
    return "ended: " + ending_text(*ended, now);
  }
  const std::string_view reason = look_text(status, {"state", "waiting", "reason"});
  const std::string_view message = look_text(status, {"state", "waiting", "message"});
  std::string text = "waiting";
  if (!reason.empty()) text += fmt::format(": {}", on_one_line(reason));
  if (!message.empty()) text += fmt::format(": {}", on_one_line(message));
  return text;
}

// The words of a command line, quoted where a shell would need it.
std::string command_text(const json::object& container) {
  std::string text;
  for (const char* key : {"command", "args"}) {
    for (const json::value& word : look_array(container, {key})) {
      if (!word.is_string()) continue;
      const std::string_view plain(word.get_string().data(), word.get_string().size());
      const bool bare = !plain.empty() &&
                        plain.find_first_of(" \t\n'\"$`\\*?;&|<>()#~") == std::string_view::npos;
      if (!text.empty()) text += ' ';
      text += bare ? std::string(plain) : fmt::format("{:?}", plain);
    }
  }
  return text.empty() ? "-" : on_one_line(text);
}

// "cpu 2, memory 1Gi", and where requests and limits differ "cpu 500m up to 2".
std::string amounts_text(const Resources& resources) {
  std::set<std::string> names;
  for (const auto& [name, amount] : resources.requests) names.insert(name);
  for (const auto& [name, amount] : resources.limits) names.insert(name);
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const auto request = resources.requests.find(name);
    const auto limit = resources.limits.find(name);
    std::string part = on_one_line(name) + " ";
    if (request == resources.requests.end()) {
      part += "up to " + limit->second.str();
    } else if (limit == resources.limits.end()) {
      part += request->second.str() + " or more";
    } else if (request->second == limit->second) {
      part += limit->second.str();
    } else {
      part += fmt::format("{} up to {}", request->second.str(), limit->second.str());
    }
    parts.push_back(std::move(part));
  }
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

// Amounts as a status shows them; not to be read: none.
ResourceList list_of(const json::object* amounts) {
  ResourceList list;
  if (amounts == nullptr) return list;
  for (const auto& member : *amounts) {
    const json::value& value = member.value();
    auto amount = Quantity::parse(value.is_string() ? std::string(value.get_string())
                                                    : json::serialize(value));
    if (amount) list.emplace(std::string(member.key()), *std::move(amount));
  }
  return list;
}

// While a resize is not over: what of it has been granted, and what the container still runs
// with.
void add_amounts(std::vector<Row>& rows, const Container& container, const json::object& status) {
  const ResourceList granted = list_of(look_object(status, {"allocatedResources"}));
  if (!granted.empty() && granted != container.resources.requests) {
    rows.push_back({"granted", amounts_text({.requests = granted, .limits = granted})});
  }
  const json::object* actual = look_object(status, {"resources"});
  if (actual == nullptr) return;
  const Resources has{.requests = list_of(look_object(*actual, {"requests"})),
                      .limits = list_of(look_object(*actual, {"limits"}))};
  const bool is_granted = granted.empty() || has.requests == granted;
  if (!is_granted) rows.push_back({"runs with", amounts_text(has)});
}

// The pod with what it was granted, where that is not what it asks for: its class and its CPUs
// come from that. Of a Guaranteed pod limits are what requests are.
Pod as_granted(Pod pod, const json::object& shown) {
  const bool is_guaranteed =
      look_text(shown, {"status", "qosClass"}) == name_of(QosClass::kGuaranteed);
  for (const auto& [containers, key] : {std::pair(&pod.init_containers, "initContainerStatuses"),
                                        std::pair(&pod.containers, "containerStatuses")}) {
    const json::array& statuses = look_array(shown, {"status", key});
    for (Container& container : *containers) {
      const json::object& status = named(statuses, container.name);
      ResourceList granted = list_of(look_object(status, {"allocatedResources"}));
      if (granted.empty() || granted == container.resources.requests) continue;
      if (is_guaranteed) container.resources.limits = granted;
      container.resources.requests = std::move(granted);
    }
  }
  return pod;
}

// What has become of a resize that is not over; "": there is none.
std::string wish_text(const json::object& pod) {
  std::vector<std::string> parts;
  for (const json::value& value : look_array(pod, {"status", "conditions"})) {
    const json::object& condition = as_object_or_empty(value);
    const std::string_view type = look_text(condition, {"type"});
    const bool is_pending = type == "PodResizePending";
    if (!is_pending && type != "PodResizeInProgress") continue;
    if (look_text(condition, {"status"}) != "True") continue;
    const std::string_view reason = look_text(condition, {"reason"});
    const std::string_view message = look_text(condition, {"message"});
    std::string part = is_pending ? on_one_line(reason) : "in progress";
    if (!is_pending && !reason.empty()) part += ", " + on_one_line(reason);
    if (!message.empty()) part += ": " + on_one_line(message);
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

template <typename Domains>
std::string domains_text(const Domains& domains, const CpuSet& cpus, std::string_view one) {
  std::vector<int> ids;
  for (const auto& domain : domains) {
    if (domain.cpus.intersects(cpus)) ids.push_back(domain.id.value);
  }
  return fmt::format("{}{} {}", one, ids.size() == 1 ? "" : "s", fmt::join(ids, ","));
}

std::string cores_text(const Topology& topology, const CpuSet& cpus) {
  std::size_t whole = 0;
  std::size_t split = 0;
  for (const Core& core : topology.cores()) {
    const auto mine = std::count_if(core.cpus.begin(), core.cpus.end(),
                                    [&](CpuId cpu) { return cpus.contains(cpu); });
    if (mine == core.size()) ++whole;
    if (mine > 0 && mine < core.size()) ++split;
  }
  if (split == 0) return counted(whole, "whole core");
  const std::string part = fmt::format("{} only in part", counted(split, "core"));
  return whole == 0 ? part : fmt::format("{}, {}", counted(whole, "whole core"), part);
}

// "NUMA node 0, socket 0, L3 cache 0, 2 whole cores".
std::string place_text(const Topology& topology, const CpuSet& cpus) {
  std::vector<Domain<UncoreId>> caches;
  for (const Slot slot : topology.l3_caches()) caches.push_back(topology.uncore(slot));
  std::vector<std::string> parts{domains_text(topology.nodes(), cpus, "NUMA node"),
                                 domains_text(topology.sockets(), cpus, "socket")};
  if (!caches.empty()) parts.push_back(domains_text(caches, cpus, "L3 cache"));
  parts.push_back(cores_text(topology, cpus));
  return fmt::format("{}", fmt::join(parts, ", "));
}

const CpuHolder* holder_of(const CpuMap& map, std::string_view uid, std::string_view container) {
  const auto found = std::find_if(
      map.containers.begin(), map.containers.end(),
      [&](const CpuHolder& holder) { return holder.uid == uid && holder.container == container; });
  return found == map.containers.end() ? nullptr : &*found;
}

class PodReading {
 public:
  PodReading(const PodPage& page, Pod pod, PodSummary summary)
      : page_(page), pod_(std::move(pod)), summary_(std::move(summary)) {
    // The reason for the class, not that the status says so.
    pod_.qos_class.clear();
    set_defaults(pod_);
    granted_ = as_granted(pod_, page.pod);
  }

  std::string text() const {
    std::string text = head();
    for (const Container* container : in_starting_order(pod_)) text += container_text(*container);
    text += conditions_text(page_.pod, page_.now);
    return text + events_text(page_.events, page_.now);
  }

 private:
  std::string head() const {
    const json::object& pod = page_.pod;
    const json::object* metadata = look_object(pod, {"metadata"});
    std::vector<Row> rows{{"pod", on_one_line(display_name(pod_))},
                          {"uid", on_one_line(look_text(pod, {"metadata", "uid"}))},
                          {"node", on_one_line(page_.map.node)}};
    if (metadata != nullptr) {
      add_lines(rows, "labels", pairs_of(look_object(*metadata, {"labels"})));
      add_lines(rows, "annotations", pairs_of(look_object(*metadata, {"annotations"})));
    }
    rows.push_back(
        {"created", moment(look_text(pod, {"metadata", "creationTimestamp"}), page_.now)});
    if (!look_text(pod, {"status", "startTime"}).empty()) {
      rows.push_back({"admitted", moment(look_text(pod, {"status", "startTime"}), page_.now)});
    }
    if (summary_.deleting) {
      rows.push_back({"ends by", on_one_line(look_text(pod, {"metadata", "deletionTimestamp"}))});
    }
    if (pod_.priority) rows.push_back({"priority", fmt::to_string(*pod_.priority)});
    rows.push_back({"restart", on_one_line(pod_.restart_policy)});
    rows.push_back({"qos", fmt::format("{}: {}", name_of(qos_class(granted_, {})),
                                       on_one_line(qos_reason(granted_, {})))});
    rows.push_back({"status", on_one_line(summary_.status)});
    if (const std::string resize = wish_text(pod); !resize.empty()) {
      rows.push_back({"resize", resize});
    }
    if (!summary_.message.empty()) {
      const bool failed = summary_.phase == "Failed";
      rows.push_back({failed ? "failed" : "waits", "because " + on_one_line(summary_.message)});
    }
    return align(rows, 2);
  }

  // Why it has CPUs of its own, shares, or has none.
  std::string why(const Container& container, const json::object& status,
                  const CpuHolder* holder) const {
    const bool is_static = page_.map.policy == "static";
    const std::string reason = is_static ? on_one_line(entitlement(granted_, container, {}))
                                         : fmt::format("policy {} gives nobody CPUs of its own",
                                                       on_one_line(page_.map.policy));
    if (holder != nullptr) return "CPUs of its own: " + reason;
    const bool entitled = is_static && exclusive_cpus(granted_, container, {}) > 0;
    if (!entitled) return "shares: " + reason;
    if (look_object(status, {"state", "terminated"}) != nullptr) {
      return "its CPUs have gone back: it has ended";
    }
    return "none yet: " + reason + (summary_.message.empty() ? "" : ", but the pod waits");
  }

  void add_cpus(std::vector<Row>& rows, const CpuHolder& holder) const {
    const CpuSet grown = holder.grown();
    std::vector<SetLine> lines{{"assigned", holder.assigned,
                                grown.empty() ? "" : fmt::format(", grown by {}", grown.str())},
                               {"promised", holder.promised, ", which it never loses"}};
    if (holder.pending) lines.push_back({"pending", *holder.pending, ""});
    for (Row& row : set_rows(lines)) rows.push_back(std::move(row));
    if (holder.pending) {
      const CpuSet leaving = holder.assigned - *holder.pending;
      const auto left = delay_left(holder, page_.now);
      rows.back()[1] += fmt::format(" will be left; {} go{}", shown(leaving),
                                    left ? " in " + left_text(*left) : "");
    } else {
      rows.push_back({"pending", "-"});
    }
    rows.push_back({"place", place_text(page_.map.topology, holder.assigned)});
    rows.push_back({"aligned", alignment_text(page_.map, holder.assigned)});
  }

  std::string container_text(const Container& container) const {
    const bool app = container.kind == Container::Kind::kApp;
    const json::object& spec = named(
        look_array(page_.pod, {"spec", app ? "containers" : "initContainers"}), container.name);
    const json::object& status = named(
        look_array(page_.pod, {"status", app ? "containerStatuses" : "initContainerStatuses"}),
        container.name);
    std::vector<Row> rows{{"command", command_text(spec)},
                          {"asks for", amounts_text(container.resources)}};
    add_amounts(rows, container, status);
    rows.push_back({"state", state_text(status, page_.now)});
    if (const json::object* last = look_object(status, {"lastState", "terminated"})) {
      rows.push_back({"before", ending_text(*last, page_.now)});
    }
    rows.push_back({"ready", look_true(status, {"ready"}) ? "yes" : "no"});
    rows.push_back({"restarts", fmt::to_string(look_number(status, {"restartCount"}))});
    const CpuHolder* holder = holder_of(page_.map, summary_.uid, container.name);
    if (holder != nullptr) {
      add_cpus(rows, *holder);
    } else if (look_object(status, {"state", "running"}) != nullptr) {
      rows.push_back({"runs on", fmt::format("{}, shared", shown(page_.map.shared))});
    }
    rows.push_back({"why", why(*granted_.find(container.name), status, holder)});
    return fmt::format("\n{}container {}\n", app ? "" : fmt::format("{} ", name_of(container.kind)),
                       on_one_line(container.name)) +
           indented(align(rows, 2));
  }

  const PodPage& page_;
  Pod pod_;
  Pod granted_{};
  PodSummary summary_;
};

}  // namespace

Result<std::string> render_pod_page(const PodPage& page) {
  PodSummary summary = TRY(pod_summary(page.pod));
  Pod pod = TRY(pod_from_json(page.pod));
  return PodReading(page, std::move(pod), std::move(summary)).text();
}

}  // namespace corehold
