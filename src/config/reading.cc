// SPDX-License-Identifier: Apache-2.0
#include "config/reading.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "config/duration.h"
#include "config/words.h"
#include "pod/json_field.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::size_t kLongestReason = 300;

// How a number that should have been a string is written, for the advice to quote it.
std::string as_written(const json::value& value) {
  if (value.is_int64()) return fmt::to_string(value.get_int64());
  if (value.is_uint64()) return fmt::to_string(value.get_uint64());
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return "";
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

void sort_by_line(std::vector<ConfigRemark>& remarks) {
  std::stable_sort(
      remarks.begin(), remarks.end(),
      [](const ConfigRemark& left, const ConfigRemark& right) { return left.line < right.line; });
}

}  // namespace

const YamlLines& Node::inner_lines(std::size_t position) const {
  CHECK(position < lines_->inner.size());
  return lines_->inner[position];
}

std::vector<std::pair<std::string, Node>> Node::members() const {
  std::vector<std::pair<std::string, Node>> members;
  if (!value_->is_object()) return members;
  std::size_t position = 0;
  for (const auto& member : value_->get_object()) {
    const std::string name = clipped(member.key());
    members.emplace_back(name, Node(member.value(), inner_lines(position++),
                                    path_.empty() ? name : fmt::format("{}.{}", path_, name)));
  }
  return members;
}

std::vector<Node> Node::items() const {
  std::vector<Node> items;
  if (!value_->is_array()) return items;
  std::size_t position = 0;
  for (const json::value& item : value_->get_array()) {
    items.push_back(Node(item, inner_lines(position), fmt::format("{}[{}]", path_, position)));
    ++position;
  }
  return items;
}

void Reading::mistake(const Node& node, std::string message) {
  checked_.mistakes.push_back(
      {.line = node.line(), .field = node.path(), .message = std::move(message)});
}

void Reading::mistake(const std::string& field, std::string message) {
  checked_.mistakes.push_back(
      {.line = line_of(field), .field = field, .message = std::move(message)});
}

void Reading::note(const Node& node, std::string message) {
  checked_.notes.push_back(
      {.line = node.line(), .field = node.path(), .message = std::move(message)});
}

void Reading::note(const std::string& field, std::string message) {
  checked_.notes.push_back({.line = line_of(field), .field = field, .message = std::move(message)});
}

void Reading::warning(const std::string& field, std::string message) {
  checked_.warnings.push_back(
      {.line = line_of(field), .field = field, .message = std::move(message)});
}

void Reading::problem(const YamlProblem& problem) {
  checked_.mistakes.push_back({.line = problem.line, .message = problem.message});
}

bool Reading::is_wrong(const std::string& field) const {
  return std::any_of(
      checked_.mistakes.begin(), checked_.mistakes.end(), [&field](const ConfigRemark& mistake) {
        if (!mistake.field.starts_with(field)) return false;
        const std::string_view rest = std::string_view(mistake.field).substr(field.size());
        return rest.empty() || rest.front() == '.' || rest.front() == '[';
      });
}

int Reading::line_of(std::string field) const {
  while (true) {
    const auto found = checked_.lines.find(field);
    if (found != checked_.lines.end()) return found->second;
    const std::size_t end = field.find_last_of(".[");
    if (end == std::string::npos) return 0;
    field.resize(end);
  }
}

CheckedConfig Reading::finish(Config config) && {
  checked_.config = std::move(config);
  sort_by_line(checked_.mistakes);
  sort_by_line(checked_.warnings);
  sort_by_line(checked_.notes);
  return std::move(checked_);
}

bool expect_object(const Node& node, Reading& reading) {
  if (node.value().is_object()) return true;
  reading.mistake(node, "must be an object: lines of \"name: value\", indented");
  return false;
}

bool expect_list(const Node& node, Reading& reading) {
  if (node.value().is_array()) return true;
  reading.mistake(node, "must be a list: lines that begin with \"- \"");
  return false;
}

