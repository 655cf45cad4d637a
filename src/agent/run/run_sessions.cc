// SPDX-License-Identifier: Apache-2.0
#include "agent/run/run_sessions.h"

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "agent/node/new_pod.h"
#include "agent/view/view.h"
#include "api/own/run_message.h"
#include "manager/placing/facts.h"
#include "pod/pod_json.h"
#include "serve/answer.h"

namespace corehold {
namespace {

std::string line_text(const RunLine& line) { return boost::json::serialize(to_json(line)) + "\n"; }

// How the one container of the pod ended before it was seen to run.
std::string ending_of(const RunPod& pod) {
  const auto record = pod.record.containers.find(std::string(kRunContainer));
  if (record == pod.record.containers.end() || !record->second.last_exit) {
    return pod.record.message;
  }
  const ContainerExit& exit = *record->second.last_exit;
  return exit.message.empty() ? fmt::format("it ended with code {} before it was let go", exit.code)
                              : exit.message;
}

}  // namespace

void RunSessions::open(const HttpExchangePtr& exchange, Shell& shell, const PodNames& names,
                       const NodeSetup& setup) {
  const auto document = parse_json(exchange->request().body);
  if (!document) return answer_error(*exchange, StatusReason::kBadRequest, document.error());
  const auto request = run_request_from_json(*document);
  if (!request) return answer_error(*exchange, StatusReason::kInvalid, request.error());
  const Peer peer = exchange->request().peer;
  auto child = RunChild::hold(peer, static_cast<pid_t>(request->pid));
  if (!child) return answer_error(*exchange, StatusReason::kForbidden, child.error());
  Pod pod = run_pod(*request);
  if (const auto accepted = accept_run_pod(pod, rules_); !accepted) {
    return answer_error(*exchange, StatusReason::kInvalid, accepted.error());
  }
  if (const auto fits = check_can_fit(pod, setup); !fits) {
    return answer_error(*exchange, StatusReason::kInvalid, fits.error());
  }
  if (names.find(shell.node(), pod.namespace_name, pod.name) != nullptr) {
    return answer_status(*exchange, {.reason = StatusReason::kAlreadyExists,
                                     .message = fmt::format("pods {:?} already exists", pod.name),
                                     .kind = "pods",
                                     .name = pod.name});
  }
  const std::string uid = pod.uid;
  sessions_.emplace(uid, Session{.exchange = exchange, .child = *std::move(child)});
  exchange->on_gone([this, uid, &shell] { lose(uid, shell); });
  log_.info("a command asks for CPUs", {{"pod", display_name(pod)},
                                        {"cpus", fmt::to_string(request->cpus)},
                                        {"user", fmt::to_string(peer.uid)},
                                        {"client", fmt::to_string(peer.pid)}});
  const RequestId id = requests_.add([this, uid](const std::optional<Error>& error) {
    if (error) refuse(uid, *error);
  });
  shell.submit(CreatePod{.pod = std::move(pod),
                         .source = request->wait ? Source::kRunWaiting : Source::kRun,
                         .request = id});
}

void RunSessions::refuse(const std::string& uid, const Error& error) {
  const auto session = sessions_.extract(uid);
  if (session.empty()) return;
  Session& refused = session.mapped();
  if (!refused.is_streaming) {
    return answer_error(*refused.exchange, reason_of(error.code), error);
  }
  refused.exchange->write(line_text(status_of(error)));
  refused.exchange->end();
}

void RunSessions::lose(const std::string& uid, Shell& shell) {
  const auto session = sessions_.extract(uid);
  if (session.empty() || session.mapped().granted) return;
  log_.info("a command was given up before it had its CPUs", {{"uid", uid}});
  shell.submit(DeletePod{.uid = uid, .grace = std::chrono::seconds(0)});
}

void RunSessions::look(const NodeState& node, std::span<const std::string> touched) {
  for (const std::string& uid : touched) {
    const auto session = sessions_.find(uid);
    if (session == sessions_.end()) continue;
    // The message may end the connection: the session must not be found any more then.
    if (get_on(session->second, node, uid)) sessions_.erase(session);
  }
}

bool RunSessions::get_on(Session& session, const NodeState& node, const std::string& uid) {
  const auto begin = [&session] {
    if (!session.is_streaming) session.exchange->begin(200, "application/json");
    session.is_streaming = true;
  };
  const auto say = [&session, &begin](const RunLine& line) {
    begin();
    session.exchange->write(line_text(line));
  };
  const auto pod = node.running.pods.find(uid);
  if (pod == node.running.pods.end()) {
    if (!session.has_pod) return false;
    if (!session.granted) {
      say(ApiStatus{.reason = StatusReason::kConflict, .message = "its pod was deleted"});
    }
    session.exchange->end();
    return true;
  }
  session.has_pod = true;
  if (session.granted) return false;
  const auto container = pod->second.containers.find(std::string(kRunContainer));
  const auto record = pod->second.record.containers.find(std::string(kRunContainer));
  if (container != pod->second.containers.end() && is_running(container->second.stage)) {
    const Holding* holding =
        node.placing.bookings.cpus.find({.pod = uid, .container = std::string(kRunContainer)});
    say(RunGranted{.pod = display_name(pod->second.record.pod),
                   .cpus = holding == nullptr ? "" : holding->assigned.str()});
    session.granted = true;
    return false;
  }
  const bool has_ended =
      pod->second.record.failed ||
      (record != pod->second.record.containers.end() && record->second.last_exit);
  if (has_ended) {
    say(ApiStatus{.reason = StatusReason::kInternal, .message = ending_of(pod->second)});
    session.exchange->end();
    return true;
  }
  // A client gives up on an agent that does not begin to answer.
  const bool may_wait = pod->second.record.source == Source::kRunWaiting;
  const bool has_cpus = is_admitted(node.placing.pods.at(uid));
  if (may_wait || has_cpus) begin();
  const std::string& why = pod->second.record.message;
  if (may_wait && !has_cpus && !why.empty() && why != session.told) {
    session.told = why;
    say(RunWaiting{.message = why});
  }
  return false;
}

Result<Attached> RunSessions::attach(const std::string& uid) const {
  const auto session = sessions_.find(uid);
  if (session == sessions_.end()) {
    return Error{Code::kNotFound, "the client that asked for it has gone"};
  }
  return session->second.child.attach();
}

}  // namespace corehold
