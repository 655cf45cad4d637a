// SPDX-License-Identifier: Apache-2.0
#include "api/serve/watch_log.h"

#include <algorithm>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/check.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

// Watchers take a change soon after it: what was rendered for them is worth keeping for the
// latest only.
constexpr std::size_t kRenderedChanges = 64;
constexpr std::size_t kRenderedForms = 16;

WatchLine event_line(std::string_view type, std::string_view object) {
  return std::make_shared<const std::string>(
      fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
}

ApiStatus too_large(std::uint64_t asked, std::uint64_t current) {
  return {
      .reason = StatusReason::kTimeout,
      .message =
          fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current),
      .causes = {{.reason = "ResourceVersionTooLarge", .message = "Too large resource version"}},
      .retry_after = 1};
}

ApiStatus list_expired() {
  return {.reason = StatusReason::kExpired,
          .message = "The resourceVersion for the provided list is too old."};
}

ApiStatus page_expired(const ContinueToken& token) {
  return {.reason = StatusReason::kExpired,
          .message =
              "The provided continue parameter is too old to display a consistent list result. You "
              "can start a new list without the continue parameter, or use the continue token in "
              "this response to retrieve the remainder of the results. Continuing with the "
              "provided token results in an inconsistent list - objects that were created, "
              "modified, or deleted between the time the first chunk was returned and now may show "
              "up in the list.",
          .continue_token = to_text({ContinueToken::kNow, token.start})};
}

WatchLine too_old(std::uint64_t asked, std::uint64_t oldest) {
  const ApiStatus status{
      .reason = StatusReason::kExpired,
      .message = fmt::format("too old resource version: {} ({})", asked, oldest)};
  return event_line("ERROR", json::serialize(to_json(status)));
}

bool is_selected(const ObjectPtr& object, const std::string& namespace_name,
                 const Selector& selector) {
  return object != nullptr &&
         (namespace_name.empty() || object->namespace_name() == namespace_name) &&
         selector.matches(object->selectable());
}

}  // namespace

WatchLog::WatchLog(Resource resource, std::uint64_t version, WatchLogLimits limits)
    : resource_(resource), limits_(limits), version_(version), oldest_(version) {}

std::string WatchLog::key_of(std::string_view namespace_name, std::string_view name) const {
  if (!info_of(resource_).namespaced) return std::string(name);
  return fmt::format("{}/{}", namespace_name, name);
}

void WatchLog::put(json::object object, std::uint64_t version) {
  CHECK(version > version_);
  auto after = std::make_shared<const ObjectVersion>(resource_, std::move(object), version);
  ObjectPtr& place = objects_[key_of(after->namespace_name(), after->name())];
  put(std::move(after), place);
}

bool WatchLog::put_if_other(json::object object, std::uint64_t version) {
  CHECK(version > version_);
  auto after = std::make_shared<const ObjectVersion>(resource_, std::move(object), version);
  ObjectPtr& place = objects_[key_of(after->namespace_name(), after->name())];
  if (place != nullptr && place->is_same_but_version(*after)) return false;
  put(std::move(after), place);
  return true;
}

void WatchLog::put(ObjectPtr after, ObjectPtr& place) {
  const std::uint64_t version = after->version();
  ObjectPtr before = std::exchange(place, after);
  record({.version = version, .before = std::move(before), .after = std::move(after)});
}

bool WatchLog::remove(std::string_view namespace_name, std::string_view name,
                      std::uint64_t version) {
  CHECK(version > version_);
  const auto found = objects_.find(key_of(namespace_name, name));
  if (found == objects_.end()) return false;
  ObjectPtr before = std::move(found->second);
  objects_.erase(found);
  record({.version = version, .before = std::move(before)});
  return true;
}

void WatchLog::advance(std::uint64_t version) { version_ = std::max(version_, version); }

