// SPDX-License-Identifier: Apache-2.0
//
// Following a list of the API as it changes: the list, then a watch from its version on.
// Where the agent no longer remembers that version (410) the list is asked for again, and
// what differs is told as if it had been watched.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "cli/client/agent_client.h"
#include "cli/client/object_query.h"

namespace corehold {

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted };

  Type type{};
  boost::json::object object{};
};

// "ADDED", "MODIFIED", "DELETED".
std::string_view name_of(WatchEvent::Type type);

struct WatchQuestion {
  std::string path{};             // of the list
  QueryWords words{};             // selectors
  std::chrono::seconds pause{0};  // next() comes back at least so often; 0: only with an event
};

class Watcher {
 public:
  // `client` must outlive it.
  Watcher(const AgentClient& client, WatchQuestion question);

  // What there is. Once, before next().
  Result<std::vector<boost::json::object>> list();

  // Waits for what happens next; no value when the pause is over. Fails as AgentClient, and
  // with kCorrupt for what is no event.
  Result<std::optional<WatchEvent>> next();

 private:
  Result<void> open();
  // Takes one line of the stream; what it tells is then in due_.
  Result<void> take(const std::string& line);
  Result<void> list_again();
  void learn(WatchEvent event);

  const AgentClient& client_;
  WatchQuestion question_;
  std::map<std::string, boost::json::object> known_{};  // by namespace and name
  std::string version_{};
  std::deque<WatchEvent> due_{};
  std::optional<HttpStream> stream_{};
  std::chrono::milliseconds opened_at_{};
};

}  // namespace corehold
