// SPDX-License-Identifier: Apache-2.0
#include "agent/api/object_reader.h"

#include <utility>

#include <fmt/format.h>

#include "api/serve/list_options.h"
#include "api/serve/media_type.h"
#include "api/serve/object_version.h"
#include "serve/answer.h"
#include "sys/clock.h"

namespace corehold {

ApiStatus no_such_object(const ResourcePath& path) {
  const std::string resource(info_of(path.resource).name);
  return {.reason = StatusReason::kNotFound,
          .message = fmt::format("{} {:?} not found", resource, path.name),
          .kind = resource,
          .name = path.name};
}

ApiResult<Presentation> presentation_of(const HttpRequest& request, const HttpTarget& target,
                                        Resource resource, AnswerShape shape) {
  const auto not_acceptable = [](const Error& error) {
    return ApiStatus{
        .reason = StatusReason::kNotAcceptable, .message = error.message, .has_details = true};
  };
  const auto form = negotiate(request.accept, Endpoint::kResource);
  if (!form) return not_acceptable(form.error());
  const auto include = include_object_of(target.parameter("includeObject"));
  if (!include) {
    return ApiStatus{.reason = StatusReason::kBadRequest, .message = include.error().message};
  }
  auto view = view_of(*form, *include, resource, shape);
  if (!view) return not_acceptable(view.error());
  return Presentation{.view = *std::move(view), .content_type = form->content_type};
}

void ObjectReader::answer(const HttpExchangePtr& exchange, const HttpTarget& target,
                          const ResourcePath& path) {
  if (!path.name.empty()) return answer_one(*exchange, target, path);
  if (asks_for_watch(target.query)) return open_watch(exchange, target, path);
  answer_list(*exchange, target, path);
}

void ObjectReader::answer_one(HttpExchange& exchange, const HttpTarget& target,
                              const ResourcePath& path) {
  const auto how = presentation_of(exchange.request(), target, path.resource, AnswerShape::kOne);
  if (!how) return answer_status(exchange, how.error());
  const ObjectPtr object = catalogue_.log(path.resource).find(path.namespace_name, path.name);
  if (object == nullptr) return answer_status(exchange, no_such_object(path));
  exchange.answer(
      {.content_type = how->content_type, .body = object_text(*object, how->view, wall_now())});
}

void ObjectReader::answer_list(HttpExchange& exchange, const HttpTarget& target,
                               const ResourcePath& path) {
  const auto how = presentation_of(exchange.request(), target, path.resource, AnswerShape::kList);
  if (!how) return answer_status(exchange, how.error());
  auto options = list_options(target.query, path.resource);
  if (!options) return answer_status(exchange, options.error());
  options->namespace_name = path.namespace_name;
  const auto page = catalogue_.log(path.resource).list(*options);
  if (!page) return answer_status(exchange, page.error());
  exchange.answer(
      {.content_type = how->content_type,
       .body = list_text(path.resource, page->items, page->metadata, how->view, wall_now())});
}

void ObjectReader::open_watch(const HttpExchangePtr& exchange, const HttpTarget& target,
                              const ResourcePath& path) {
  auto how = presentation_of(exchange->request(), target, path.resource, AnswerShape::kOne);
  if (!how) return answer_status(*exchange, how.error());
  auto options = watch_options(target.query, path.resource);
  if (!options) return answer_status(*exchange, options.error());
  options->namespace_name = path.namespace_name;
  watchers_.open(exchange, catalogue_.log(path.resource), *std::move(options), std::move(how->view),
                 how->content_type);
}

}  // namespace corehold
