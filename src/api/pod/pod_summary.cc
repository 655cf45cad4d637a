// SPDX-License-Identifier: Apache-2.0
#include "api/pod/pod_summary.h"

#include <fmt/format.h>

#include "api/json/json_read.h"

namespace corehold {
namespace {

namespace json = boost::json;

// What is worth saying about one container: why it waits, or how it has failed. Empty:
// nothing.
Result<std::string> trouble_of(const json::object& status, const Path& path) {
  const json::object* state = TRY(object_field(status, path, "state"));
  if (state == nullptr) return std::string();
  if (const json::object* waiting = TRY(object_field(*state, path / "state", "waiting"))) {
    return TRY(string_field(*waiting, path / "state" / "waiting", "reason"));
  }
  const json::object* ended = TRY(object_field(*state, path / "state", "terminated"));
  if (ended == nullptr) return std::string();
  const Path at = path / "state" / "terminated";
  const std::int64_t code = TRY(integer_field(*ended, at, "exitCode", 0));
  return code == 0 ? std::string() : TRY(string_field(*ended, at, "reason"));
}

// Adds what the statuses in this list say. `counts`: they count as ready or not.
Result<void> add_containers(const json::object& status, std::string_view key, bool counts,
                            PodSummary& summary, std::string& trouble) {
  const Path path = Path() / "status" / key;
  const json::array* list = TRY(array_field(status, Path() / "status", key));
  if (list == nullptr) return {};
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::object* own = TRY(as_object((*list)[i], path / i));
    const bool ready = TRY(bool_field(*own, path / i, "ready"));
    if (counts) {
      ++summary.containers;
      summary.ready += ready ? 1 : 0;
    }
    summary.restarts += static_cast<int>(TRY(integer_field(*own, path / i, "restartCount", 0)));
    std::string own_trouble = TRY(trouble_of(*own, path / i));
    if (!counts && !own_trouble.empty()) {
      if (own_trouble == "PodInitializing") {
        own_trouble.clear();
      } else {
        own_trouble.insert(0, "Init:");
      }
    }
    if (trouble.empty()) trouble = std::move(own_trouble);
  }
  return {};
}

// That field of the condition of that type while its status is as said; "": it is not.
Result<std::string> condition_text(const json::object& status, std::string_view type,
                                   std::string_view state, std::string_view name) {
  const Path path = Path() / "status" / "conditions";
  const json::array* list = TRY(array_field(status, Path() / "status", "conditions"));
  if (list == nullptr) return std::string();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::object* condition = TRY(as_object((*list)[i], path / i));
    const bool is_it = TRY(string_field(*condition, path / i, "type")) == type;
    if (!is_it || TRY(string_field(*condition, path / i, "status")) != state) continue;
    return TRY(string_field(*condition, path / i, name));
  }
  return std::string();
}

}  // namespace

Result<PodSummary> pod_summary(const json::value& pod) {
  const Path path;
  const json::object* object = TRY(as_object(pod, path));
  PodSummary summary;
  const Path at = path / "metadata";
  if (const json::object* metadata = TRY(object_field(*object, path, "metadata"))) {
    summary.name = TRY(string_field(*metadata, at, "name"));
    summary.namespace_name = TRY(string_field(*metadata, at, "namespace"));
    summary.uid = TRY(string_field(*metadata, at, "uid"));
    summary.created_at = TRY(time_field(*metadata, at, "creationTimestamp"));
    summary.deleting = field(*metadata, "deletionTimestamp") != nullptr;
  }
  if (const json::object* spec = TRY(object_field(*object, path, "spec"))) {
    summary.node = TRY(string_field(*spec, path / "spec", "nodeName"));
  }
  const json::object* status = TRY(object_field(*object, path, "status"));
  if (status == nullptr) return summary;
  summary.qos = TRY(string_field(*status, path / "status", "qosClass"));
  summary.phase = TRY(string_field(*status, path / "status", "phase"));
  summary.message = TRY(string_field(*status, path / "status", "message"));
  if (summary.message.empty()) {
    summary.message = TRY(condition_text(*status, "PodScheduled", "False", "message"));
  }
  summary.resize = TRY(condition_text(*status, "PodResizePending", "True", "reason"));
  const std::string reason = TRY(string_field(*status, path / "status", "reason"));
  std::string trouble;
  TRY(add_containers(*status, "initContainerStatuses", false, summary, trouble));
  TRY(add_containers(*status, "containerStatuses", true, summary, trouble));
  summary.status = !reason.empty() ? reason : !trouble.empty() ? trouble : summary.phase;
  if (summary.status == "Succeeded") summary.status = "Completed";
  if (summary.deleting) summary.status = "Terminating";
  return summary;
}

Result<std::vector<PodSummary>> pod_summaries(const json::value& list) {
  const Path path;
  const json::object* object = TRY(as_object(list, path));
  TRY(expect_kind(*object, "PodList"));
  std::vector<PodSummary> summaries;
  const json::array* items = TRY(array_field(*object, path, "items"));
  if (items == nullptr) return summaries;
  summaries.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    auto summary = pod_summary((*items)[i]);
    if (!summary) return wrap((path / "items" / i).str(), summary.error());
    summaries.push_back(*std::move(summary));
  }
  return summaries;
}

}  // namespace corehold
