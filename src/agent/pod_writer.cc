// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_writer.h"

#include <memory>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent/answer.h"
#include "agent/delete_options.h"
#include "agent/feature_rules.h"
#include "agent/new_pod.h"
#include "agent/static_pod_file.h"
#include "agent/view.h"
#include "api/json_erase.h"
#include "api/json_look.h"
#include "api/list_options.h"
#include "api/object_rules.h"
#include "api/pod_create.h"
#include "api/pod_update.h"
#include "pod/pod_json.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kPods = "pods";
constexpr int kSuffix = 5;

ApiStatus invalid(const std::string& name, const std::string& field, const std::string& text) {
  return {.reason = StatusReason::kInvalid,
          .message = fmt::format("Pod \"{}\" is invalid: {}: {}", name, field, text),
          .kind = "Pod",
          .name = name,
          .causes = {{.reason = "FieldValueInvalid", .message = text, .field = field}}};
}

ApiStatus already_exists(const std::string& name) {
  return {.reason = StatusReason::kAlreadyExists,
          .message = fmt::format("{} \"{}\" already exists", kPods, name),
          .kind = std::string(kPods),
          .name = name};
}

// What is said to those who would change or delete a static pod; no value: it is none.
std::optional<ApiStatus> refusal_of(const PodState* pod) {
  if (pod == nullptr) return std::nullopt;
  const auto why = static_pod_refusal(pod->record);
  if (!why) return std::nullopt;
  return forbidden(kPods, pod->record.pod.name, *why);
}

// The pod that the manager is given: status is the node's own, but for conditions that
// somebody else has written.
Result<Pod> stored_pod(json::object object) {
  json::array conditions = look_array(object, {"status", "conditions"});
  erase_members(object, {"status"});
  if (!conditions.empty()) object["status"] = json::object{{"conditions", std::move(conditions)}};
  return pod_from_json(std::move(object));
}

// A pod to which nothing has happened yet.
PodState untouched(Pod pod) {
  PodState state{.record = {.pod = std::move(pod), .created_at = wall_now()}};
  for (const Container* container : in_starting_order(state.record.pod)) {
    state.record.containers.try_emplace(container->name);
    state.containers.try_emplace(container->name);
  }
  return state;
}

// As it would be after a change of the spec that is only tried.
void raise_generation(json::object& pod) {
  pod["metadata"].as_object()["generation"] = look_number(pod, {"metadata", "generation"}) + 1;
}

PodPath path_of(const ResourcePath& path) {
  if (path.subresource == "status") return PodPath::kStatus;
  return path.subresource == "resize" ? PodPath::kResize : PodPath::kObject;
}

}  // namespace

void PodWriter::answer_now(const WriteRequest& request, int status, const std::string& uid) {
  parts_.catalogue.follow(parts_.shell.node());
  const auto pod = parts_.shell.node().pods.find(uid);
  if (pod != parts_.shell.node().pods.end()) {
    const Pod& own = pod->second.record.pod;
    const ObjectPtr object =
        parts_.catalogue.log(Resource::kPods).find(own.namespace_name, own.name);
    if (object != nullptr) return answer_object(request, status, *object);
  }
  answer_json(
      *request.exchange, status,
      {{"kind", "Status"},
       {"apiVersion", "v1"},
       {"metadata", json::object()},
       {"status", "Success"},
       {"details", json::object{{"name", request.path.name}, {"kind", kPods}, {"uid", uid}}}});
}

RequestId PodWriter::answer_later(WriteRequest request, int status, const std::string& uid) {
  return parts_.requests.add(
      [this, status, uid, request = std::move(request)](const std::optional<Error>& error) {
        if (error) return answer_error(*request.exchange, reason_of(error->code), *error);
        answer_now(request, status, uid);
      });
}

void PodWriter::create(const HttpExchangePtr& exchange, const HttpTarget& target,
                       const ResourcePath& path) {
  auto request = WriteRequest::read(exchange, target, path);
  if (!request) return answer_status(*exchange, request.error());
  auto body = read_body(*request);
  if (!body) return answer_status(*exchange, body.error());
  const std::string suffix = random_suffix(kSuffix);
  auto object =
      prepare_new_pod(*body, {.namespace_name = path.namespace_name, .name_suffix = suffix},
                      parts_.rules, request->warnings);
  if (!object) return answer_status(*exchange, object.error());
  json::object written = record_update("Pod", {}, *std::move(object), request->writer);
  store_new(*std::move(request), std::move(written));
}

void PodWriter::store_new(WriteRequest request, json::object object) {
  HttpExchange& exchange = *request.exchange;
  auto pod = stored_pod(std::move(object));
  if (!pod) return answer_error(exchange, StatusReason::kBadRequest, pod.error());
  if (!dns_label_problems(pod->namespace_name).empty()) {
    return answer_status(
        exchange, invalid(pod->name, "metadata.namespace",
                          fmt::format("{:?} is no name of a namespace", pod->namespace_name)));
  }
  const std::string_view node = look_text(pod->raw, {"spec", "nodeName"});
  if (!node.empty() && node != parts_.facts.name) {
    return answer_status(
        exchange, invalid(pod->name, "spec.nodeName",
                          fmt::format("this is the API of node {:?} alone", parts_.facts.name)));
  }
  if (const auto accepted = accept_new_pod(*pod); !accepted) {
    return answer_status(exchange, invalid(pod->name, "spec", accepted.error().message));
  }
  if (find_pod(parts_.shell.node(), pod->namespace_name, pod->name) != nullptr) {
    return answer_status(exchange, already_exists(pod->name));
  }
  request.path.name = pod->name;
  if (request.is_try) {
    const PodState shown = untouched(*std::move(pod));
    return answer_object(request, 201,
                         ObjectVersion(Resource::kPods, pod_json(shown, parts_.facts, 0), 0));
  }
  const std::string uid = pod->uid;
  const RequestId id = answer_later(std::move(request), 201, uid);
  parts_.shell.submit(CreatePod{.pod = *std::move(pod), .request = id});
}

