// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_input.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cli/output.h"
#include "pod/pod_yaml.h"

namespace corehold {
namespace {

constexpr std::size_t kNamesShown = 5;

// The first few, and how many more there are.
template <typename Names>
std::string some_of(const Names& names) {
  std::vector<std::string> few;
  for (const std::string& name : names) {
    if (few.size() == kNamesShown) break;
    few.push_back(name);
  }
  const std::size_t left = names.size() - few.size();
  return fmt::format("{}{}", fmt::join(few, ", "),
                     left == 0 ? "" : fmt::format(" and {} more", left));
}

std::string counted_pods(std::size_t count) {
  return fmt::format("{} pod{}", count, count == 1 ? "" : "s");
}

// spec.nodeName; "" for a pod that is not bound.
std::string node_of(const Pod& pod) {
  const auto* spec = pod.raw->if_contains("spec");
  if (spec == nullptr || !spec->is_object()) return "";
  const auto* name = spec->get_object().if_contains("nodeName");
  return name != nullptr && name->is_string() ? std::string(name->get_string()) : "";
}

bool has_ended(const Pod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

// Finds pods that cannot both be there.
class Register {
 public:
  Result<void> add(const Pod& pod, std::string where) {
    const std::string name = display_name(pod);
    const auto [same_name, is_new_name] = names_.emplace(name, where);
    if (!is_new_name) {
      return bad_argument(
          fmt::format("pod {} is there twice: as {} and as {}", name, same_name->second, where));
    }
    if (pod.uid.empty()) return {};
    const auto [same_uid, is_new_uid] = uids_.emplace(pod.uid, name);
    if (is_new_uid) return {};
    return bad_argument(
        fmt::format("pods {} and {} have the same uid {:?}", same_uid->second, name, pod.uid));
  }

 private:
  std::map<std::string, std::string> names_{};
  std::map<std::string, std::string> uids_{};
};

using Reader = Result<std::vector<Pod>> (*)(std::string_view text);

Result<std::vector<Pod>> read_all(const std::vector<PodFile>& files, Reader read) {
  std::vector<Pod> pods;
  Register seen;
  for (const PodFile& file : files) {
    auto found = read(file.text);
    if (!found) return wrap(file.name, found.error());
    for (std::size_t i = 0; i < found->size(); ++i) {
      TRY(seen.add((*found)[i], fmt::format("pod {} of {}", i + 1, file.name)));
    }
    std::move(found->begin(), found->end(), std::back_inserter(pods));
  }
  return pods;
}

Result<void> keep_node(PodChoice& choice, std::string_view node) {
  std::set<std::string> nodes;
  for (const Pod& pod : choice.pods) nodes.insert(node_of(pod));
  nodes.erase("");
  if (node.empty()) {
    if (nodes.size() > 1) {
      choice.notes.push_back(
          fmt::format("the pods are of {} nodes ({}), planned as if they were of one; --node NAME "
                      "keeps those of one",
                      nodes.size(), some_of(nodes)));
    }
    return {};
  }
  if (!nodes.contains(std::string(node))) {
    return bad_argument(fmt::format("no pod is bound to node {:?}{}", node,
                                    nodes.empty() ? "" : "; there are " + some_of(nodes)));
  }
  const std::size_t others = std::erase_if(choice.pods, [&](const Pod& pod) {
    const std::string bound = node_of(pod);
    return !bound.empty() && bound != node;
  });
  if (others > 0) {
    choice.notes.push_back(
        fmt::format("{} left out, of other nodes than {}", counted_pods(others), node));
  }
  return {};
}

// status.startTime; "" for a pod that has none. The API server writes UTC, so that text sorts
// as time does; what it would not write is not a time here.
std::string start_of(const Pod& pod) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  const auto* status = pod.raw->if_contains("status");
  if (status == nullptr || !status->is_object()) return "";
  const auto* start = status->get_object().if_contains("startTime");
  if (start == nullptr || !start->is_string()) return "";
  std::string time(start->get_string());
  const bool is_time =
      std::equal(time.begin(), time.end(), kForm.begin(), kForm.end(),
                 [](char c, char form) { return form == '0' ? c >= '0' && c <= '9' : c == form; });
  return is_time ? time : "";
}

// `kubectl get pods` lists by name. New pods may follow those that have started.
void order_by_start(PodChoice& choice) {
  const auto has_started = [](const Pod& pod) { return !start_of(pod).empty(); };
  const auto begin = choice.pods.begin();
  const auto end = choice.pods.end();
  const auto first_new = std::find_if_not(begin, end, has_started);
  if (std::any_of(first_new, end, has_started)) {
    choice.notes.emplace_back(
        "not all pods have a status.startTime: planned in the order of the list");
    return;
  }
  const auto started = static_cast<std::size_t>(first_new - begin);
  if (started < 2) return;
  std::stable_sort(begin, first_new,
                   [](const Pod& a, const Pod& b) { return start_of(a) < start_of(b); });
  choice.notes.push_back(
      first_new == end ? "planned in the order in which the pods started (status.startTime)"
                       : fmt::format("the first {} planned in the order in which they started "
                                     "(status.startTime)",
                                     counted_pods(started)));
}

}  // namespace

Result<PodChoice> choose_pods(const std::vector<PodFile>& files, std::string_view node) {
  PodChoice choice{.pods = TRY(read_all(files, read_manifest))};
  TRY(keep_node(choice, node));
  if (std::string note = leave_out_ended(choice.pods); !note.empty()) {
    choice.notes.push_back(std::move(note));
  }
  order_by_start(choice);
  return choice;
}

Result<std::vector<Pod>> listed_pods(const PodFile& file) {
  return read_all({file}, read_pod_list);
}

std::string leave_out_ended(std::vector<Pod>& pods) {
  std::vector<std::string> ended;
  for (const Pod& pod : pods) {
    if (has_ended(pod)) ended.push_back(display_name(pod));
  }
  if (ended.empty()) return "";
  std::erase_if(pods, has_ended);
  return fmt::format("{} left out, ended: {}", counted_pods(ended.size()), some_of(ended));
}

}  // namespace corehold
