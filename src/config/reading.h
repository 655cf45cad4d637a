// SPDX-License-Identifier: Apache-2.0
//
// Reading values of a configuration file: a Node is a value with its line and the path
// to it, a Reading collects what is to be said about them. The read_* functions read one
// value each; one that is wrong is reported and leaves the target alone.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "config/read_config.h"
#include "cpuset/cpu_set.h"
#include "pod/yaml_document.h"

namespace corehold {

// A view: the document must outlive it.
class Node {
 public:
  explicit Node(const YamlDocument& document) : Node(document.value, document.lines, "") {}

  const boost::json::value& value() const { return *value_; }
  int line() const { return lines_->line; }
  const std::string& path() const { return path_; }

  // As in the Kubernetes API, null counts as absent.
  bool is_absent() const { return value_->is_null(); }
  bool is_empty_text() const { return value_->is_string() && value_->get_string().empty(); }

  // The members of an object with their names, or the items of a list; else empty.
  std::vector<std::pair<std::string, Node>> members() const;
  std::vector<Node> items() const;

 private:
  Node(const boost::json::value& value, const YamlLines& lines, std::string path)
      : value_(&value), lines_(&lines), path_(std::move(path)) {}

  const YamlLines& inner_lines(std::size_t position) const;

  const boost::json::value* value_;
  const YamlLines* lines_;
  std::string path_;
};

class Reading {
 public:
  void mistake(const Node& node, std::string message);
  // At the line of a field that was given; without one at the line of what it is in.
  void mistake(const std::string& field, std::string message);
  void note(const Node& node, std::string message);
  void note(const std::string& field, std::string message);
  void warning(const std::string& field, std::string message);
  void problem(const YamlProblem& problem);

  // Remembers where the field stands.
  void given(const Node& node) { checked_.lines.emplace(node.path(), node.line()); }
  bool is_given(const std::string& field) const { return checked_.lines.contains(field); }
  std::size_t mistake_count() const { return checked_.mistakes.size(); }
  // Whether anything is wrong with the field or something in it.
  bool is_wrong(const std::string& field) const;

  // Everything said, by line.
  CheckedConfig finish(Config config) &&;

 private:
  int line_of(std::string field) const;

  CheckedConfig checked_{};
};

// "must be a list", "must be an object", reported, when it is not.
bool expect_object(const Node& node, Reading& reading);
bool expect_list(const Node& node, Reading& reading);

void read_value(const Node& node, bool& into, Reading& reading);
void read_value(const Node& node, std::string& into, Reading& reading);
void read_value(const Node& node, std::chrono::milliseconds& into, Reading& reading);
void read_value(const Node& node, CpuSet& into, Reading& reading);

// As text, for a message or a page; "" for what is empty.
std::string show_value(bool value);
std::string show_value(int value);
std::string show_value(const std::string& value);
std::string show_value(std::chrono::milliseconds value);
std::string show_value(const CpuSet& value);
template <typename Enum>
requires std::is_enum_v<Enum> std::string show_value(Enum value) {
  return std::string(name_of(value));
}

// A string, clipped for messages; no value: it is none, which is reported.
std::optional<std::string> text_of(const Node& node, Reading& reading);
// A whole number from `least` to `most`; no value: reported.
std::optional<int> number_of(const Node& node, int least, int most, Reading& reading);
// Bytes: a quantity above zero that fits 64 bits; no value: reported.
std::optional<std::int64_t> bytes_of(const Node& node, Reading& reading);
// An absolute path without control characters.
void read_path(const Node& node, std::string& into, Reading& reading);

// The position of the text among `names`; no value: reported, naming them all.
std::optional<std::size_t> choice_of(const Node& node, std::span<const std::string_view> names,
                                     Reading& reading);

// The same for an enum of `Count` values that name_of() names.
template <std::size_t Count, typename Enum>
void read_choice(const Node& node, Enum& into, Reading& reading) {
  std::array<std::string_view, Count> names{};
  for (std::size_t i = 0; i < Count; ++i) names[i] = name_of(static_cast<Enum>(i));
  if (const auto position = choice_of(node, names, reading)) into = static_cast<Enum>(*position);
}

}  // namespace corehold
