// SPDX-License-Identifier: Apache-2.0
//
// Reading through the API: one object, a list, a watch, in the form that the client prefers.
#pragma once

#include "agent/api/resource_path.h"
#include "agent/api/watchers.h"
#include "agent/view/catalogue.h"
#include "serve/http_target.h"
#include "sys/http/http_server.h"

namespace corehold {

class ObjectReader {
 public:
  // Both must outlive the reader.
  ObjectReader(Catalogue& catalogue, Watchers& watchers)
      : catalogue_(catalogue), watchers_(watchers) {}

  // A GET of what the path names; a subresource is answered with its object.
  void answer(const HttpExchangePtr& exchange, const HttpTarget& target, const ResourcePath& path);

 private:
  void answer_one(HttpExchange& exchange, const HttpTarget& target, const ResourcePath& path);
  void answer_list(HttpExchange& exchange, const HttpTarget& target, const ResourcePath& path);
  void open_watch(const HttpExchangePtr& exchange, const HttpTarget& target,
                  const ResourcePath& path);

  Catalogue& catalogue_;
  Watchers& watchers_;
};

// The form that the client asks for in its headers and query. Fails with 406 and 400.
struct Presentation {
  ObjectView view{};
  std::string content_type{};
};
ApiResult<Presentation> presentation_of(const HttpRequest& request, const HttpTarget& target,
                                        Resource resource, AnswerShape shape);

// 404: there is no object of that name.
ApiStatus no_such_object(const ResourcePath& path);

}  // namespace corehold
