// SPDX-License-Identifier: Apache-2.0
#include "node_api.h"

#include <sstream>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/serve/list_options.h"
#include "api/serve/media_type.h"
#include "api/status.h"

namespace corehold {
namespace {

namespace json = boost::json;

NodeAnswer refused(const ApiStatus& status) {
  return {.code = http_code(status), .body = to_json(status)};
}

NodeAnswer not_acceptable(const Error& error) {
  return refused(
      {.reason = StatusReason::kNotAcceptable, .message = error.message, .has_details = true});
}

std::string include_object(const RecordedCase& request) {
  const auto query = request.query();
  const auto found = query.find("includeObject");
  return found == query.end() ? "" : found->second;
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::stringstream text(path);
  for (std::string part; std::getline(text, part, '/');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

}  // namespace

NodeApi::NodeApi(std::uint64_t version) {
  for (const ResourceInfo& info : served_resources()) {
    logs_.emplace(info.resource, WatchLog(info.resource, version));
  }
}

void NodeApi::put(Resource resource, const json::value& object) {
  const std::string version(object.at("metadata").at("resourceVersion").as_string());
  log(resource).put(object.as_object(), std::stoull(version));
}

void NodeApi::advance(std::uint64_t version) {
  for (auto& [resource, log] : logs_) log.advance(version);
}

NodeAnswer NodeApi::get(const RecordedCase& request) const {
  std::vector<std::string> path = parts_of(request.path());
  const ApiStatus unknown{.reason = StatusReason::kNotFound,
                          .message = "the server could not find the requested resource",
                          .has_details = true};
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1") return refused(unknown);
  path.erase(path.begin(), path.begin() + 2);
  std::string namespace_name;
  if (path.size() > 2 && path[0] == "namespaces") {
    namespace_name = path[1];
    path.erase(path.begin(), path.begin() + 2);
  }
  const auto resource = resource_named(path[0]);
  if (!resource) return refused(unknown);
  const auto form = negotiate(request.accept(), Endpoint::kResource);
  if (!form) return not_acceptable(form.error());
  if (path.size() > 1) return one(*resource, namespace_name, path[1], request, *form);
  if (asks_for_watch(request.query())) return watch(*resource, namespace_name, request, *form);
  return list(*resource, namespace_name, request, *form);
}

NodeAnswer NodeApi::list(Resource resource, const std::string& namespace_name,
                         const RecordedCase& request, const AcceptedForm& form) const {
  const auto include = include_object_of(include_object(request));
  const auto view = view_of(form, *include, resource, AnswerShape::kList);
  if (!view) return not_acceptable(view.error());
  auto options = list_options(request.query(), resource);
  if (!options) return refused(options.error());
  options->namespace_name = namespace_name;
  const auto page = logs_.at(resource).list(*options);
  if (!page) return refused(page.error());
  return {.content_type = form.content_type,
          .body = json::parse(list_text(resource, page->items, page->metadata, *view, now))};
}

NodeAnswer NodeApi::watch(Resource resource, const std::string& namespace_name,
                          const RecordedCase& request, const AcceptedForm& form) const {
  auto options = watch_options(request.query(), resource);
  if (!options) return refused(options.error());
  options->namespace_name = namespace_name;
  const auto include = include_object_of(include_object(request));
  const auto view = view_of(form, *include, resource, AnswerShape::kOne);
  const WatchLog& log = logs_.at(resource);
  Watch watch = log.watch(*options, *view);
  json::array events;
  for (const WatchLine& line : log.take(watch, now).lines) events.push_back(json::parse(*line));
  return {.content_type = form.content_type, .body = std::move(events)};
}

NodeAnswer NodeApi::one(Resource resource, const std::string& namespace_name,
                        const std::string& name, const RecordedCase& request,
                        const AcceptedForm& form) const {
  const auto include = include_object_of(include_object(request));
  const auto view = view_of(form, *include, resource, AnswerShape::kOne);
  if (!view) return not_acceptable(view.error());
  const ObjectPtr object = logs_.at(resource).find(namespace_name, name);
  const std::string kind(info_of(resource).name);
  if (object == nullptr) {
    return refused({.reason = StatusReason::kNotFound,
                    .message = fmt::format("{} {:?} not found", kind, name),
                    .kind = kind,
                    .name = name});
  }
  return {.content_type = form.content_type, .body = json::parse(object_text(*object, *view, now))};
}

}  // namespace corehold
