// SPDX-License-Identifier: Apache-2.0
#include "cli/client/watcher.h"

#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

// An agent that ends every watch at once must not be asked in a loop without end.
constexpr milliseconds kShortest{500};

std::string key_of(const json::object& object) {
  return fmt::format("{}/{}", look_text(object, {"metadata", "namespace"}),
                     look_text(object, {"metadata", "name"}));
}

std::string version_of(const json::object& object) {
  return std::string(look_text(object, {"metadata", "resourceVersion"}));
}

Error no_event(std::string_view why) {
  return {Code::kCorrupt, fmt::format("the agent's watch says what is no event: {}", why)};
}

}  // namespace

std::string_view name_of(WatchEvent::Type type) {
  switch (type) {
    case WatchEvent::Type::kAdded:
      return "ADDED";
    case WatchEvent::Type::kModified:
      return "MODIFIED";
    case WatchEvent::Type::kDeleted:
      return "DELETED";
  }
  return "";
}

Watcher::Watcher(const AgentClient& client, WatchQuestion question)
    : client_(client), question_(std::move(question)) {}

Result<std::vector<json::object>> Watcher::list() {
  const json::value answer = TRY(client_.get(with_query(question_.path, question_.words)));
  const json::object& list = as_object_or_empty(answer);
  const json::value* items = field(list, "items");
  version_ = version_of(list);
  if (items == nullptr || !items->is_array() || version_.empty()) {
    return Error{
        Code::kCorrupt,
        fmt::format("the agent's answer to GET {} is no list with a version", question_.path)};
  }
  std::vector<json::object> objects;
  objects.reserve(items->get_array().size());
  known_.clear();
  for (const json::value& item : items->get_array()) {
    const json::object& object = as_object_or_empty(item);
    known_[key_of(object)] = object;
    objects.push_back(object);
  }
  return objects;
}

Result<void> Watcher::open() {
  QueryWords words = question_.words;
  words.emplace_back("watch", "true");
  words.emplace_back("allowWatchBookmarks", "true");
  words.emplace_back("resourceVersion", version_);
  if (question_.pause.count() > 0) {
    words.emplace_back("timeoutSeconds", fmt::to_string(question_.pause.count()));
  }
  HttpStream stream = TRY(client_.open({.target = with_query(question_.path, words)}));
  stream_.emplace(std::move(stream));
  opened_at_ = steady_now();
  return {};
}

void Watcher::learn(WatchEvent event) {
  const std::string key = key_of(event.object);
  if (event.type == WatchEvent::Type::kDeleted) {
    known_.erase(key);
  } else {
    known_[key] = event.object;
  }
  due_.push_back(std::move(event));
}

Result<void> Watcher::list_again() {
  stream_.reset();
  std::this_thread::sleep_for(kShortest);
  std::map<std::string, json::object> before = std::move(known_);
  const std::vector<json::object> now = TRY(list());
  for (const json::object& object : now) {
    const auto found = before.find(key_of(object));
    if (found == before.end()) {
      due_.push_back({.type = WatchEvent::Type::kAdded, .object = object});
    } else {
      if (version_of(found->second) != version_of(object)) {
        due_.push_back({.type = WatchEvent::Type::kModified, .object = object});
      }
      before.erase(found);
    }
  }
  for (auto& [key, object] : before) {
    due_.push_back({.type = WatchEvent::Type::kDeleted, .object = std::move(object)});
  }
  return {};
}

Result<void> Watcher::take(const std::string& line) {
  const auto value = parse_json(line);
  if (!value) return no_event(value.error().message);
  const json::object& event = as_object_or_empty(*value);
  const std::string_view type = look_text(event, {"type"});
  const json::value* about = field(event, "object");
  if (about == nullptr || !about->is_object()) return no_event("it has no object");
  const json::object& object = about->get_object();
  if (type == "ERROR") {
    const ApiStatus status = TRY(status_from_json(*about));
    if (status.reason != StatusReason::kExpired) return error_of(status);
    return list_again();
  }
  if (const std::string version = version_of(object); !version.empty()) version_ = version;
  using Type = WatchEvent::Type;
  for (const Type known : {Type::kAdded, Type::kModified, Type::kDeleted}) {
    if (type != name_of(known)) continue;
    learn({.type = known, .object = object});
    return {};
  }
  if (type == "BOOKMARK") return {};
  return no_event(fmt::format("type {:?}", type));
}

Result<std::optional<WatchEvent>> Watcher::next() {
  while (due_.empty()) {
    if (!stream_) TRY(open());
    const std::optional<std::string> line = TRY(stream_->next_line());
    if (line) {
      TRY(take(*line));
      continue;
    }
    stream_.reset();
    const milliseconds lasted = steady_now() - opened_at_;
    if (lasted < kShortest) std::this_thread::sleep_for(kShortest - lasted);
    if (question_.pause.count() > 0) return std::optional<WatchEvent>();
  }
  WatchEvent event = std::move(due_.front());
  due_.pop_front();
  return std::optional(std::move(event));
}

}  // namespace corehold
