// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/serve/selector.h"

namespace corehold {
namespace {

namespace json = boost::json;

// At the commas that no backslash stands before.
std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(std::min(begin, text.size())));
  return terms;
}

// A value with its backslashes taken away.
Result<std::string> unescaped(std::string_view text) {
  constexpr std::string_view kSpecial = "\\,=";
  const auto wrong = [](std::string_view sequence) {
    return Error{Code::kInvalid,
                 fmt::format("invalid field selector: invalid escape sequence: {}", sequence)};
  };
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool special = kSpecial.find(text[i]) != std::string_view::npos;
    if (special && text[i] != '\\') {
      // The API server writes the character as its number.
      return Error{Code::kInvalid,
                   fmt::format("invalid field selector: unescaped character in value: {}",
                               static_cast<int>(text[i]))};
    }
    if (special) {
      ++i;
      if (i == text.size()) return wrong("\\");
      if (kSpecial.find(text[i]) == std::string_view::npos) return wrong(text.substr(i - 1, 2));
    }
    value.push_back(text[i]);
  }
  return value;
}

std::string field_text(const json::object& object, std::string_view label) {
  if (label == "source") {
    const std::string_view component = look_text(object, {"source", "component"});
    return std::string(component.empty() ? look_text(object, {"reportingComponent"}) : component);
  }
  if (label == "status.podIPs") {
    std::string all;
    for (const json::value& ip : look_array(object, {"status", "podIPs"})) {
      if (!all.empty()) all += ',';
      all += look_text(as_object_or_empty(ip), {"ip"});
    }
    return all;
  }
  const std::size_t dot = label.find('.');
  if (dot == std::string_view::npos) return std::string(look_text(object, {label}));
  const std::string_view part = label.substr(0, dot);
  const std::string_view name = label.substr(dot + 1);
  if (name == "unschedulable" || name == "hostNetwork") {
    return look_true(object, {part, name}) ? "true" : "false";
  }
  return std::string(look_text(object, {part, name}));
}

}  // namespace

Selectable selectable_of(Resource resource, const json::object& object) {
  Selectable taken;
  if (const json::object* labels = look_object(object, {"metadata", "labels"})) {
    taken.labels.reserve(labels->size());
    for (const auto& label : *labels) {
      if (label.value().is_string()) {
        taken.labels.emplace_back(label.key(), label.value().get_string());
      }
    }
    std::sort(taken.labels.begin(), taken.labels.end());
  }
  const Words names = info_of(resource).field_labels;
  taken.fields.reserve(names.size());
  for (const std::string_view name : names) taken.fields.push_back(field_text(object, name));
  return taken;
}

Result<FieldSelector> FieldSelector::parse(std::string_view text, Resource resource) {
  FieldSelector selector;
  const Words known = info_of(resource).field_labels;
  for (const std::string_view part : split_terms(text)) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Error{Code::kInvalid,
                   fmt::format("invalid selector: '{}'; can't understand '{}'", text, part)};
    }
    const bool unequal = equals > 0 && part[equals - 1] == '!';
    const std::size_t at = unequal ? equals - 1 : equals;
    const std::string_view sign = part.substr(at);
    const std::size_t width = unequal || sign.starts_with("==") ? 2 : 1;
    Term term{.equal = !unequal, .value = TRY(unescaped(sign.substr(width)))};
    std::string_view label = part.substr(0, at);
    if (label == "spec.host" && resource == Resource::kPods) label = "spec.nodeName";
    const auto found = std::find(known.begin(), known.end(), label);
    if (found == known.end()) {
      return Error{Code::kInvalid, fmt::format("field label not supported: {}", label)};
    }
    term.field = static_cast<std::size_t>(found - known.begin());
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool FieldSelector::matches(const Selectable& object) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return (object.fields[term.field] == term.value) == term.equal;
  });
}

}  // namespace corehold
