// SPDX-License-Identifier: Apache-2.0
//
// The Node object: what the agent says of the machine, and what clients have written onto it
// (labels, annotations, unschedulable, conditions of their own), which is kept in the store.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/node/node_object.h"
#include "base/result.h"
#include "manager/time.h"

namespace corehold {

class NodeDocument {
 public:
  // The document of a node that starts for the first time.
  NodeDocument(std::string uid, WallTime created_at);
  // Reads the result of text(). Fails with kCorrupt.
  static Result<NodeDocument> parse(std::string_view text);

  std::string text() const;

  // The Node. Fields that `view` sets are the agent's own and win.
  boost::json::object object(NodeView view) const;

  // Takes over the fields that clients may write from a Node that was made from object().
  void take(const boost::json::object& node);

  bool is_cordoned() const { return cordoned_; }

 private:
  NodeDocument() = default;

  std::string uid_{};
  WallTime created_at_{};
  bool cordoned_ = false;
  boost::json::object labels_{};
  boost::json::object annotations_{};
  boost::json::array conditions_{};
  boost::json::array managed_fields_{};
};

}  // namespace corehold