void WatchLog::record(Change change) {
  const auto size = [](const Change& one) {
    return (one.after == nullptr ? one.before : one.after)->item().size();
  };
  version_ = change.version;
  bytes_ += size(change);
  changes_.push_back(std::move(change));
  while (!changes_.empty() && (changes_.size() > limits_.changes || bytes_ > limits_.bytes)) {
    bytes_ -= size(changes_.front());
    oldest_ = changes_.front().version;
    changes_.pop_front();
  }
  if (changes_.size() > kRenderedChanges) {
    std::vector<Rendered>().swap(changes_[changes_.size() - kRenderedChanges - 1].rendered);
  }
}

ObjectPtr WatchLog::find(std::string_view namespace_name, std::string_view name) const {
  const auto found = objects_.find(key_of(namespace_name, name));
  return found == objects_.end() ? nullptr : found->second;
}

// REQUIRES: version is not below oldest().
WatchLog::Objects WatchLog::objects_at(std::uint64_t version) const {
  Objects objects = objects_;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    if (change->version <= version) break;
    const ObjectVersion& any = change->after == nullptr ? *change->before : *change->after;
    const std::string key = key_of(any.namespace_name(), any.name());
    if (change->before == nullptr) {
      objects.erase(key);
    } else {
      objects[key] = change->before;
    }
  }
  return objects;
}

ApiResult<ListPage> WatchLog::list(const ListOptions& options) const {
  if (options.after && options.after->version != ContinueToken::kNow) {
    const auto version = static_cast<std::uint64_t>(options.after->version);
    if (version > version_) return too_large(version, version_);
    if (version < oldest_) return page_expired(*options.after);
    return page(objects_at(version), options, version);
  }
  using Match = ListOptions::Match;
  const bool versioned = options.match == Match::kExact || options.match == Match::kNotOlderThan;
  if (versioned && options.version > version_) return too_large(options.version, version_);
  if (options.match == Match::kExact && options.version < version_) {
    if (options.version < oldest_) return list_expired();
    return page(objects_at(options.version), options, options.version);
  }
  return page(objects_, options, version_);
}

ApiResult<ListPage> WatchLog::page(const Objects& objects, const ListOptions& options,
                                   std::uint64_t version) const {
  // Keys of the list are those after this one's prefix; '0' is what follows '/'.
  const bool narrow = info_of(resource_).namespaced && !options.namespace_name.empty();
  const std::string prefix = narrow ? options.namespace_name + "/" : "";
  auto at = objects.lower_bound(options.after ? prefix + options.after->start : prefix);
  const auto end = narrow ? objects.lower_bound(options.namespace_name + "0") : objects.end();
  const bool limited = options.limit > 0 && options.match != ListOptions::Match::kAnyAge;
  ListPage page{.metadata = {.version = version}};
  std::string last;
  for (; at != end && at->first.starts_with(prefix); ++at) {
    if (!is_selected(at->second, options.namespace_name, options.selector)) continue;
    if (limited && page.items.size() == static_cast<std::size_t>(options.limit)) {
      page.metadata.continue_token =
          to_text({static_cast<std::int64_t>(version), last.substr(prefix.size()).append(1, '\0')});
      if (options.selector.matches_all()) page.metadata.remaining = std::distance(at, end);
      break;
    }
    page.items.push_back(at->second);
    last = at->first;
  }
  return page;
}

Watch WatchLog::watch(WatchOptions options, ObjectView view) const {
  Watch watch;
  watch.seen_ = options.version.value_or(version_);
  if (options.initial_events) {
    watch.seen_ = version_;
    for (const auto& [key, object] : objects_) {
      if (!is_selected(object, options.namespace_name, options.selector)) continue;
      watch.initial_.push_back(object);
    }
    std::reverse(watch.initial_.begin(), watch.initial_.end());
  }
  watch.mark_due_ = options.initial_mark;
  watch.initial_version_ = version_;
  watch.options_ = std::move(options);
  watch.view_ = std::move(view);
  return watch;
}

std::string_view WatchLog::name_of(EventType type) {
  switch (type) {
    case EventType::kAdded:
      return "ADDED";
    case EventType::kModified:
      return "MODIFIED";
    case EventType::kDeleted:
      return "DELETED";
  }
  check_failed("every EventType has a name", __FILE__, __LINE__);
}

