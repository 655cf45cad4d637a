// SPDX-License-Identifier: Apache-2.0
#include "runtime/container_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "runtime/record_text.h"
#include "sys/clock.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/move_aside.h"

namespace corehold {
namespace {

namespace json = boost::json;

// What a directory is called that is being removed; no pod is called so.
constexpr std::string_view kAside = ".gone-";
constexpr std::size_t kMaxBytes = std::size_t{16} * 1024 * 1024;
constexpr const char* kLaunch = "launch.json";
constexpr const char* kSupervisor = "keeper.json";
constexpr const char* kMain = "main.json";
constexpr const char* kExit = "exit.json";

std::int64_t integer_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  if (value == nullptr) return 0;
  if (value->is_int64()) return value->get_int64();
  return value->is_uint64() ? static_cast<std::int64_t>(value->get_uint64()) : 0;
}

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : "";
}

std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr ? text_of(*value) : "";
}

bool flag_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

json::array array_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr && value->is_array() ? value->get_array() : json::array{};
}

json::object object_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr && value->is_object() ? value->get_object() : json::object{};
}

json::object placement_to_json(const Placement& placement) {
  json::object object{{"cpus", placement.cpus.str()},
                      {"cpuShares", placement.limits.cpu_shares},
                      {"quotaMillis", placement.limits.quota},
                      {"memoryLimit", placement.limits.memory_limit}};
  if (placement.mems) object["mems"] = placement.mems->str();
  return object;
}

Result<Placement> placement_from_json(const json::object& object) {
  Placement placement{.cpus = TRY(CpuSet::parse(text_in(object, "cpus"))),
                      .limits = {.cpu_shares = static_cast<int>(integer_in(object, "cpuShares")),
                                 .quota = integer_in(object, "quotaMillis"),
                                 .memory_limit = integer_in(object, "memoryLimit")}};
  if (field(object, "mems") != nullptr)
    placement.mems = TRY(NodeSet::parse(text_in(object, "mems")));
  return placement;
}

ExitCause exit_cause_in(const json::object& object) {
  if (!flag_in(object, "known")) return ExitCause::kUnknown;
  return flag_in(object, "outOfMemory") ? ExitCause::kOutOfMemory : ExitCause::kEnded;
}

json::object mount_to_json(const Mount& mount) {
  return {{"source", mount.source},
          {"subPath", mount.sub_path},
          {"target", mount.target},
          {"readOnly", mount.read_only},
          {"mayCreate", mount.may_create}};
}

Mount mount_from_json(const json::object& object) {
  return {.source = text_in(object, "source"),
          .target = text_in(object, "target"),
          .read_only = flag_in(object, "readOnly"),
          .sub_path = text_in(object, "subPath"),
          .may_create = flag_in(object, "mayCreate")};
}

json::object host_path_to_json(const HostPath& host) {
  return {{"volume", host.volume}, {"path", host.path}, {"type", host.type}, {"root", host.root}};
}

HostPath host_path_from_json(const json::object& object) {
  return {.volume = text_in(object, "volume"),
          .path = text_in(object, "path"),
          .type = text_in(object, "type"),
          .root = text_in(object, "root")};
}

json::object launch_to_json(const Launch& launch) {
  json::object object{
      {"pod", launch.container.pod}, {"container", launch.container.container},
      {"attempt", launch.attempt},   {"workingDirectory", launch.working_directory},
      {"logPath", launch.log_path},  {"confines", placement_to_json(launch.placement)},
      {"attached", launch.attached}, {"attachedTo", launch.attached_to},
      {"manifest", launch.manifest}, {"noNewPrivileges", launch.no_new_privileges}};
  json::array command;
  for (const std::string& word : launch.command) command.emplace_back(word);
  object["command"] = std::move(command);
  json::array environment;
  for (const auto& [name, value] : launch.environment) {
    environment.emplace_back(json::array{name, value});
  }
  object["environment"] = std::move(environment);
  if (launch.user) object["user"] = *launch.user;
  if (launch.group) object["group"] = *launch.group;
  json::array groups;
  for (const gid_t group : launch.groups) groups.emplace_back(group);
  object["groups"] = std::move(groups);
  json::array mounts;
  for (const Mount& mount : launch.mounts) mounts.emplace_back(mount_to_json(mount));
  object["mounts"] = std::move(mounts);
  json::array host_paths;
  for (const HostPath& host : launch.host_paths) host_paths.emplace_back(host_path_to_json(host));
  if (!host_paths.empty()) object["hostPaths"] = std::move(host_paths);
  return object;
}