void PodWriter::update(const HttpExchangePtr& exchange, const HttpTarget& target,
                       const ResourcePath& path) {
  auto request = WriteRequest::read(exchange, target, path);
  if (!request) return answer_status(*exchange, request.error());
  const ObjectPtr old = parts_.catalogue.log(path.resource).find(path.namespace_name, path.name);
  const bool is_apply_of_new = old == nullptr && path.subresource.empty() &&
                               exchange->request().method == "PATCH" &&
                               patch_kind(exchange->request().content_type) == PatchKind::kApply;
  if (old == nullptr && !is_apply_of_new) return answer_status(*exchange, no_such_object(path));
  const json::object current = old == nullptr ? json::object() : old->parsed();
  const auto next = wanted(*request, current);
  if (!next) return answer_status(*exchange, next.error());
  if (old != nullptr) return store_changed(*std::move(request), *old, *next);
  auto object = prepare_new_pod(next->object, {.namespace_name = path.namespace_name}, parts_.rules,
                                request->warnings);
  if (!object) return answer_status(*exchange, object.error());
  store_new(*std::move(request), *std::move(object));
}

void PodWriter::store_changed(WriteRequest request, const ObjectVersion& old, const Wanted& next) {
  HttpExchange& exchange = *request.exchange;
  const PodState* known = find_pod(parts_.shell.node(), old.namespace_name(), old.name());
  if (const auto refusal = refusal_of(known)) return answer_status(exchange, *refusal);
  const json::object current = old.parsed();
  auto prepared =
      prepare_pod_update(current, next.object, {.path = path_of(request.path), .verb = next.verb},
                         parts_.rules, request.warnings);
  if (!prepared) return answer_status(exchange, prepared.error());
  json::object written = with_writer(request, next, current, *std::move(prepared));
  // Who owns what may change though nothing else does, by server-side apply.
  const bool is_same = next.is_apply ? written == current : same_object("Pod", current, written);
  if (is_same) return answer_object(request, 200, old);
  const AskedUpdate asked{.current = current,
                          .next = written,
                          .allocated = known == nullptr ? nullptr : &known->record.pod,
                          .subresource = request.path.subresource};
  if (const auto refused = refuse_update(parts_.facts, asked)) {
    return answer_status(exchange, *refused);
  }
  const bool is_new_spec = changes_spec(current, written);
  if (request.is_try) {
    if (is_new_spec) raise_generation(written);
    return answer_object(request, 200,
                         ObjectVersion(Resource::kPods, std::move(written), old.version()));
  }
  auto pod = stored_pod(std::move(written));
  if (!pod) return answer_error(exchange, StatusReason::kBadRequest, pod.error());
  const std::string uid = pod->uid;
  const bool is_resize = path_of(request.path) == PodPath::kResize && is_new_spec;
  const RequestId id = answer_later(std::move(request), 200, uid);
  if (is_resize) return parts_.shell.submit(ResizePod{.pod = *std::move(pod), .request = id});
  parts_.shell.submit(UpdatePod{.pod = *std::move(pod), .is_new_spec = is_new_spec, .request = id});
}

void PodWriter::remove(const HttpExchangePtr& exchange, const HttpTarget& target,
                       const ResourcePath& path) {
  auto request = WriteRequest::read(exchange, target, path);
  if (!request) return answer_status(*exchange, request.error());
  const auto options = delete_options(exchange->request(), target);
  if (!options) return answer_status(*exchange, options.error());
  const ObjectPtr object =
      parts_.catalogue.log(Resource::kPods).find(path.namespace_name, path.name);
  const PodState* pod = find_pod(parts_.shell.node(), path.namespace_name, path.name);
  if (pod == nullptr || object == nullptr) return answer_status(*exchange, no_such_object(path));
  if (const auto refusal = refusal_of(pod)) return answer_status(*exchange, *refusal);
  const std::string uid = pod->record.pod.uid;
  if (const auto met = check_preconditions(*options, "Pod", *object, uid); !met) {
    return answer_status(*exchange, met.error());
  }
  if (request->is_try || options->is_try) return answer_object(*request, 200, *object);
  const RequestId id = answer_later(*std::move(request), 200, uid);
  parts_.shell.submit(DeletePod{.uid = uid, .grace = options->grace, .request = id});
}

void PodWriter::remove_all(const HttpExchangePtr& exchange, const HttpTarget& target,
                           const ResourcePath& path) {
  const auto options = delete_options(exchange->request(), target);
  if (!options) return answer_status(*exchange, options.error());
  auto selected = list_options(target.query, path.resource);
  if (!selected) return answer_status(*exchange, selected.error());
  const auto how = presentation_of(exchange->request(), target, path.resource, AnswerShape::kList);
  if (!how) return answer_status(*exchange, how.error());
  selected->namespace_name = path.namespace_name;
  const auto page = parts_.catalogue.log(path.resource).list(*selected);
  if (!page) return answer_status(*exchange, page.error());
  const bool is_try = options->is_try || target.parameter("dryRun") == "All";
  for (const ObjectPtr& object : page->items) {
    const PodState* pod = find_pod(parts_.shell.node(), object->namespace_name(), object->name());
    if (pod == nullptr || is_try || refusal_of(pod)) continue;
    parts_.shell.submit(DeletePod{.uid = pod->record.pod.uid, .grace = options->grace});
  }
  exchange->answer(
      {.content_type = how->content_type,
       .body = list_text(path.resource, page->items, page->metadata, how->view, wall_now())});
}

}  // namespace corehold
