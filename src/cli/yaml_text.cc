// SPDX-License-Identifier: Apache-2.0
#include "cli/yaml_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <boost/json.hpp>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/null.h>

namespace corehold {
namespace {

namespace json = boost::json;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Words that are no texts to one reader of YAML or another.
bool is_word_of_yaml(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords{"y",   "n",    "yes",   "no",  "on",
                                                   "off", "true", "false", "null"};
  const auto same = [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
    });
  };
  return std::any_of(kWords.begin(), kWords.end(), same);
}

// Numbers, times and special values begin with something else than these.
bool is_surely_text(std::string_view text) {
  if (text.empty() || (!is_letter(text.front()) && text.front() != '/')) return false;
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  return plain && !is_word_of_yaml(text);
}

void emit_text(YAML::Emitter& out, std::string_view text) {
  if (!is_surely_text(text)) out << YAML::DoubleQuoted;
  out << std::string(text);
}

void emit(YAML::Emitter& out, const json::value& value) {
  if (const auto* object = value.if_object()) {
    if (object->empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& member : *object) {
      out << YAML::Key;
      emit_text(out, std::string_view(member.key().data(), member.key().size()));
      out << YAML::Value;
      emit(out, member.value());
    }
    out << YAML::EndMap;
  } else if (const auto* array = value.if_array()) {
    if (array->empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const json::value& item : *array) emit(out, item);
    out << YAML::EndSeq;
  } else if (const auto* text = value.if_string()) {
    emit_text(out, std::string_view(text->data(), text->size()));
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << json::serialize(value);  // numbers, true and false are written as in JSON
  }
}

}  // namespace

std::string yaml_text(const json::value& value) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  emit(out, value);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace corehold