Result<Launch> launch_from_json(const json::object& object) {
  Launch launch{
      .container = {.pod = text_in(object, "pod"), .container = text_in(object, "container")},
      .attempt = static_cast<int>(integer_in(object, "attempt")),
      .working_directory = text_in(object, "workingDirectory"),
      .log_path = text_in(object, "logPath"),
      .manifest = text_in(object, "manifest"),
      .placement = TRY(placement_from_json(object_in(object, "confines"))),
      .attached = static_cast<pid_t>(integer_in(object, "attached")),
      .attached_to = static_cast<pid_t>(integer_in(object, "attachedTo")),
      .no_new_privileges = flag_in(object, "noNewPrivileges")};
  for (const json::value& word : array_in(object, "command")) {
    launch.command.push_back(text_of(word));
  }
  for (const json::value& pair : array_in(object, "environment")) {
    if (!pair.is_array() || pair.get_array().size() != 2) continue;
    launch.environment.emplace_back(text_of(pair.get_array()[0]), text_of(pair.get_array()[1]));
  }
  if (field(object, "user") != nullptr) {
    launch.user = static_cast<uid_t>(integer_in(object, "user"));
  }
  if (field(object, "group") != nullptr) {
    launch.group = static_cast<gid_t>(integer_in(object, "group"));
  }
  for (const json::value& group : array_in(object, "groups")) {
    if (group.is_int64()) launch.groups.push_back(static_cast<gid_t>(group.get_int64()));
  }
  for (const json::value& mount : array_in(object, "mounts")) {
    if (mount.is_object()) launch.mounts.push_back(mount_from_json(mount.get_object()));
  }
  for (const json::value& host : array_in(object, "hostPaths")) {
    if (host.is_object()) launch.host_paths.push_back(host_path_from_json(host.get_object()));
  }
  return launch;
}

json::object process_to_json(const ProcessId& process) {
  return {{"pid", process.pid}, {"startTime", process.start_time}};
}

ProcessId process_from_json(const json::object& object) {
  return {.pid = static_cast<pid_t>(integer_in(object, "pid")),
          .start_time = static_cast<std::uint64_t>(integer_in(object, "startTime"))};
}

Result<void> write_process(const std::string& path, const StoredProcess& stored) {
  json::object object = process_to_json(stored.process);
  object["bootId"] = boot_id();
  object["startedAt"] = stored.started_at.count();
  json::array unrelated;
  for (const ProcessId& process : stored.unrelated)
    unrelated.emplace_back(process_to_json(process));
  if (!unrelated.empty()) object["spared"] = std::move(unrelated);
  return replace_file(path, record_text(object) + "\n");
}

std::optional<StoredProcess> stored_process_of(const json::object& object) {
  if (text_in(object, "bootId") != boot_id()) return std::nullopt;
  StoredProcess stored{.process = process_from_json(object),
                       .started_at = std::chrono::milliseconds(integer_in(object, "startedAt"))};
  for (const json::value& process : array_in(object, "spared")) {
    if (process.is_object()) stored.unrelated.push_back(process_from_json(process.get_object()));
  }
  return stored;
}

json::object object_of(const ContainerExit& exit) {
  return {{"code", exit.code},
          {"signal", exit.signal},
          {"known", exit.cause != ExitCause::kUnknown},
          {"message", exit.message},
          {"outOfMemory", exit.cause == ExitCause::kOutOfMemory},
          {"finishedAt", exit.finished_at.count()}};
}

ContainerExit exit_of(const json::object& object) {
  return {.code = static_cast<int>(integer_in(object, "code")),
          .signal = static_cast<int>(integer_in(object, "signal")),
          .cause = exit_cause_in(object),
          .message = text_in(object, "message"),
          .finished_at = std::chrono::milliseconds(integer_in(object, "finishedAt"))};
}

bool is_name(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && name.size() <= 253 &&
         name.find_first_of(std::string_view("/\n\0", 3)) == std::string_view::npos;
}

enum class Place { kDirectory, kLink, kOther };

Place place_at(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return Place::kOther;
  if (S_ISLNK(status.st_mode)) return Place::kLink;
  return S_ISDIR(status.st_mode) ? Place::kDirectory : Place::kOther;
}