std::optional<std::string> text_of(const Node& node, Reading& reading) {
  const json::value& value = node.value();
  if (value.is_string()) return std::string(value.get_string());
  // A boolean may have been written as true, yes, on or y.
  const std::string written = as_written(value);
  std::string message = "must be a string";
  if (value.is_bool()) message += "; put it in quotes, as in \"true\"";
  if (!written.empty()) message += fmt::format("; write \"{}\", with quotes", written);
  reading.mistake(node, std::move(message));
  return std::nullopt;
}

std::optional<int> number_of(const Node& node, int least, int most, Reading& reading) {
  const std::int64_t* number = node.value().if_int64();
  if (number != nullptr && *number >= least && *number <= most) return static_cast<int>(*number);
  reading.mistake(node, fmt::format("must be a whole number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<std::int64_t> bytes_of(const Node& node, Reading& reading) {
  const auto quantity = quantity_of(node.value());
  if (!quantity) {
    reading.mistake(node, fmt::format("{}; write it as in 64Gi",
                                      clipped(quantity.error().message, kLongestReason)));
    return std::nullopt;
  }
  const auto bytes = quantity->scaled(0);
  if (quantity->sign() > 0 && bytes) return bytes;
  reading.mistake(
      node, quantity->sign() > 0 ? "is more than 64 bits hold" : "must be above zero, as in 64Gi");
  return std::nullopt;
}

std::optional<std::size_t> choice_of(const Node& node, std::span<const std::string_view> names,
                                     Reading& reading) {
  const auto text = text_of(node, reading);
  if (!text) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), *text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  reading.mistake(
      node, fmt::format("{:?} is not known; there are {}", clipped(*text), fmt::join(names, ", ")));
  return std::nullopt;
}

void read_value(const Node& node, bool& into, Reading& reading) {
  if (const bool* value = node.value().if_bool()) {
    into = *value;
    return;
  }
  reading.mistake(node, "must be true or false, without quotes");
}

void read_value(const Node& node, std::string& into, Reading& reading) {
  auto text = text_of(node, reading);
  if (!text) return;
  if (has_control_character(*text)) return reading.mistake(node, "contains a control character");
  into = *std::move(text);
}

void read_path(const Node& node, std::string& into, Reading& reading) {
  auto text = text_of(node, reading);
  if (!text) return;
  if (has_control_character(*text)) return reading.mistake(node, "contains a control character");
  if (!text->starts_with('/')) {
    return reading.mistake(
        node, fmt::format("{:?} is not an absolute path; begin it with /", clipped(*text)));
  }
  into = *std::move(text);
}

void read_value(const Node& node, std::chrono::milliseconds& into, Reading& reading) {
  if (!node.value().is_string()) {
    return reading.mistake(node, "must be a duration with its unit, as in 10s or 1m30s");
  }
  const auto duration = parse_duration(node.value().get_string());
  if (!duration) return reading.mistake(node, duration.error().message);
  // As in a kubelet, zero asks for the default.
  if (duration->count() > 0) into = *duration;
}

void read_value(const Node& node, CpuSet& into, Reading& reading) {
  const auto text = text_of(node, reading);
  if (!text) return;
  const auto cpus = CpuSet::parse(*text);
  if (cpus) {
    into = *cpus;
    return;
  }
  reading.mistake(node, fmt::format("unable to parse reservedSystemCPUs (--reserved-cpus) {}, "
                                    "error: {}; write a list as in \"0-1,8\"",
                                    clipped(*text), clipped(cpus.error().message, kLongestReason)));
}

std::string show_value(bool value) { return value ? "true" : "false"; }
std::string show_value(int value) { return fmt::to_string(value); }
std::string show_value(const std::string& value) { return value; }
std::string show_value(std::chrono::milliseconds value) { return show_duration(value); }
std::string show_value(const CpuSet& value) { return value.str(); }

}  // namespace corehold
