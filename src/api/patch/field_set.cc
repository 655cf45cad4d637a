// SPDX-License-Identifier: Apache-2.0
#include "api/patch/field_set.h"

#include <algorithm>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"

namespace corehold {
namespace {

namespace json = boost::json;

// The text of the value in an element such as k:{"name":"a"}, as we write it ourselves, so
// that equal elements are equal texts. Empty when it is no element.
std::string canonical(std::string_view element) {
  if (element.size() < 2 || element[1] != ':') return {};
  const std::string_view rest = element.substr(2);
  if (element[0] == 'f') return std::string(element);
  if (element[0] == 'i') {
    const bool is_number =
        !rest.empty() && rest.size() < 10 &&
        std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
    return is_number ? std::string(element) : std::string();
  }
  if (element[0] != 'k' && element[0] != 'v') return {};
  json::error_code problem;
  const json::value value = json::parse(rest, problem);
  if (problem || (element[0] == 'k' && !value.is_object())) return {};
  if (element[0] == 'v') return "v:" + json::serialize(value);
  std::map<std::string_view, const json::value*> keys;
  for (const auto& member : value.get_object()) keys[member.key()] = &member.value();
  json::object sorted;
  for (const auto& [key, one] : keys) sorted[key] = *one;
  return "k:" + json::serialize(sorted);
}

Result<FieldSet> read_set(const json::value& value, std::size_t depth) {
  const json::object* object = value.if_object();
  if (object == nullptr) return Error{Code::kInvalid, "a set of fields must be an object"};
  if (depth > kMaxFieldDepth) return Error{Code::kInvalid, "a set of fields is too deep"};
  FieldSet set;
  for (const auto& member : *object) {
    if (member.key() == ".") {
      set.make_member();
      continue;
    }
    const std::string element = canonical(member.key());
    if (element.empty()) {
      return Error{Code::kInvalid,
                   fmt::format("{} is no element of a path of fields", shown(member.key()))};
    }
    FieldSet below = TRY(read_set(member.value(), depth + 1));
    // Nothing below: the element itself is meant.
    if (below.empty()) below.make_member();
    set.below(element) = std::move(below);
  }
  return set;
}

}  // namespace

const FieldSet* FieldSet::child(std::string_view element) const {
  const auto found = children_.find(element);
  return found == children_.end() ? nullptr : &found->second;
}

bool FieldSet::has(const FieldPath& path) const {
  const FieldSet* at = this;
  for (const std::string& element : path) {
    at = at->child(element);
    if (at == nullptr) return false;
  }
  return at->is_member_;
}

std::size_t FieldSet::size() const {
  std::size_t count = is_member_ ? 1 : 0;
  for (const auto& [element, node] : children_) count += node.size();
  return count;
}

void FieldSet::insert(const FieldPath& path) {
  FieldSet* at = this;
  for (const std::string& element : path) at = &at->children_[element];
  at->is_member_ = true;
}

void FieldSet::add(const std::string& element, FieldSet node) {
  if (!node.empty()) children_.insert_or_assign(element, std::move(node));
}

FieldSet FieldSet::united(const FieldSet& other) const {
  FieldSet result = *this;
  result.is_member_ = is_member_ || other.is_member_;
  for (const auto& [element, node] : other.children_) {
    const FieldSet* own = child(element);
    result.add(element, own == nullptr ? node : own->united(node));
  }
  return result;
}

FieldSet FieldSet::common(const FieldSet& other) const {
  FieldSet result;
  result.is_member_ = is_member_ && other.is_member_;
  for (const auto& [element, node] : children_) {
    if (const FieldSet* theirs = other.child(element)) result.add(element, node.common(*theirs));
  }
  return result;
}

FieldSet FieldSet::minus(const FieldSet& other) const {
  FieldSet result;
  result.is_member_ = is_member_ && !other.is_member_;
  for (const auto& [element, node] : children_) {
    const FieldSet* theirs = other.child(element);
    result.add(element, theirs == nullptr ? node : node.minus(*theirs));
  }
  return result;
}

FieldSet FieldSet::without_subtree(const FieldPath& path) const {
  if (path.empty()) return {};
  FieldSet result = *this;
  const auto found = result.children_.find(path.front());
  if (found == result.children_.end()) return result;
  FieldSet below = found->second.without_subtree({path.begin() + 1, path.end()});
  result.children_.erase(found);
  result.add(path.front(), std::move(below));
  return result;
}

void FieldSet::collect(FieldPath& at, std::vector<FieldPath>& found) const {
  if (is_member_) found.push_back(at);
  for (const auto& [element, node] : children_) {
    at.push_back(element);
    node.collect(at, found);
    at.pop_back();
  }
}

std::vector<FieldPath> FieldSet::paths() const {
  std::vector<FieldPath> found;
  FieldPath at;
  collect(at, found);
  return found;
}

json::object to_json(const FieldSet& set) {
  json::object object;
  // A member with nothing below it is known by its element alone.
  if (set.is_member() && !set.children().empty()) object["."] = json::object();
  for (const auto& [element, node] : set.children()) object[element] = to_json(node);
  return object;
}

Result<FieldSet> field_set_from_json(const json::value& value) { return read_set(value, 0); }

std::string path_text(const FieldPath& path) {
  std::string text;
  for (const std::string& element : path) {
    const std::string_view rest = std::string_view(element).substr(2);
    if (element[0] == 'f') {
      text += fmt::format(".{}", rest);
    } else if (element[0] == 'v') {
      text += fmt::format("[={}]", rest);
    } else if (element[0] == 'i') {
      text += fmt::format("[{}]", rest);
    } else {
      std::string keys;
      json::error_code problem;
      const json::value value = json::parse(rest, problem);
      CHECK(!problem && value.is_object());
      for (const auto& member : value.get_object()) {
        keys += fmt::format("{}{}={}", keys.empty() ? "" : ",", std::string_view(member.key()),
                            json::serialize(member.value()));
      }
      text += fmt::format("[{}]", keys);
    }
  }
  return text;
}

}  // namespace corehold