WatchLine WatchLog::line_of(EventType type, const ObjectVersion& object, const ObjectView& view,
                            TableHead head, milliseconds now) {
  return event_line(name_of(type), object_text(object, view, now, head));
}

// The version in it is the watch's, so that a client that begins anew misses nothing.
WatchLine WatchLog::mark_of(Resource resource, std::uint64_t version, const ObjectView& view,
                            bool initial, milliseconds now) {
  json::object object = empty_object(resource);
  if (initial) {
    object["metadata"].get_object()["annotations"] =
        json::object{{"k8s.io/initial-events-end", "true"}};
  }
  const ObjectVersion mark(resource, std::move(object), version);
  return event_line("BOOKMARK", object_text(mark, view, now, TableHead::kWithout));
}

WatchLine WatchLog::rendered_line(const Change& change, EventType type, const ObjectView& view,
                                  TableHead head, milliseconds now) {
  const auto second = view.form == AnswerForm::kTable
                          ? std::chrono::floor<std::chrono::seconds>(now)
                          : std::chrono::seconds(0);
  for (const Rendered& one : change.rendered) {
    if (one.type == type && one.head == head && one.at == second && one.view == view) {
      return one.line;
    }
  }
  WatchLine line;
  if (type == EventType::kDeleted) {
    // As it was while it was selected, but of the version that ended that.
    const ObjectVersion last(change.before->resource(), change.before->parsed(), change.version);
    line = line_of(type, last, view, head, now);
  } else {
    line = line_of(type, *change.after, view, head, now);
  }
  if (change.rendered.size() >= kRenderedForms) change.rendered.erase(change.rendered.begin());
  change.rendered.push_back({type, view, head, second, line});
  return line;
}

// The next event for this watch; null when there is none now.
WatchLine WatchLog::next_line(Watch& watch, milliseconds now) const {
  const auto head = [&watch] {
    if (watch.view_.form != AnswerForm::kTable) return TableHead::kWith;
    return std::exchange(watch.head_due_, false) ? TableHead::kWith : TableHead::kWithout;
  };
  if (!watch.initial_.empty()) {
    const ObjectPtr object = std::move(watch.initial_.back());
    watch.initial_.pop_back();
    return line_of(EventType::kAdded, *object, watch.view_, head(), now);
  }
  if (std::exchange(watch.mark_due_, false)) {
    return mark_of(resource_, watch.initial_version_, watch.view_, true, now);
  }
  const WatchOptions& options = watch.options_;
  auto change =
      std::upper_bound(changes_.begin(), changes_.end(), watch.seen_,
                       [](std::uint64_t seen, const Change& one) { return seen < one.version; });
  for (; change != changes_.end(); ++change) {
    watch.seen_ = change->version;
    const bool before = is_selected(change->before, options.namespace_name, options.selector);
    const bool after = is_selected(change->after, options.namespace_name, options.selector);
    if (!before && !after) continue;
    const EventType type = !before  ? EventType::kAdded
                           : !after ? EventType::kDeleted
                                    : EventType::kModified;
    return rendered_line(*change, type, watch.view_, head(), now);
  }
  return nullptr;
}

Taken WatchLog::take(Watch& watch, milliseconds now, std::size_t most_bytes) const {
  Taken taken;
  std::size_t bytes = 0;
  while (bytes < most_bytes || taken.lines.empty()) {
    if (watch.initial_.empty() && !watch.mark_due_ && watch.seen_ < oldest_) {
      taken.lines.push_back(too_old(watch.seen_, oldest_));
      taken.ended = true;
      return taken;
    }
    WatchLine line = next_line(watch, now);
    if (line == nullptr) return taken;
    bytes += line->size();
    taken.lines.push_back(std::move(line));
  }
  taken.more = !watch.initial_.empty() || watch.mark_due_ ||
               (!changes_.empty() && changes_.back().version > watch.seen_);
  return taken;
}

WatchLine WatchLog::bookmark(const Watch& watch, milliseconds now) const {
  return mark_of(resource_, std::max(version_, watch.seen_), watch.view_, false, now);
}

}  // namespace corehold
