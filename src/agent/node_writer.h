// SPDX-License-Identifier: Apache-2.0
//
// Changing the node through the API: PUT and PATCH of it and of its status.
#pragma once

#include <functional>

#include "agent/catalogue.h"
#include "agent/http_target.h"
#include "agent/node_document.h"
#include "agent/node_facts.h"
#include "agent/resource_path.h"
#include "agent/shell.h"
#include "agent/write_request.h"

namespace corehold {

// All must outlive the writer.
struct NodeWriterParts {
  Shell& shell;
  const NodeFacts& facts;
  Catalogue& catalogue;
  NodeDocument& document;
  std::function<Result<void>(const NodeDocument&)> save{};
};

class NodeWriter {
 public:
  explicit NodeWriter(NodeWriterParts parts) : parts_(std::move(parts)) {}

  void update(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);

 private:
  void store(const WriteRequest& request, const ObjectVersion& old,
             const boost::json::object& written);

  NodeWriterParts parts_;
};

}  // namespace corehold
