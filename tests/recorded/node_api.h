// SPDX-License-Identifier: Apache-2.0
//
// The reading side of the API, put together from src/api the way a server does it: a GET in,
// an answer out. Watches are answered with what there is to tell when they are asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <boost/json/value.hpp>

#include "api/serve/resource.h"
#include "api/serve/watch_log.h"
#include "recorded.h"

namespace corehold {

struct NodeAnswer {
  int code = 200;
  std::string content_type = "application/json";
  boost::json::value body{};  // of a watch: an array of its events
};

class NodeApi {
 public:
  // Nothing from before `version` is known.
  explicit NodeApi(std::uint64_t version);

  WatchLog& log(Resource resource) { return logs_.at(resource); }
  // An object as recorded: its resourceVersion is that of the change.
  void put(Resource resource, const boost::json::value& object);
  void advance(std::uint64_t version);

  NodeAnswer get(const RecordedCase& request) const;

  std::chrono::milliseconds now{};

 private:
  NodeAnswer list(Resource resource, const std::string& namespace_name, const RecordedCase& request,
                  const AcceptedForm& form) const;
  NodeAnswer watch(Resource resource, const std::string& namespace_name,
                   const RecordedCase& request, const AcceptedForm& form) const;
  NodeAnswer one(Resource resource, const std::string& namespace_name, const std::string& name,
                 const RecordedCase& request, const AcceptedForm& form) const;

  std::map<Resource, WatchLog> logs_{};
};

}  // namespace corehold
