// SPDX-License-Identifier: Apache-2.0
#include "agent/static/static_pods.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/json/time_text.h"
#include "base/utf8.h"
#include "sys/clock.h"

namespace corehold {
namespace {

constexpr const char* kEventReason = "InvalidStaticPod";
constexpr std::chrono::milliseconds kMostDelay{30'000};

}  // namespace

StaticPods::StaticPods(StaticPodsParts parts)
    : parts_(std::move(parts)),
      reader_(parts_.loop, parts_.path,
              {.listed = [this](const auto& paths) { note_paths(paths); },
               .read = [this](const auto& path, const auto& text) { note_text(path, text); },
               .settled =
                   [this] {
                     if (files_) follow();
                   }}),
      retry_(parts_.loop) {}

void StaticPods::begin() {
  if (parts_.path.empty()) {
    // Without a staticPodPath all static pods of a former configuration have lost their files.
    files_.emplace();
    return follow();
  }
  auto watch = PathWatch::begin(parts_.loop, parts_.path,
                                [this](const PathChange& change) { on_change(change); });
  if (watch) {
    watch_ = *std::move(watch);
  } else {
    parts_.log.warning("changes of static pods will not be seen until the agent is started again",
                       {{"path", parts_.path}, {"error", watch.error().message}});
  }
  reader_.read_all();
}

// Which pods there are is all that is compared with the files.
void StaticPods::look(std::span<const std::string> touched) {
  const NodeState& node = parts_.shell.node();
  for (const std::string& uid : touched) {
    const auto pod = node.running.pods.find(uid);
    const bool is_static = pod != node.running.pods.end() && is_static_pod(pod->second.record);
    const bool is_news = is_static ? static_pods_.insert(uid).second : static_pods_.erase(uid) > 0;
    if (is_news) compared_.reset();
  }
  if (files_ && compared_ != parts_.names.version()) follow();
}

void StaticPods::on_change(const PathChange& change) {
  if (change.everything || !files_) {
    reader_.read_all();
  } else {
    reader_.read_names({change.names.begin(), change.names.end()});
  }
}

void StaticPods::note_paths(const Result<std::set<std::string>>& paths) {
  if (!paths) {
    // While the files cannot be read, no pod is ended.
    parts_.log.warning("cannot read static pods; those that run go on",
                       {{"path", parts_.path}, {"error", paths.error().message}});
    return;
  }
  if (!files_) files_.emplace();
  std::erase_if(*files_, [&](const auto& entry) { return !paths->contains(entry.first); });
  // A file that was never read keeps its pod, as one that cannot be read does.
  for (const std::string& path : *paths) files_->try_emplace(path);
  if (std::exchange(has_begun_, true)) return;
  parts_.log.info("static pods",
                  {{"path", parts_.path}, {"files", fmt::to_string(files_->size())}});
}

void StaticPods::note_text(const std::string& path,
                           const Result<std::optional<std::string>>& text) {
  if (!files_) return;
  if (text && !*text) {
    files_->erase(path);
    return;
  }
  StaticFile& file = (*files_)[path];
  file.pod.reset();
  file.problem.clear();
  // The path is part of records and answers, which are JSON.
  if (!is_utf8(path)) {
    file.problem = fmt::format("{:?}: the name of the file is not UTF-8: rename it", path);
    return;
  }
  std::vector<std::string> warnings;
  auto pod =
      text ? read_static_pod(**text, path, parts_.rules, warnings) : Result<Pod>(text.error());
  for (const std::string& warning : warnings) {
    parts_.log.warning("a static pod file says something strange",
                       {{"file", path}, {"warning", warning}});
  }
  if (pod) {
    file.last_uid = pod->uid;
    file.pod.emplace(*std::move(pod));
  } else {
    file.problem = pod.error().message;
  }
}

// Called from within itself when the manager answers at once.
void StaticPods::follow() {
  must_follow_again_ = true;
  if (is_following_) return;
  is_following_ = true;
  while (must_follow_again_) {
    must_follow_again_ = false;
    compared_ = parts_.names.version();
    StaticPlan plan = plan_static_pods(*files_, parts_.shell.node(), parts_.names, static_pods_);
    report(std::move(plan.problems));
    for (const std::string& uid : plan.remove) remove(uid);
    for (Pod& pod : plan.create) create(std::move(pod));
  }
  is_following_ = false;
}

void StaticPods::create(Pod pod) {
  const std::string uid = pod.uid;
  if (is_waiting_ || !asked_.insert(uid).second) return;
  pod.annotations[std::string(kConfigSeen)] = micro_time_text(wall_now());
  const std::string name = display_name(pod);
  const RequestId request = parts_.requests.add([this, uid,
                                                 name](const std::optional<Error>& error) {
    asked_.erase(uid);
    compared_.reset();
    if (!error) {
      delay_ = {};
      return;
    }
    parts_.log.warning("cannot create a static pod", {{"pod", name}, {"error", error->message}});
    try_later();
  });
  parts_.log.info("creating a static pod",
                  {{"pod", name}, {"file", pod.annotations.at(std::string(kConfigFile))}});
  parts_.shell.submit(
      CreatePod{.pod = std::move(pod), .source = Source::kStatic, .request = request});
}

void StaticPods::remove(const std::string& uid) {
  if (is_waiting_ || !asked_.insert(uid).second) return;
  const auto pod = parts_.shell.node().running.pods.find(uid);
  const std::string name =
      pod == parts_.shell.node().running.pods.end() ? uid : display_name(pod->second.record.pod);
  const RequestId request = parts_.requests.add([this, uid,
                                                 name](const std::optional<Error>& error) {
    asked_.erase(uid);
    compared_.reset();
    if (!error || error->code == Code::kNotFound) return;
    parts_.log.warning("cannot delete a static pod", {{"pod", name}, {"error", error->message}});
    try_later();
  });
  parts_.log.info("deleting a static pod: no file says it any more", {{"pod", name}});
  parts_.shell.submit(DeletePod{.uid = uid, .request = request});
}

// Each problem once, for as long as it is the same.
void StaticPods::report(std::map<std::string, std::string> problems) {
  for (const auto& [path, problem] : problems) {
    const auto told = told_.find(path);
    if (told != told_.end() && told->second == problem) continue;
    const auto file = files_->find(path);
    const bool goes_on = file != files_->end() && !file->second.pod &&
                         parts_.shell.node().running.pods.contains(file->second.last_uid);
    const std::string text =
        goes_on ? problem + "; the pod that runs from its former content goes on" : problem;
    parts_.log.warning("a static pod file is not as it should be", {{"error", text}});
    parts_.tell({.type = EmitEvent::Type::kWarning, .reason = kEventReason, .message = text});
  }
  told_ = std::move(problems);
}

void StaticPods::try_later() {
  delay_ = std::clamp(2 * delay_, parts_.retry, kMostDelay);
  is_waiting_ = true;
  retry_.expires_after(delay_);
  retry_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    is_waiting_ = false;
    if (files_) follow();
  });
}

}  // namespace corehold
