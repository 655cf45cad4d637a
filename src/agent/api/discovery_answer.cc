// SPDX-License-Identifier: Apache-2.0
#include "agent/api/discovery_answer.h"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/serve/media_type.h"
#include "api/serve/openapi.h"
#include "serve/answer.h"

namespace corehold {
namespace {

namespace json = boost::json;

// The default of listen.address. Clients have the address already, or they would not ask.
constexpr std::string_view kAddress = "127.0.0.1:10270";

HttpResponse tagged(std::string content_type, std::string body, const HttpRequest& request) {
  const std::string etag = etag_of(body);
  HttpResponse response{
      .content_type = std::move(content_type),
      .body = std::move(body),
      .headers = {{"Cache-Control", "public"}, {"Etag", etag}, {"Vary", "Accept"}}};
  if (etag_matches(request.if_none_match, etag)) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

// /api and /apis have two forms.
HttpResponse discovery(bool is_core, const HttpRequest& request) {
  const auto form = negotiate(request.accept, Endpoint::kDiscovery);
  if (!form) {
    return response_of({.reason = StatusReason::kNotAcceptable,
                        .message = form.error().message,
                        .has_details = true});
  }
  if (form->form == AnswerForm::kAggregatedDiscovery) {
    const json::object all =
        is_core ? aggregated_core_json(form->version) : aggregated_groups_json(form->version);
    return tagged(form->content_type, json::serialize(all), request);
  }
  return response_of(200, is_core ? api_versions_json(kAddress) : api_group_list_json());
}

std::string joined(const std::vector<std::string>& path) {
  return fmt::format("{}", fmt::join(path, "/"));
}

}  // namespace

bool is_discovery(const std::vector<std::string>& path) {
  const std::string text = joined(path);
  return text == "api" || text == "apis" || text == "api/v1" || text == "apis/corehold.dev" ||
         text == "apis/corehold.dev/v1alpha1" || text == "openapi/v3" ||
         text == "openapi/v3/api/v1" || text == "version";
}

HttpResponse discovery_answer(const std::vector<std::string>& path, const HttpRequest& request,
                              const ServerVersion& version) {
  const std::string text = joined(path);
  if (text == "api" || text == "apis") return discovery(text == "api", request);
  if (text == "api/v1") return response_of(200, core_resource_list_json());
  if (text == "apis/corehold.dev") return response_of(200, own_group_json());
  if (text == "apis/corehold.dev/v1alpha1") return response_of(200, own_resource_list_json());
  if (text == "version") return response_of(200, version_json(version));
  const json::object document = text == "openapi/v3" ? openapi_index_json() : openapi_core_json();
  return tagged("application/json", json::serialize(document), request);
}

}  // namespace corehold
