// SPDX-License-Identifier: Apache-2.0
#include "cli/describe/describe_text.h"

#include <algorithm>
#include <tuple>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/json/time_text.h"
#include "api/patch/server_side_apply.h"
#include "cli/get/node_render.h"
#include "cli/output.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

// Written by kubectl apply and ours; as long as the pod.
}  // namespace

std::string moment(std::string_view time, milliseconds now) {
  const auto at = parse_time(time);
  if (!at) return or_dash(time);
  return fmt::format("{} ({} ago)", time_text(*at), age_text(now - *at));
}

std::vector<std::string> pairs_of(const json::object* object) {
  std::vector<std::string> pairs;
  if (object == nullptr) return pairs;
  for (const auto& member : *object) {
    const std::string_view key(member.key().data(), member.key().size());
    if (key == kLastAppliedAnnotation) continue;
    const json::string* text = member.value().if_string();
    pairs.push_back(on_one_line(fmt::format(
        "{}={}", key, text == nullptr ? json::serialize(member.value()) : std::string(*text))));
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::string conditions_text(const json::object& object, milliseconds now) {
  const json::array& conditions = look_array(object, {"status", "conditions"});
  if (conditions.empty()) return "";
  std::vector<Row> rows{{"TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"}};
  for (const json::value& value : conditions) {
    const json::object& condition = as_object_or_empty(value);
    const auto since = parse_time(look_text(condition, {"lastTransitionTime"}));
    rows.push_back(
        {or_dash(look_text(condition, {"type"})), or_dash(look_text(condition, {"status"})),
         since ? age_or_dash(*since, now) : "-", or_dash(look_text(condition, {"reason"})),
         or_dash(look_text(condition, {"message"}))});
  }
  return "\nconditions\n" + indented(align(rows, rows.front().size()));
}

std::string events_text(std::vector<EventView> events, milliseconds now) {
  if (events.empty()) return "\nevents  none\n";
  std::stable_sort(events.begin(), events.end(), [](const EventView& a, const EventView& b) {
    return std::tie(a.last_at, a.resource_version) < std::tie(b.last_at, b.resource_version);
  });
  std::vector<Row> rows{{"LAST", "TYPE", "REASON", "CONTAINER", "MESSAGE"}};
  for (const EventView& event : events) {
    const std::string times = event.count > 1 ? fmt::format(" (x{})", event.count) : "";
    rows.push_back({age_or_dash(event.last_at, now), or_dash(event.type), or_dash(event.reason),
                    or_dash(event.container), on_one_line(event.message) + times});
  }
  return "\nevents\n" + indented(align(rows, rows.front().size()));
}

}  // namespace corehold
