// SPDX-License-Identifier: Apache-2.0
#include "agent/api/pod_writer.h"

#include <memory>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent/api/delete_options.h"
#include "agent/node/feature_rules.h"
#include "agent/static/static_pod_file.h"
#include "agent/view/view.h"
#include "api/json/json_look.h"
#include "api/pod/pod_create.h"
#include "api/pod/pod_update.h"
#include "api/serve/list_options.h"
#include "serve/answer.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kPods = "pods";
constexpr int kSuffix = 5;

ApiStatus already_exists(const std::string& name) {
  return {.reason = StatusReason::kAlreadyExists,
          .message = fmt::format("{} \"{}\" already exists", kPods, name),
          .kind = std::string(kPods),
          .name = name};
}

// The refusal of a change or deletion of a static pod; no value: the pod is not static.
std::optional<ApiStatus> refusal_of(const RunPod* pod) {
  if (pod == nullptr) return std::nullopt;
  const auto why = static_pod_refusal(pod->record);
  if (!why) return std::nullopt;
  return forbidden(kPods, pod->record.pod.name, *why);
}

// A pod to which nothing has happened yet.
RunPod untouched(Pod pod) {
  RunPod state{.record = {.pod = std::move(pod), .created_at = wall_now()}};
  for (const Container* container : in_starting_order(state.record.pod)) {
    state.record.containers.try_emplace(container->name);
    state.containers.try_emplace(container->name);
  }
  return state;
}

// A dry run shows the generation that the change of the spec would give.
void raise_generation(json::object& pod) {
  pod["metadata"].as_object()["generation"] = look_number(pod, {"metadata", "generation"}) + 1;
}

PodPath path_of(const ResourcePath& path) {
  if (path.subresource == "status") return PodPath::kStatus;
  return path.subresource == "resize" ? PodPath::kResize : PodPath::kObject;
}

}  // namespace

PodWriter::PodWriter(const PodWriterParts& parts)
    : parts_(parts),
      turns_(parts.loop, [this](const std::string& pod) { return can_change(pod); }) {}

