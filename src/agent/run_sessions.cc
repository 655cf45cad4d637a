// SPDX-License-Identifier: Apache-2.0
#include "agent/run_sessions.h"

#include <sys/stat.h>

#include <charconv>
#include <cstdlib>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "agent/answer.h"
#include "agent/new_pod.h"
#include "agent/view.h"
#include "api/run_message.h"
#include "pod/pod_json.h"
#include "sys/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxProcText = 65536;

std::string line_text(const RunLine& line) { return boost::json::serialize(to_json(line)) + "\n"; }

// The numbers after `name:` in /proc/PID/status.
std::vector<std::int64_t> numbers_after(std::string_view status, std::string_view name) {
  std::vector<std::int64_t> numbers;
  const std::string begin = fmt::format("\n{}:", name);
  const std::size_t found = status.find(begin);
  if (found == std::string_view::npos) return numbers;
  status.remove_prefix(found + begin.size());
  status = status.substr(0, status.find('\n'));
  while (!status.empty()) {
    const std::size_t digit = status.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    status.remove_prefix(digit);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(status.data(), status.data() + status.size(), number);
    numbers.push_back(number);
    status.remove_prefix(static_cast<std::size_t>(parsed.ptr - status.data()));
  }
  return numbers;
}

// Nobody may have a process of somebody else moved.
Result<void> check_child(const Peer& peer, pid_t child) {
  const auto refused = [child](std::string_view why) {
    return Error{Code::kUnsupported, fmt::format("process {} cannot be taken: {}", child, why)};
  };
  if (peer.pid <= 0) {
    return refused("the caller lives in another PID namespace; run it on the machine itself");
  }
  const auto status = read_file(fmt::format("/proc/{}/status", child), kMaxProcText);
  if (!status) return refused("there is no such process");
  const auto parents = numbers_after(*status, "PPid");
  if (parents.size() != 1 || parents[0] != peer.pid) {
    return refused(fmt::format("it is no child of the caller, process {}", peer.pid));
  }
  const auto users = numbers_after(*status, "Uid");
  if (users.size() < 2 || users[1] != static_cast<std::int64_t>(peer.uid)) {
    return refused("it belongs to another user than the caller");
  }
  return {};
}

// How the one container of the pod ended before it was seen to run.
std::string ending_of(const PodState& pod) {
  const auto record = pod.record.containers.find(std::string(kRunContainer));
  if (record == pod.record.containers.end() || !record->second.last_exit) {
    return pod.record.message;
  }
  const Exit& exit = *record->second.last_exit;
  return exit.message.empty() ? fmt::format("it ended with code {} before it was let go", exit.code)
                              : exit.message;
}

}  // namespace

void RunSessions::open(const HttpExchangePtr& exchange, Shell& shell) {
  const auto document = parse_json(exchange->request().body);
  if (!document) return answer_error(*exchange, StatusReason::kBadRequest, document.error());
  const auto request = run_request_from_json(*document);
  if (!request) return answer_error(*exchange, StatusReason::kInvalid, request.error());
  const auto child = static_cast<pid_t>(request->pid);
  const Peer peer = exchange->request().peer;
  if (const auto checked = check_child(peer, child); !checked) {
    return answer_error(*exchange, StatusReason::kForbidden, checked.error());
  }
  Pod pod = run_pod(*request);
  if (const auto accepted = accept_new_pod(pod); !accepted) {
    return answer_error(*exchange, StatusReason::kInvalid, accepted.error());
  }
  if (find_pod(shell.node(), pod.namespace_name, pod.name) != nullptr) {
    return answer_status(*exchange, {.reason = StatusReason::kAlreadyExists,
                                     .message = fmt::format("pods {:?} already exists", pod.name),
                                     .kind = "pods",
                                     .name = pod.name});
  }
  const std::string uid = pod.uid;
  sessions_.emplace(
      uid, Session{.exchange = exchange, .attached = {.child = child, .client = peer.pid}});
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

void RunSessions::look(const NodeState& node) {
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    // What is written may be the last: the session must not be found any more then.
    if (get_on(session->second, node, session->first)) {
      session = sessions_.erase(session);
    } else {
      ++session;
    }
  }
}

bool RunSessions::get_on(Session& session, const NodeState& node, const std::string& uid) {
  const auto say = [&session](const RunLine& line) {
    if (!session.is_streaming) session.exchange->begin(200, "application/json");
    session.is_streaming = true;
    session.exchange->write(line_text(line));
  };
  const auto pod = node.pods.find(uid);
  if (pod == node.pods.end()) {
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
  if (container != pod->second.containers.end() && container->second.stage == Stage::kRunning) {
    const Holding* holding =
        node.bookings.cpus.find({.pod = uid, .container = std::string(kRunContainer)});
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
  const std::string& why = pod->second.record.message;
  if (pod->second.record.source == Source::kRunWaiting && !pod->second.admitted && !why.empty() &&
      why != session.told) {
    session.told = why;
    say(RunWaiting{.message = why});
  }
  return false;
}

std::optional<Attached> RunSessions::attached(const std::string& uid) const {
  const auto session = sessions_.find(uid);
  if (session == sessions_.end()) return std::nullopt;
  return session->second.attached;
}

}  // namespace corehold
