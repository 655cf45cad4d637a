// SPDX-License-Identifier: Apache-2.0
#include "api/own/run_message.h"

#include <utility>

#include <boost/json.hpp>

#include "api/json/json_read.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::object line_json(const RunWaiting& waiting) {
  return {{"state", "Waiting"}, {"message", waiting.message}};
}
json::object line_json(const RunGranted& granted) {
  return {{"state", "Granted"}, {"pod", granted.pod}, {"cpus", granted.cpus}};
}
json::object line_json(const ApiStatus& status) { return to_json(status); }

}  // namespace

json::object to_json(const RunRequest& request) {
  json::object object;
  if (!request.name.empty()) object["name"] = request.name;
  object["cpus"] = request.cpus;
  if (!request.memory.empty()) object["memory"] = request.memory;
  object["wait"] = request.wait;
  object["pid"] = request.pid;
  object["command"] = json::value_from(request.command);
  object["workingDir"] = request.working_directory;
  return object;
}

Result<RunRequest> run_request_from_json(const json::value& value) {
  const Path path;
  const json::object* object = TRY(as_object(value, path));
  RunRequest request;
  request.name = TRY(string_field(*object, path, "name"));
  request.cpus = TRY(integer_field(*object, path, "cpus", 0));
  if (request.cpus < 1) return (path / "cpus").error("must be 1 or more");
  request.memory = TRY(string_field(*object, path, "memory"));
  if (!request.memory.empty()) {
    const auto amount = Quantity::parse(request.memory);
    if (!amount) return wrap("memory", amount.error());
    if (amount->sign() <= 0) return (path / "memory").error("must be more than nothing");
  }
  request.wait = TRY(bool_field(*object, path, "wait"));
  request.pid = TRY(id_field(*object, path, "pid"));
  if (request.pid < 1) return (path / "pid").error("must be a process");
  request.command = TRY(strings_field(*object, path, "command"));
  if (request.command.empty()) return (path / "command").error("must not be empty");
  request.working_directory = TRY(string_field(*object, path, "workingDir"));
  return request;
}

json::object to_json(const RunLine& line) {
  return std::visit([](const auto& kind) { return line_json(kind); }, line);
}

Result<RunLine> run_line_from_json(const json::value& value) {
  if (is_status(value)) return RunLine(TRY(status_from_json(value)));
  const Path path;
  const json::object* object = TRY(as_object(value, path));
  const std::string state = TRY(string_field(*object, path, "state"));
  if (state == "Waiting") {
    return RunLine(RunWaiting{.message = TRY(string_field(*object, path, "message"))});
  }
  if (state == "Granted") {
    RunGranted granted;
    granted.pod = TRY(string_field(*object, path, "pod"));
    granted.cpus = TRY(string_field(*object, path, "cpus"));
    return RunLine(std::move(granted));
  }
  return (path / "state").error("must be Waiting or Granted, not " + shown(state));
}

Result<RunLine> parse_run_line(std::string_view line) {
  return run_line_from_json(TRY(parse_json(line)));
}

}  // namespace corehold
