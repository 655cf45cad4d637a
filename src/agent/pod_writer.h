// SPDX-License-Identifier: Apache-2.0
//
// Changing pods through the API: create, replace, patch, delete. What a client wants is
// checked and becomes a command; the answer follows when the command has been carried out.
#pragma once

#include <boost/json/object.hpp>

#include "agent/catalogue.h"
#include "agent/http_target.h"
#include "agent/node_facts.h"
#include "agent/requests.h"
#include "agent/resource_path.h"
#include "agent/shell.h"
#include "agent/write_request.h"
#include "api/pod_rules.h"

namespace corehold {

// All must outlive the writer.
struct PodWriterParts {
  Shell& shell;
  const NodeFacts& facts;
  Catalogue& catalogue;
  Requests& requests;
  PodRules rules{};
};

class PodWriter {
 public:
  explicit PodWriter(const PodWriterParts& parts) : parts_(parts) {}

  void create(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);
  // PUT and PATCH, of the pod or a part of it.
  void update(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);
  void remove(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);
  // Every pod that the query selects.
  void remove_all(const HttpExchangePtr& exchange, const HttpTarget& target,
                  const ResourcePath& path);

 private:
  void store_new(WriteRequest request, boost::json::object object);
  void store_changed(WriteRequest request, const ObjectVersion& old, const Wanted& next);
  // The id for a command; the client is answered when the command has been carried out.
  RequestId answer_later(WriteRequest request, int status, const std::string& uid);
  void answer_now(const WriteRequest& request, int status, const std::string& uid);

  PodWriterParts parts_;
};

}  // namespace corehold