struct Places {
  std::vector<ContainerRef> containers{};
  std::vector<std::string> links{};  // in the place of a directory
};

// Files, and a container that is removed in this moment, are in neither.
Result<Places> places_in(const std::string& root) {
  Places places;
  const std::string top = root + "/containers";
  const auto pods = entries_of(top);
  if (!pods) {
    if (pods.error().code == Code::kNotFound) return places;
    return pods.error();
  }
  for (const std::string& pod : *pods) {
    if (!is_name(pod)) continue;
    const std::string of_pod = fmt::format("{}/{}", top, pod);
    const Place place = place_at(of_pod);
    if (place == Place::kLink) places.links.push_back(of_pod);
    if (place != Place::kDirectory) continue;
    const auto names = entries_of(of_pod);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!is_name(name)) continue;
      const std::string path = fmt::format("{}/{}", of_pod, name);
      const Place inner = place_at(path);
      if (inner == Place::kDirectory) places.containers.push_back({.pod = pod, .container = name});
      if (inner == Place::kLink) places.links.push_back(path);
    }
  }
  return places;
}

}  // namespace

Result<void> check_names(const ContainerRef& container) {
  if (!is_name(container.pod)) {
    return Error{Code::kInvalid,
                 fmt::format("pod UID {} cannot be the name of a directory", shown(container.pod))};
  }
  if (!is_name(container.container)) {
    return Error{Code::kInvalid, fmt::format("container name {} cannot be the name of a directory",
                                             shown(container.container))};
  }
  return {};
}

std::string exit_to_json(const ContainerExit& exit) { return json::serialize(object_of(exit)); }

std::optional<ContainerExit> exit_from_json(std::string_view text) {
  const auto object = read_record_text(text);
  if (!object) return std::nullopt;
  return exit_of(*object);
}

ContainerDirectory ContainerDirectory::of(const std::string& root, const ContainerRef& container) {
  return ContainerDirectory(
      fmt::format("{}/containers/{}/{}", root, container.pod, container.container));
}

Result<std::vector<ContainerRef>> ContainerDirectory::all(const std::string& root) {
  const Places places = TRY(places_in(root));
  if (places.links.empty()) return places.containers;
  return Error{
      Code::kCorrupt,
      fmt::format("{} is a link, and what is behind it is not a container's: move it away, "
                  "or start with --recover, which renames it",
                  places.links.front())};
}

Result<std::vector<std::string>> ContainerDirectory::put_links_aside(const std::string& root) {
  std::vector<std::string> told;
  for (const std::string& path : TRY(places_in(root)).links) {
    // Hidden, so that no UID of a pod is like it.
    const std::size_t name = path.rfind('/') + 1;
    const std::string aside = fmt::format("{}.link-{}", path.substr(0, name), path.substr(name));
    struct stat status {};
    if (::lstat(aside.c_str(), &status) == 0) {
      return Error{Code::kIo, fmt::format("{} is in the way of {}", aside, path)};
    }
    if (::rename(path.c_str(), aside.c_str()) != 0) {
      return errno_error(fmt::format("rename {}", path), errno);
    }
    told.push_back(
        fmt::format("{} was a link in the place of a directory and is {} now", path, aside));
  }
  return told;
}

void ContainerDirectory::sweep(const std::string& root) {
  const std::string top = root + "/containers";
  const auto names = entries_of(top);
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", top, name);
    if (name.starts_with(kAside)) static_cast<void>(remove_tree(path));
    // Of a pod whose last container was removed in the moment before this; fails unless it is
    // empty.
    if (is_name(name)) static_cast<void>(::rmdir(path.c_str()));
  }
}

Result<void> ContainerDirectory::make() const {
  TRY(take_away());
  return make_directories(path_, 0755);
}

Result<void> ContainerDirectory::remove() const {
  TRY(take_away());
  static_cast<void>(::rmdir(path_.substr(0, path_.rfind('/')).c_str()));
  return {};
}

