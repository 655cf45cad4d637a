// SPDX-License-Identifier: Apache-2.0
//
// The objects of one resource and what has changed of them lately: what lists, pages and
// watches are answered from. Bounded: whoever asks for what is no longer remembered is told
// so (410) and begins anew. Pure: the owner says what changes, gives each change its
// version, wakes watchers and tells the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "api/api_result.h"
#include "api/serve/list_options.h"
#include "api/serve/object_version.h"
#include "api/serve/resource.h"
#include "api/serve/table.h"

namespace corehold {

struct WatchLogLimits {
  std::size_t changes = 1024;
  // Of the objects in these changes, as text: enough for all changes in the life of the largest
  // object (kMaxObjectBytes), so that no object alone makes watchers begin anew.
  std::size_t bytes = std::size_t{32} << 20U;
};

// One event of a watch as it is sent, with its line end. Shared: a thousand watchers of a
// change are sent the same bytes, which stay until the last of them has taken them.
using WatchLine = std::shared_ptr<const std::string>;

struct ListPage {
  ListMetadata metadata{};
  std::vector<ObjectPtr> items{};
};

// Where one watch stands. Made by WatchLog::watch(), moved on by WatchLog::take().
class Watch {
 public:
  const WatchOptions& options() const { return options_; }

 private:
  friend class WatchLog;

  WatchOptions options_{};
  ObjectView view_{};
  std::uint64_t seen_ = 0;             // all changes up to here have been taken
  std::vector<ObjectPtr> initial_{};   // still to be told, the last first
  std::uint64_t initial_version_ = 0;  // of the mark
  bool mark_due_ = false;
  bool head_due_ = true;  // the columns of a table have not been sent
};

struct Taken {
  std::vector<WatchLine> lines{};
  bool more = false;   // there is more to take already
  bool ended = false;  // the last line is an ERROR: end the stream
};

class WatchLog {
 public:
  // Nothing from before `version` will ever be known.
  WatchLog(Resource resource, std::uint64_t version, WatchLogLimits limits = {});

  // The object is now like this: a new one or another version of the one with its namespace
  // and name. REQUIRES: `version` is above version().
  void put(boost::json::object object, std::uint64_t version);
  // The same, unless it is like this already: false, and no change.
  bool put_if_other(boost::json::object object, std::uint64_t version);
  // It is no more. False, and no change, if it never was. REQUIRES: as for put().
  bool remove(std::string_view namespace_name, std::string_view name, std::uint64_t version);
  // Something else has changed: lists and bookmarks speak of `version` from now on. Ignored
  // if that is not ahead.
  void advance(std::uint64_t version);

  Resource resource() const { return resource_; }
  std::uint64_t version() const { return version_; }
  // Watches may begin after this version and later ones.
  std::uint64_t oldest() const { return oldest_; }
  std::size_t size() const { return objects_.size(); }

  // Null when there is none.
  ObjectPtr find(std::string_view namespace_name, std::string_view name) const;

  // By namespace and name. Fails with the Status to answer: 410 (Expired, with a token to go
  // on where a page was asked for) and 504 for a version that is yet to come.
  ApiResult<ListPage> list(const ListOptions& options) const;

  // Never fails: a version that is too old is told by the first take(), because clients
  // expect an answer of 200 with an ERROR in it.
  Watch watch(WatchOptions options, ObjectView view) const;

  // What the watch has not seen yet, as far as it is selected: up to `most_bytes`, but at
  // least one line if there is any. Ask again when the client has taken these: what waits is
  // kept here once for all watchers, and one that is too slow is told to begin anew.
  Taken take(Watch& watch, std::chrono::milliseconds now,
             std::size_t most_bytes = std::size_t{1} << 20U) const;

  // A bookmark, to be sent about once a minute to a watch that allows bookmarks, has been
  // through take() and has nothing more to take.
  WatchLine bookmark(const Watch& watch, std::chrono::milliseconds now) const;

 private:
  enum class EventType { kAdded, kModified, kDeleted };

  struct Rendered {
    EventType type{};
    ObjectView view{};
    TableHead head{};
    std::chrono::seconds at{};  // of a table, whose ages change
    WatchLine line{};
  };
  struct Change {
    std::uint64_t version = 0;
    ObjectPtr before{};  // null: it was not there
    ObjectPtr after{};   // null: it is no longer there
    mutable std::vector<Rendered> rendered{};
  };
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;

  static std::string_view name_of(EventType type);
  static WatchLine line_of(EventType type, const ObjectVersion& object, const ObjectView& view,
                           TableHead head, std::chrono::milliseconds now);
  static WatchLine mark_of(Resource resource, std::uint64_t version, const ObjectView& view,
                           bool initial, std::chrono::milliseconds now);
  static WatchLine rendered_line(const Change& change, EventType type, const ObjectView& view,
                                 TableHead head, std::chrono::milliseconds now);
  std::string key_of(std::string_view namespace_name, std::string_view name) const;
  void put(ObjectPtr after, ObjectPtr& place);
  void record(Change change);
  Objects objects_at(std::uint64_t version) const;
  ApiResult<ListPage> page(const Objects& objects, const ListOptions& options,
                           std::uint64_t version) const;
  WatchLine next_line(Watch& watch, std::chrono::milliseconds now) const;

  Resource resource_;
  WatchLogLimits limits_;
  std::uint64_t version_;
  std::uint64_t oldest_;
  Objects objects_{};
  std::deque<Change> changes_{};  // by version
  std::size_t bytes_ = 0;         // in changes_
};

}  // namespace corehold
