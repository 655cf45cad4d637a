// SPDX-License-Identifier: Apache-2.0
//
// Which objects of a list or a watch are meant: by their labels (labelSelector) and by a few
// fields (fieldSelector). Grammar, meaning and error texts are those of the Kubernetes API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "api/serve/resource.h"
#include "base/result.h"

namespace corehold {

// What selectors look at, taken out of an object once.
struct Selectable {
  std::vector<std::pair<std::string, std::string>> labels{};  // by key
  std::vector<std::string> fields{};                          // one for each field label
};

Selectable selectable_of(Resource resource, const boost::json::object& object);

// One condition on the labels of an object.
struct LabelRequirement {
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist, kGreater, kLess };

  std::string key{};
  Operator how{};
  std::vector<std::string> values{};  // of kIn and kNotIn, sorted
  std::int64_t bound = 0;             // of kGreater and kLess
};

// "app=web,tier in (a, b),!old,cores>4": all must hold.
class LabelSelector {
 public:
  LabelSelector() = default;

  // Fails with kInvalid and the text of the API server.
  static Result<LabelSelector> parse(std::string_view text);

  bool matches(const Selectable& object) const;
  bool matches_all() const { return requirements_.empty(); }

 private:
  explicit LabelSelector(std::vector<LabelRequirement> requirements)
      : requirements_(std::move(requirements)) {}

  std::vector<LabelRequirement> requirements_{};
};

// "metadata.name=a,status.phase!=Failed": all must hold.
class FieldSelector {
 public:
  // Fails with kInvalid and the text of the API server, also for a field that objects of
  // this resource cannot be selected by.
  static Result<FieldSelector> parse(std::string_view text, Resource resource);

  bool matches(const Selectable& object) const;
  bool matches_all() const { return terms_.empty(); }

 private:
  struct Term {
    std::size_t field = 0;  // of Selectable::fields
    bool equal = true;
    std::string value{};
  };
  std::vector<Term> terms_{};
};

struct Selector {
  LabelSelector labels{};
  FieldSelector fields{};

  bool matches(const Selectable& object) const {
    return labels.matches(object) && fields.matches(object);
  }
  bool matches_all() const { return labels.matches_all() && fields.matches_all(); }
};

}  // namespace corehold