// All of it at once: with some records gone the rest would tell another story.
Result<void> ContainerDirectory::take_away() const {
  const std::size_t name = path_.rfind('/');
  const std::size_t pod = path_.rfind('/', name - 1);
  const std::string aside =
      fmt::format("{}/{}{}-{}", path_.substr(0, pod), kAside, path_.substr(pod + 1, name - pod - 1),
                  path_.substr(name + 1));
  TRY(remove_tree(aside));
  if (::rename(path_.c_str(), aside.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return errno_error(fmt::format("rename {}", path_), errno);
  }
  return remove_tree(aside);
}

Result<void> ContainerDirectory::write_launch(const StoredLaunch& stored) const {
  json::object object = launch_to_json(stored.launch);
  object["confinement"] = stored.confinement;
  if (!stored.cgroup.empty()) object["cgroup"] = stored.cgroup;
  object["startTimeoutMillis"] = stored.start_timeout.count();
  return replace_file(path_ + "/" + kLaunch, record_text(object) + "\n");
}

bool ContainerDirectory::has(const std::string& file) const {
  struct stat status {};
  return ::lstat((path_ + "/" + file).c_str(), &status) == 0;
}

Result<std::optional<json::object>> ContainerDirectory::read(const std::string& file) const {
  const std::string path = path_ + "/" + file;
  const auto text = read_file(path, kMaxBytes);
  if (!text && !has(file)) return std::optional<json::object>();
  if (!text) return Error{Code::kCorrupt, text.error().message};
  auto object = read_record_text(*text);
  if (!object) return Error{Code::kCorrupt, fmt::format("{}: {}", path, object.error().message)};
  return std::optional(*std::move(object));
}

Result<StoredLaunch> ContainerDirectory::read_launch() const {
  const std::string path = path_ + "/" + kLaunch;
  const auto object = TRY(read(kLaunch));
  if (!object) return Error{Code::kNotFound, fmt::format("{} is missing", path)};
  const auto launch = launch_from_json(*object);
  if (!launch) return Error{Code::kCorrupt, fmt::format("{}: {}", path, launch.error().message)};
  StoredLaunch stored{.launch = *launch,
                      .confinement = object_in(*object, "confinement"),
                      .cgroup = text_in(*object, "cgroup")};
  if (const std::int64_t timeout = integer_in(*object, "startTimeoutMillis"); timeout > 0) {
    stored.start_timeout = std::chrono::milliseconds(timeout);
  }
  return stored;
}

Result<void> ContainerDirectory::write_supervisor(const StoredProcess& supervisor) const {
  return write_process(path_ + "/" + kSupervisor, supervisor);
}

Result<void> ContainerDirectory::write_main(const StoredProcess& main) const {
  return write_process(path_ + "/" + kMain, main);
}

std::optional<StoredProcess> ContainerDirectory::read_supervisor() const {
  const auto object = read(kSupervisor);
  return object && *object ? stored_process_of(**object) : std::nullopt;
}

std::optional<StoredProcess> ContainerDirectory::read_main() const {
  const auto object = read(kMain);
  return object && *object ? stored_process_of(**object) : std::nullopt;
}

bool ContainerDirectory::has_main() const { return has(kMain); }

Result<void> ContainerDirectory::write_exit(const ContainerExit& exit, int attempt) const {
  json::object object = object_of(exit);
  object["attempt"] = attempt;
  return write_file_atomically(path_ + "/" + kExit, record_text(object) + "\n");
}

std::optional<StoredExit> ContainerDirectory::read_exit() const {
  const auto object = read(kExit);
  if (!object || !*object) return std::nullopt;
  StoredExit stored{.exit = exit_of(**object)};
  if (field(**object, "attempt") != nullptr) {
    stored.attempt = static_cast<int>(integer_in(**object, "attempt"));
  }
  return stored;
}

Result<void> ContainerDirectory::check() const {
  TRY(check_content());
  const bool has_main_record = has(kMain);
  if (!has(kLaunch) && (has_main_record || has(kSupervisor) || has(kExit))) {
    return Error{Code::kCorrupt, fmt::format("{}/{} is missing", path_, kLaunch)};
  }
  if (!has(kSupervisor) && has_main_record) {
    return Error{Code::kCorrupt, fmt::format("{}/{} is missing", path_, kSupervisor)};
  }
  return {};
}

Result<void> ContainerDirectory::check_content() const {
  if (const auto launch = read_launch(); !launch && launch.error().code != Code::kNotFound) {
    return launch.error();
  }
  TRY(read(kSupervisor));
  TRY(read(kMain));
  return check_exit();
}

Result<void> ContainerDirectory::check_exit() const {
  TRY(read(kExit));
  return {};
}

Result<void> ContainerDirectory::put_aside(const std::string& file) const {
  TRY(move_aside({path_ + "/" + file}, wall_now()));
  return {};
}

}  // namespace corehold
