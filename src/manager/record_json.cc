// SPDX-License-Identifier: Apache-2.0
#include "manager/record_json.h"

#include <algorithm>
#include <array>
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Grows when an older agent would misread a record. A field that an older agent can do without
// needs no new version.
constexpr std::int64_t kRecordVersion = 1;

constexpr std::array kSources{Source::kApi, Source::kStatic, Source::kRun, Source::kRunWaiting};

json::object to_json(const ContainerExit& exit) {
  return {{"code", exit.code},
          {"signal", exit.signal},
          {"reason", reason_of(exit)},
          {"message", exit.message},
          {"startedAt", exit.started_at.count()},
          {"finishedAt", exit.finished_at.count()}};
}

json::object to_json(const ContainerRecord& record) {
  json::object object{{"attempt", record.attempt},
                      {"exits", record.exits},
                      {"ended", record.ended},
                      {"startedAt", record.started_at.count()}};
  if (record.began != 0) object["began"] = record.began;
  if (record.last_exit) object["lastExit"] = to_json(*record.last_exit);
  if (record.actual) object["actual"] = to_json(*record.actual);
  return object;
}

json::object to_json(const MemoryHolding& holding) {
  json::object bytes;
  for (const auto& [resource, amount] : holding.bytes) bytes[resource] = amount;
  return {{"nodes", holding.nodes.str()}, {"bytes", std::move(bytes)}};
}

json::object to_json(const DeviceHolding& holding) {
  json::object object;
  for (const auto& [resource, ids] : holding) {
    json::array list;
    for (const std::string& id : ids) list.emplace_back(id);
    object[resource] = std::move(list);
  }
  return object;
}

template <typename Map>
json::object objects_of(const Map& map) {
  json::object object;
  for (const auto& [name, value] : map) object[name] = to_json(value);
  return object;
}

json::object to_json(const ResizeWish& wish) {
  return {{"since", wish.since.count()}, {"resources", objects_of(wish.resources)}};
}

json::object to_json(const RestartAll& restart) {
  return {{"underWay", restart.under_way}, {"since", restart.since.count()}};
}

// Fields of one object, by their path.
class Reader {
 public:
  Reader(const json::object& object, Path path) : object_(object), path_(std::move(path)) {}

  Result<std::int64_t> number(std::string_view key, std::int64_t least, std::int64_t most) const {
    const json::value* found = field(object_, key);
    if (found == nullptr) return std::int64_t{0};
    return number_of(*found, path_ / key, least, most);
  }
  Result<int> integer(std::string_view key) const {
    return static_cast<int>(TRY(number(key, 0, std::numeric_limits<int>::max())));
  }
  Result<std::chrono::milliseconds> time(std::string_view key) const {
    return std::chrono::milliseconds(TRY(number(key, 0, kMostTime)));
  }
  Result<bool> boolean(std::string_view key) const {
    const json::value* found = field(object_, key);
    if (found == nullptr) return false;
    if (!found->is_bool()) return (path_ / key).error("is not true or false");
    return found->as_bool();
  }
  Result<std::string> text(std::string_view key) const { return string_field(object_, path_, key); }

  // Reads every member of the object that the field holds.
  template <typename T, typename Read>
  Result<std::map<std::string, T>> map(std::string_view key, Read read) const {
    std::map<std::string, T> all;
    const json::object* members = TRY(object_field(object_, path_, key));
    if (members == nullptr) return all;
    for (const auto& member : *members) {
      const Path path = path_ / key / std::string_view(member.key());
      const json::object* inner = member.value().if_object();
      if (inner == nullptr) return path.error("is not an object");
      all[std::string(member.key())] = TRY(read(Reader(*inner, path)));
    }
    return all;
  }

  static Result<std::int64_t> number_of(const json::value& value, const Path& path,
                                        std::int64_t least, std::int64_t most) {
    if (!value.is_int64() || value.as_int64() < least || value.as_int64() > most) {
      return path.error(fmt::format("is not a whole number from {} to {}", least, most));
    }
    return value.as_int64();
  }