void PodWriter::answer_now(const WriteRequest& request, int status, const std::string& uid) {
  // The reply is an effect of a step whose pods the catalogue has not rendered yet, and the answer
  // shows this pod.
  parts_.catalogue.follow(parts_.shell.node(), {&uid, 1});
  const auto pod = parts_.shell.node().running.pods.find(uid);
  if (pod != parts_.shell.node().running.pods.end()) {
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
  auto pod = prepare_new_pod(
      *std::move(body),
      {.namespace_name = path.namespace_name, .name_suffix = suffix, .writer = &request->writer},
      parts_.rules, request->warnings);
  if (!pod) return answer_status(*exchange, pod.error());
  store_new(*std::move(request), std::move(*pod).take_stored());
}

void PodWriter::store_new(WriteRequest request, Pod pod) {
  HttpExchange& exchange = *request.exchange;
  pod.uid = random_uuid();
  if (parts_.names.find(parts_.shell.node(), pod.namespace_name, pod.name) != nullptr) {
    return answer_status(exchange, already_exists(pod.name));
  }
  request.path.name = pod.name;
  if (request.is_try) {
    const RunPod shown = untouched(std::move(pod));
    return answer_object(
        request, 201,
        ObjectVersion(Resource::kPods, pod_json(shown, PlacedPod{}, parts_.facts, 0), 0));
  }
  const std::string uid = pod.uid;
  const RequestId id = answer_later(std::move(request), 201, uid);
  parts_.shell.submit(CreatePod{.pod = std::move(pod), .request = id});
}

void PodWriter::update(const HttpExchangePtr& exchange, const HttpTarget& target,
                       const ResourcePath& path) {
  turns_.take(fmt::format("{}/{}", path.namespace_name, path.name),
              [this, exchange, target, path] { update_now(exchange, target, path); });
}

// While the store fails, writes do not wait for it: the manager refuses the change of the pod.
bool PodWriter::can_change(const std::string& pod) const {
  const std::size_t slash = pod.find('/');
  const RunPod* found =
      parts_.names.find(parts_.shell.node(), pod.substr(0, slash), pod.substr(slash + 1));
  if (found == nullptr) return true;
  const StoreState& store = found->store;
  return store.is_saved() || store.attempt.is_waiting() || store.is_forgetting();
}

void PodWriter::update_now(const HttpExchangePtr& exchange, const HttpTarget& target,
                           const ResourcePath& path) {
  auto request = WriteRequest::read(exchange, target, path);
  if (!request) return answer_status(*exchange, request.error());
  const ObjectPtr old = parts_.catalogue.log(path.resource).find(path.namespace_name, path.name);
  const bool is_apply_of_new = old == nullptr && path.subresource.empty() &&
                               exchange->request().method == "PATCH" &&
                               patch_kind(exchange->request().content_type) == PatchKind::kApply;
  if (old == nullptr && !is_apply_of_new) return answer_status(*exchange, no_such_object(path));
  if (old != nullptr) return change(*std::move(request), *old);
  auto next = wanted(*request, {});
  if (!next) return answer_status(*exchange, next.error());
  auto pod = prepare_new_pod(std::move(next->object), {.namespace_name = path.namespace_name},
                             parts_.rules, request->warnings);
  if (!pod) return answer_status(*exchange, pod.error());
  store_new(*std::move(request), std::move(*pod).take_stored());
}

void PodWriter::change(WriteRequest request, const ObjectVersion& old) {
  HttpExchange& exchange = *request.exchange;
  const auto current = ApiPod::read(old.parsed());
  if (!current) return answer_error(exchange, StatusReason::kInternal, current.error());
  auto next = wanted(request, current->json());
  if (!next) return answer_status(exchange, next.error());
  const RunPod* known = parts_.names.find(parts_.shell.node(), old.namespace_name(), old.name());
  if (const auto refusal = refusal_of(known)) return answer_status(exchange, *refusal);
  const PodPath path = path_of(request.path);
  auto change = prepare_pod_update(
      *current, std::move(next->object),
      {.path = path, .verb = next->verb, .writer = next->is_apply ? nullptr : &request.writer},
      parts_.rules, request.warnings);
  if (!change) return answer_status(exchange, change.error());
  if (change->is_same) return answer_object(request, 200, old);
  const AskedUpdate asked{.current = current->pod(),
                          .next = change->pod.pod(),
                          .allocated = known == nullptr ? nullptr : &known->record.pod,
                          .subresource = request.path.subresource};
  if (const auto refused = refuse_update(parts_.facts, asked)) {
    return answer_status(exchange, *refused);
  }
  if (request.is_try) {
    json::object written = std::move(change->pod).take_json();
    if (change->is_new_spec) raise_generation(written);
    return answer_object(request, 200,
                         ObjectVersion(Resource::kPods, std::move(written), old.version()));
  }
  Pod pod = std::move(change->pod).take_stored();
  const RequestId id = answer_later(std::move(request), 200, pod.uid);
  if (path == PodPath::kResize && change->is_new_spec) {
    return parts_.shell.submit(ResizePod{.pod = std::move(pod), .request = id});
  }
  parts_.shell.submit(
      UpdatePod{.pod = std::move(pod), .is_new_spec = change->is_new_spec, .request = id});
}

void PodWriter::remove(const HttpExchangePtr& exchange, const HttpTarget& target,
                       const ResourcePath& path) {
  auto request = WriteRequest::read(exchange, target, path);
  if (!request) return answer_status(*exchange, request.error());
  const auto options = delete_options(exchange->request(), target);
  if (!options) return answer_status(*exchange, options.error());
  const ObjectPtr object =
      parts_.catalogue.log(Resource::kPods).find(path.namespace_name, path.name);
  const RunPod* pod = parts_.names.find(parts_.shell.node(), path.namespace_name, path.name);
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
    const RunPod* pod =
        parts_.names.find(parts_.shell.node(), object->namespace_name(), object->name());
    if (pod == nullptr || is_try || refusal_of(pod)) continue;
    parts_.shell.submit(DeletePod{.uid = pod->record.pod.uid, .grace = options->grace});
  }
  exchange->answer(
      {.content_type = how->content_type,
       .body = list_text(path.resource, page->items, page->metadata, how->view, wall_now())});
}

}  // namespace corehold
