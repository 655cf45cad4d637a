// SPDX-License-Identifier: Apache-2.0
#include "agent/static/static_pod_file.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/patch/strict_fields.h"
#include "api/pod/pod_create.h"
#include "pod/pod_json.h"
#include "pod/yaml_document.h"

namespace corehold {
namespace {

namespace json = boost::json;

// Of version-5 UUIDs of static pods; made once, by chance.
constexpr boost::uuids::uuid kNamespace{0x5e, 0x0b, 0x91, 0x3c, 0x2d, 0x74, 0x4f, 0x68,
                                        0xa1, 0xc9, 0x07, 0xb6, 0xd3, 0x52, 0x8e, 0xf4};

struct Manifest {
  json::object object{};
  YamlLines lines{};
};

bool is_json(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{';
}

Error invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

Error at_line(int line, const std::string& message) {
  return invalid(line > 0 ? fmt::format("{}: {}", line, message) : " " + message);
}

// Errors of this and the next begin with "LINE: ", or with a blank.
Result<Manifest> read_one_object(std::string_view text) {
  YamlStream stream = parse_yaml_with_lines(text);
  if (is_json(text)) {
    // JSON that is no YAML (tabs) is JSON all the same; only lines are missing then.
    auto value = parse_json(text);
    if (!value) return at_line(0, value.error().message);
    YamlLines lines;
    if (stream.problems.empty() && stream.documents.size() == 1) {
      lines = std::move(stream.documents.front().lines);
    }
    stream.problems.clear();
    stream.documents.clear();
    stream.documents.push_back({.value = *std::move(value), .lines = std::move(lines)});
  }
  if (!stream.problems.empty()) {
    const YamlProblem& problem = stream.problems.front();
    return at_line(problem.line, problem.message);
  }
  if (stream.documents.empty()) return at_line(0, "no pod in the file");
  if (stream.documents.size() > 1) {
    return at_line(
        stream.documents[1].lines.line,
        fmt::format("{} documents in the file; a file is one pod", stream.documents.size()));
  }
  YamlDocument& document = stream.documents.front();
  if (!document.value.is_object()) return at_line(document.lines.line, "not an object");
  return Manifest{.object = std::move(document.value.get_object()),
                  .lines = std::move(document.lines)};
}

// Where "spec.containers[1].name" stands, or what is nearest to it of all that is there.
// 0: not even its first part is.
int line_of(const json::object& object, const YamlLines& lines, std::string_view path) {
  const json::value root(object);
  const json::value* value = &root;
  const YamlLines* at = &lines;
  bool found = false;
  while (!path.empty()) {
    const bool is_index = path.front() == '[';
    const std::size_t end = is_index ? path.find(']') : path.find_first_of(".[");
    const std::string_view part = path.substr(is_index ? 1 : 0, is_index ? end - 1 : end);
    std::size_t index = 0;
    if (is_index && value->is_array()) {
      for (const char c : part) index = 10 * index + static_cast<std::size_t>(c - '0');
      if (end == std::string_view::npos || index >= value->get_array().size()) break;
      value = &value->get_array()[index];
    } else if (!is_index && value->is_object()) {
      const auto& members = value->get_object();
      const auto* member = members.find(part);
      if (member == members.end()) break;
      index = static_cast<std::size_t>(member - members.begin());
      value = &member->value();
    } else {
      break;
    }
    if (index >= at->inner.size()) break;
    at = &at->inner[index];
    found = true;
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + (is_index ? 1 : 0));
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  }
  return found ? at->line : 0;
}

bool is_path_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '[' || c == ']' ||
         c == '-' || c == '_' || c == '/';
}

// The line of the first field that the message names ("... spec.containers[0].name: required").
int blamed_line(const std::string& message, const Manifest& manifest) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] == ':' && i > begin) {
      std::string_view path = std::string_view(message).substr(begin, i - begin);
      path.remove_prefix(std::min(path.find_first_not_of('['), path.size()));  // of a list of paths
      const int line = line_of(manifest.object, manifest.lines, path);
      if (line > 0) return line;
    }
    if (!is_path_char(message[i])) begin = i + 1;
  }
  return 0;
}