  const json::object& object() const { return object_; }
  const Path& path() const { return path_; }

 private:
  // Two of them can be added and subtracted.
  static constexpr std::int64_t kMostTime = std::int64_t{1} << 60;

  const json::object& object_;
  Path path_;
};

Result<ContainerExit> read_exit(const Reader& reader) {
  ContainerExit exit;
  exit.code = TRY(reader.integer("code"));
  exit.signal = TRY(reader.integer("signal"));
  exit.cause = cause_of(TRY(reader.text("reason")));
  exit.message = TRY(reader.text("message"));
  exit.started_at = TRY(reader.time("startedAt"));
  exit.finished_at = TRY(reader.time("finishedAt"));
  return exit;
}

Result<ContainerRecord> read_container(const Reader& reader) {
  ContainerRecord record{.attempt = TRY(reader.integer("attempt")),
                         .exits = TRY(reader.integer("exits")),
                         .began = TRY(reader.integer("began")),
                         .ended = TRY(reader.boolean("ended")),
                         .started_at = TRY(reader.time("startedAt"))};
  const json::object* exit = TRY(object_field(reader.object(), reader.path(), "lastExit"));
  if (exit != nullptr) record.last_exit = TRY(read_exit(Reader(*exit, reader.path() / "lastExit")));
  const json::object* actual = TRY(object_field(reader.object(), reader.path(), "actual"));
  if (actual != nullptr)
    record.actual = TRY(resources_from_json(*actual, reader.path() / "actual"));
  return record;
}

Result<Resources> read_resources(const Reader& reader) {
  return resources_from_json(reader.object(), reader.path());
}

Result<ResizeWish> read_wish(const Reader& reader) {
  ResizeWish wish;
  wish.since = TRY(reader.time("since"));
  wish.resources = TRY(reader.map<Resources>("resources", read_resources));
  return wish;
}

Result<RestartAll> read_restart_all(const Reader& reader) {
  return RestartAll{.under_way = TRY(reader.boolean("underWay")),
                    .since = TRY(reader.time("since"))};
}

Result<MemoryHolding> read_memory(const Reader& reader) {
  MemoryHolding holding;
  auto nodes = NodeSet::parse(TRY(reader.text("nodes")));
  if (!nodes) return (reader.path() / "nodes").error(nodes.error().message);
  holding.nodes = *nodes;
  const json::object* bytes = TRY(object_field(reader.object(), reader.path(), "bytes"));
  if (bytes == nullptr) return holding;
  for (const auto& member : *bytes) {
    holding.bytes[std::string(member.key())] = TRY(Reader::number_of(
        member.value(), reader.path() / "bytes", 0, std::numeric_limits<std::int64_t>::max()));
  }
  return holding;
}

Result<DeviceHolding> read_devices(const Reader& reader) {
  DeviceHolding holding;
  for (const auto& member : reader.object()) {
    const Path path = reader.path() / std::string_view(member.key());
    const json::array* ids = member.value().if_array();
    if (ids == nullptr) return path.error("is not a list");
    std::vector<std::string>& list = holding[std::string(member.key())];
    for (const json::value& id : *ids) {
      if (!id.is_string()) return path.error("has an id that is not a text");
      list.emplace_back(id.as_string());
    }
  }
  return holding;
}

Result<Source> read_source(const Reader& reader) {
  const std::string name = TRY(reader.text("source"));
  for (const Source source : kSources) {
    if (name == name_of(source)) return source;
  }
  return (reader.path() / "source").error(fmt::format("{} is unknown", shown(name)));
}

