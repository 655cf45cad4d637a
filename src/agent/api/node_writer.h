// SPDX-License-Identifier: Apache-2.0
//
// Changing the node through the API: PUT and PATCH of it and of its status.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>

#include "agent/api/resource_path.h"
#include "agent/api/write_request.h"
#include "agent/api/write_turns.h"
#include "agent/node/node_document.h"
#include "agent/node/node_facts.h"
#include "agent/shell/shell.h"
#include "agent/view/catalogue.h"
#include "serve/http_target.h"

namespace corehold {

// All must outlive the writer.
struct NodeWriterParts {
  boost::asio::io_context& loop;
  Shell& shell;
  const NodeFacts& facts;
  Catalogue& catalogue;
  NodeDocument& document;
  // Calls back when the document is in the store, or could not be stored.
  std::function<void(const NodeDocument&, std::function<void(const std::optional<Error>&)>)> save{};
};

class NodeWriter {
 public:
  explicit NodeWriter(NodeWriterParts parts);

  // Waits while an earlier change is being saved.
  void update(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);

 private:
  void change(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);
  void store(const WriteRequest& request, const ObjectVersion& old,
             const boost::json::object& current, const boost::json::object& written);
  void saved(const WriteRequest& request, NodeDocument document);

  NodeWriterParts parts_;
  WriteTurns turns_;
  bool is_saving_ = false;
};

}  // namespace corehold
