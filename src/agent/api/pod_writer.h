// SPDX-License-Identifier: Apache-2.0
//
// Changing pods through the API: create, replace, patch, delete. A request is checked and
// becomes a command; the answer follows when the command has been carried out.
#pragma once

#include <string>

#include <boost/asio/io_context.hpp>

#include "agent/api/resource_path.h"
#include "agent/api/write_request.h"
#include "agent/api/write_turns.h"
#include "agent/node/node_facts.h"
#include "agent/shell/requests.h"
#include "agent/shell/shell.h"
#include "agent/view/catalogue.h"
#include "agent/view/pod_names.h"
#include "api/pod/pod_rules.h"
#include "serve/http_target.h"

namespace corehold {

// All must outlive the writer.
struct PodWriterParts {
  boost::asio::io_context& loop;
  Shell& shell;
  const NodeFacts& facts;
  Catalogue& catalogue;
  const PodNames& names;
  Requests& requests;
  PodRules rules{};
};

class PodWriter {
 public:
  explicit PodWriter(const PodWriterParts& parts);

  // After each turn of the shell.
  void look() { turns_.look(); }

  void create(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);
  // PUT and PATCH, of the pod or a part of it. Waits while the store has yet to answer about an
  // earlier change of the pod.
  void update(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);
  void remove(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);
  // Every pod that the query selects.
  void remove_all(const HttpExchangePtr& exchange, const HttpTarget& target,
                  const ResourcePath& path);

 private:
  bool can_change(const std::string& pod) const;
  void update_now(const HttpExchangePtr& exchange, const HttpTarget& target,
                  const ResourcePath& path);
  void store_new(WriteRequest request, Pod pod);
  void change(WriteRequest request, const ObjectVersion& old);
  // The id for a command; the client is answered when the command has been carried out.
  RequestId answer_later(WriteRequest request, int status, const std::string& uid);
  void answer_now(const WriteRequest& request, int status, const std::string& uid);

  PodWriterParts parts_;
  WriteTurns turns_;  // by namespace/name
};

}  // namespace corehold