// The same for objects that differ in the order of their keys only.
void write_canonically(const json::value& value, std::string& text) {
  if (const auto* object = value.if_object()) {
    std::vector<const json::key_value_pair*> members;
    members.reserve(object->size());
    for (const auto& member : *object) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
    text += '{';
    for (const auto* member : members) {
      text += json::serialize(json::string(member->key()));
      text += ':';
      write_canonically(member->value(), text);
      text += ',';
    }
    text += '}';
  } else if (const auto* array = value.if_array()) {
    text += '[';
    for (const json::value& item : *array) {
      write_canonically(item, text);
      text += ',';
    }
    text += ']';
  } else {
    text += json::serialize(value);
  }
}

std::string uid_of(const json::object& object, const std::string& node_name) {
  std::string text = node_name + "\n";
  write_canonically(json::value(object), text);
  return boost::uuids::to_string(boost::uuids::name_generator_sha1(kNamespace)(text));
}

// With the defaults of the API and checked as the API does it.
ApiResult<ApiPod> as_api_pod(const json::object& object, const PodRules& rules,
                             std::vector<std::string>& warnings) {
  json::object read =
      TRY(read_object("Pod", json::serialize(object), FieldValidation::kWarn, warnings));
  std::string name_space(look_text(read, {"metadata", "namespace"}));
  if (name_space.empty()) name_space = "default";
  return prepare_new_pod(std::move(read), {.namespace_name = name_space}, rules, warnings);
}

Result<Pod> checked_pod(json::object object, const StaticPodRules& rules,
                        std::vector<std::string>& warnings) {
  object.erase("status");
  if (json::value* metadata = object.if_contains("metadata"); metadata != nullptr) {
    if (json::object* fields = metadata->if_object()) {
      fields->erase("uid");
      fields->erase("generateName");  // the same file is the same pod
    }
  }
  const std::string uid = uid_of(object, rules.node_name);
  // Says more clearly than the API what is of a wrong shape.
  const Pod shape = TRY(pod_model(object));
  if (!shape.name.empty()) {
    object["metadata"].as_object()["name"] = fmt::format("{}-{}", shape.name, rules.node_name);
  }
  auto prepared = as_api_pod(object, rules.pod_rules, warnings);
  if (!prepared) return invalid(prepared.error().message);
  Pod pod = std::move(*prepared).take_stored();
  pod.uid = uid;
  return pod;
}

}  // namespace

Result<Pod> read_static_pod(std::string_view text, const std::string& path,
                            const StaticPodRules& rules, std::vector<std::string>& warnings) {
  const auto manifest = read_one_object(text);
  if (!manifest) return invalid(fmt::format("{}:{}", path, manifest.error().message));
  auto pod = checked_pod(manifest->object, rules, warnings);
  if (!pod) {
    const std::string& message = pod.error().message;
    const Error error = at_line(blamed_line(message, *manifest), message);
    return invalid(fmt::format("{}:{}", path, error.message));
  }
  pod->annotations[std::string(kConfigSource)] = "file";
  pod->annotations[std::string(kConfigHash)] = pod->uid;
  pod->annotations[std::string(kConfigMirror)] = pod->uid;
  pod->annotations[std::string(kConfigFile)] = path;
  return pod;
}

bool is_static_pod(const PodRecord& record) {
  if (record.source == Source::kStatic) return true;
  const auto hash = record.pod.annotations.find(std::string(kConfigHash));
  return hash != record.pod.annotations.end() && hash->second == record.pod.uid;
}

std::optional<std::string> static_pod_refusal(const PodRecord& record) {
  if (!is_static_pod(record)) return std::nullopt;
  const auto file = record.pod.annotations.find(std::string(kConfigFile));
  return fmt::format(
      "it is a static pod of this node{}; through the API nothing of it can be changed or "
      "restarted: change or remove its file",
      file == record.pod.annotations.end() ? "" : ", from " + file->second);
}

}  // namespace corehold
