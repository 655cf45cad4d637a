// SPDX-License-Identifier: Apache-2.0
//
// One version of an object as clients see it. Kept as text, which is a fifth of the size of
// the parsed object and what most answers consist of; what selectors ask is taken out before.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "api/serve/media_type.h"
#include "api/serve/resource.h"
#include "api/serve/selector.h"
#include "api/serve/table.h"
#include "base/result.h"

namespace corehold {

class ObjectVersion {
 public:
  // `object` without kind, apiVersion and resourceVersion, or with: they are replaced.
  ObjectVersion(Resource resource, boost::json::object object, std::uint64_t version);

  Resource resource() const { return resource_; }
  std::uint64_t version() const { return version_; }
  const std::string& namespace_name() const { return namespace_; }
  const std::string& name() const { return name_; }
  const Selectable& selectable() const { return selectable_; }

  // As JSON, without kind and apiVersion: how it stands in a list.
  const std::string& item() const { return item_; }
  // With them.
  std::string text() const;
  // The same parsed.
  boost::json::object parsed() const;
  // Whether the other says the same, but for the number of its version.
  bool is_same_but_version(const ObjectVersion& other) const;

 private:
  Resource resource_;
  std::uint64_t version_;
  std::string namespace_{};
  std::string name_{};
  Selectable selectable_{};
  std::string item_{};
};

// Shared by the list of what there is now, the log of changes, and pages and watches under
// way; whichever needs it longest keeps it.
using ObjectPtr = std::shared_ptr<const ObjectVersion>;

// In which form a client gets objects.
struct ObjectView {
  AnswerForm form = AnswerForm::kObject;
  std::string version{};  // of the form
  IncludeObject include = IncludeObject::kMetadata;

  bool operator==(const ObjectView&) const = default;
};

enum class AnswerShape { kOne, kList };

// The view a client has negotiated for one object, or a watch, or a list. Fails with kInvalid
// and the text for 406 when a list is asked for as one object or the other way round.
Result<ObjectView> view_of(const AcceptedForm& accepted, IncludeObject include, Resource resource,
                           AnswerShape shape);

// The body of an answer. `now` is for ages in tables; `head` is for watches.
std::string object_text(const ObjectVersion& object, const ObjectView& view,
                        std::chrono::milliseconds now, TableHead head = TableHead::kWith);
std::string list_text(Resource resource, std::span<const ObjectPtr> objects,
                      const ListMetadata& metadata, const ObjectView& view,
                      std::chrono::milliseconds now);

}  // namespace corehold
