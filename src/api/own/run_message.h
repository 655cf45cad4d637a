// SPDX-License-Identifier: Apache-2.0
//
// What `corehold run` and the agent say to each other: one request, then one JSON object
// a line until the command may go or may not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/status.h"
#include "base/result.h"

namespace corehold {

struct RunRequest {
  std::string name{};  // of the pod; "": the agent thinks of one
  std::int64_t cpus = 0;
  std::string memory{};  // a quantity; "": none
  bool wait = false;     // until there is room
  std::int64_t pid = 0;  // of the child that waits to be let go, as the client sees it
  std::vector<std::string> command{};  // for show
  std::string working_directory{};     // for show

  bool operator==(const RunRequest&) const = default;
};

boost::json::object to_json(const RunRequest& request);

// Fails with kInvalid, naming the field: no command, no CPUs.
Result<RunRequest> run_request_from_json(const boost::json::value& value);

// It has to wait, and what for. May come several times.
struct RunWaiting {
  std::string message{};
  bool operator==(const RunWaiting&) const = default;
};
// The child is in its place: let it go.
struct RunGranted {
  std::string pod{};   // "namespace/name"
  std::string cpus{};  // kernel list; "": policy none
  bool operator==(const RunGranted&) const = default;
};
// A refusal after the answer has begun comes as a Status.
using RunLine = std::variant<RunWaiting, RunGranted, ApiStatus>;

boost::json::object to_json(const RunLine& line);

// Fails with kInvalid for what is none of the three.
Result<RunLine> run_line_from_json(const boost::json::value& value);
Result<RunLine> parse_run_line(std::string_view line);

}  // namespace corehold
