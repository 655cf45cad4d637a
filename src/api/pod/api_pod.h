// SPDX-License-Identifier: Apache-2.0
//
// A pod on its way through the API: its JSON and the model that was read from it, made together
// and only once. What prepares, compares or refuses a pod takes an ApiPod, so that nothing on
// the way to the manager reads it a second time.
#pragma once

#include <utility>

#include <boost/json/object.hpp>

#include "api/patch/managed_fields.h"
#include "api/status.h"
#include "base/result.h"
#include "pod/pod.h"

namespace corehold {

class ApiPod {
 public:
  // The model of metadata and spec. Status is kept in the JSON and not read: it is the node's
  // to say. Fails with kInvalid as pod_from_json() does.
  static Result<ApiPod> read(boost::json::object object) { return take(object); }
  // The same; an object that cannot be read is left where it is.
  static Result<ApiPod> take(boost::json::object& object);

  // Status, managedFields and all.
  const boost::json::object& json() const { return pod_.raw; }
  // Its `raw` is json().
  const Pod& pod() const { return pod_; }

  // Neither is part of the model: managedFields that say what `writer` changed from `live`
  // (record_update()), and the status of a pod to which nothing has happened yet.
  void record_writer(const boost::json::object& live, const FieldWriter& writer);
  void set_new_status();

  boost::json::object take_json() && { return std::move(pod_.raw).take(); }
  // What the manager is given: of the status only the conditions are left, some of which others
  // than the node may have written.
  Pod take_stored() &&;

 private:
  explicit ApiPod(Pod pod) : pod_(std::move(pod)) {}

  Pod pod_;
};

// 400: what passes for a pod of Kubernetes and yet is none that can be run.
ApiStatus unreadable_pod(const Error& error);

}  // namespace corehold
