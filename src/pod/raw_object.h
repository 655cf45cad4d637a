// SPDX-License-Identifier: Apache-2.0
//
// A JSON object that its copies share until one of them is changed. A pod is kept by both halves of
// the manager, by the runtime and in effects on their way; the object that the pod was read from is
// most of its size, and hardly ever changes.
#pragma once

#include <memory>
#include <utility>

#include <boost/json/object.hpp>

namespace corehold {

class RawObject {
 public:
  RawObject() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a pod's raw object is assigned like any other
  RawObject(boost::json::object object)
      : object_(object.empty() ? nullptr
                               : std::make_shared<boost::json::object>(std::move(object))) {}

  // Valid until this object is assigned to or changed by edit().
  const boost::json::object& get() const { return object_ ? *object_ : empty_object(); }
  // NOLINTNEXTLINE(google-explicit-constructor): it is read like any other object
  operator const boost::json::object&() const { return get(); }
  const boost::json::object* operator->() const { return &get(); }

  // To change this object alone: copies keep what they have.
  boost::json::object& edit() {
    if (!object_) object_ = std::make_shared<boost::json::object>();
    // A count of one cannot grow: only this object could be copied from.
    if (object_.use_count() != 1) object_ = std::make_shared<boost::json::object>(*object_);
    return *object_;
  }

  // Moves the object out, or copies it when others have it too.
  boost::json::object take() && {
    boost::json::object taken = std::move(edit());
    object_.reset();
    return taken;
  }

  bool operator==(const RawObject& other) const {
    return object_ == other.object_ || get() == other.get();
  }

 private:
  static const boost::json::object& empty_object() {
    static const boost::json::object kEmpty;
    return kEmpty;
  }

  std::shared_ptr<boost::json::object> object_{};  // shared by copies; null: empty
};

}  // namespace corehold
