// SPDX-License-Identifier: Apache-2.0
//
// Sets of fields of an object, and the form in which Kubernetes stores them (FieldsV1): a
// tree whose edges are path elements as texts:
//   f:name                      a field of an object
//   k:{"name":"a"}              the element of a list with these keys
//   v:"a"                       the element of a set
//   i:2                         an element by its place
// A node may be a member itself, have members below it, or both.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"

namespace corehold {

using FieldPath = std::vector<std::string>;

class FieldSet {
 public:
  using Children = std::map<std::string, FieldSet, std::less<>>;

  bool is_member() const { return is_member_; }
  const Children& children() const { return children_; }
  // Neither a member nor any below it.
  bool empty() const { return !is_member_ && children_.empty(); }
  // Null when nothing with this element is in the set.
  const FieldSet* child(std::string_view element) const;
  bool has(const FieldPath& path) const;
  std::size_t size() const;

  void insert(const FieldPath& path);
  void make_member() { is_member_ = true; }
  // The node below `element`, made if need be. REQUIRES: the caller gives it a member.
  FieldSet& below(std::string_view element) { return children_[std::string(element)]; }

  // Members of either, of both, of this but not the other.
  FieldSet united(const FieldSet& other) const;
  FieldSet common(const FieldSet& other) const;
  FieldSet minus(const FieldSet& other) const;
  // Without the node of `path` and everything below it.
  FieldSet without_subtree(const FieldPath& path) const;

  // In the order of their elements.
  std::vector<FieldPath> paths() const;

  bool operator==(const FieldSet&) const = default;

 private:
  void collect(FieldPath& at, std::vector<FieldPath>& found) const;
  // Adds `node` unless nothing is in it.
  void add(const std::string& element, FieldSet node);

  bool is_member_ = false;
  Children children_{};
};

// FieldsV1.
boost::json::object to_json(const FieldSet& set);
// Fails with kInvalid for what is no FieldsV1, and deeper than kMaxFieldDepth.
Result<FieldSet> field_set_from_json(const boost::json::value& value);
inline constexpr std::size_t kMaxFieldDepth = 64;

// ".spec.containers[name=\"a\"].image", as messages show a path.
std::string path_text(const FieldPath& path);

}  // namespace corehold