Result<PodRecord> read_fields(const json::object& object) {
  const Reader reader(object, Path());
  const json::object* pod = TRY(object_field(object, Path(), "pod"));
  if (pod == nullptr) return (Path() / "pod").error("required");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  PodRecord record;
  record.pod = TRY(pod_from_json(*pod));
  record.source = TRY(read_source(reader));
  record.sequence = static_cast<std::uint64_t>(TRY(reader.number("sequence", 0, kMost / 2)));
  record.generation = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(TRY(reader.number("generation", 0, kMost / 2))));
  record.created_at = TRY(reader.time("createdAt"));
  record.deleted_at = TRY(reader.time("deletedAt"));
  record.grace = std::chrono::seconds(TRY(reader.number("grace", 0, kMostGrace.count())));
  record.started_at = TRY(reader.time("startedAt"));
  record.containers = TRY(reader.map<ContainerRecord>("containers", read_container));
  record.memory = TRY(reader.map<MemoryHolding>("memory", read_memory));
  record.devices = TRY(reader.map<DeviceHolding>("devices", read_devices));
  record.reason = TRY(reader.text("reason"));
  record.message = TRY(reader.text("message"));
  record.failed = TRY(reader.boolean("failed"));
  record.resize_began_at = TRY(reader.time("resizeBeganAt"));
  const json::object* restart = TRY(object_field(object, Path(), "restartAll"));
  if (restart != nullptr)
    record.restart_all = TRY(read_restart_all(Reader(*restart, Path() / "restartAll")));
  const json::object* wish = TRY(object_field(object, Path(), "wish"));
  if (wish != nullptr) record.wish = TRY(read_wish(Reader(*wish, Path() / "wish")));
  return record;
}

// A record without a version is as one of version 1.
Result<void> check_version(const json::object& object) {
  const std::int64_t version =
      TRY(Reader(object, Path()).number("version", 0, std::numeric_limits<std::int64_t>::max()));
  if (version <= kRecordVersion) return {};
  return Error{Code::kUnsupported,
               fmt::format("written by a later Corehold (version {}, this one knows {}); start the "
                           "later one again, or delete the pod there before going back",
                           version, kRecordVersion)};
}

}  // namespace

std::string_view name_of(Source source) {
  switch (source) {
    case Source::kApi:
      return "api";
    case Source::kStatic:
      return "static";
    case Source::kRun:
      return "run";
    case Source::kRunWaiting:
      return "run-waiting";
  }
  check_failed("every Source has a name", __FILE__, __LINE__);
}

std::string write_record(const PodRecord& record) {
  json::object object{{"version", kRecordVersion},
                      {"pod", to_json(record.pod)},
                      {"source", name_of(record.source)},
                      {"sequence", static_cast<std::int64_t>(record.sequence)},
                      {"generation", static_cast<std::int64_t>(record.generation)},
                      {"createdAt", record.created_at.count()},
                      {"deletedAt", record.deleted_at.count()},
                      {"grace", record.grace.count()},
                      {"startedAt", record.started_at.count()},
                      {"containers", objects_of(record.containers)},
                      {"memory", objects_of(record.memory)},
                      {"devices", objects_of(record.devices)},
                      {"reason", record.reason},
                      {"message", record.message},
                      {"failed", record.failed}};
  if (record.resize_began_at != WallTime{})
    object["resizeBeganAt"] = record.resize_began_at.count();
  if (record.restart_all != RestartAll{}) object["restartAll"] = to_json(record.restart_all);
  if (record.wish) object["wish"] = to_json(*record.wish);
  return json::serialize(object);
}

Result<PodRecord> read_record(std::string_view text) {
  const auto as_corrupt = [](const Error& error) {
    const Code code = error.code == Code::kUnsupported ? error.code : Code::kCorrupt;
    return Error{code, fmt::format("record of a pod: {}", error.message)};
  };
  auto value = parse_json(text);
  if (!value) return as_corrupt(value.error());
  const json::object* object = value->if_object();
  if (object == nullptr) return as_corrupt({Code::kCorrupt, "is not an object"});
  if (const auto known = check_version(*object); !known) return as_corrupt(known.error());
  auto record = read_fields(*object);
  if (!record) return as_corrupt(record.error());
  return record;
}

}  // namespace corehold
