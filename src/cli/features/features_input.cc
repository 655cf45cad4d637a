// SPDX-License-Identifier: Apache-2.0
#include "cli/features/features_input.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/plan/plan_input.h"
#include "config/words.h"
#include "features/declaring.h"
#include "pod/json_field.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

Result<PodFile> named_input(const std::string& file) {
  return PodFile{.name = file == "-" ? "standard input" : file,
                 .text = TRY(read_input(file, kMaxPodListBytes))};
}

// The error, and what may have happened when the text is a good one of the other kind.
Error perhaps_swapped(Error error, bool is_other_kind) {
  if (is_other_kind) error.message += " (are --pods and --nodes swapped?)";
  return error;
}

Result<Pod> only_pod(const std::string& file) {
  std::vector<Pod> pods = TRY(pods_of_file(file));
  if (pods.size() != 1) {
    return Error{Code::kInvalid, fmt::format("{}: holds {} pods; with --old each file holds one",
                                             file, pods.size())};
  }
  return std::move(pods.front());
}

// Every gate that a feature needs, and that of the mechanism.
std::set<std::string_view> gates_of(const Registry& registry) {
  std::set<std::string_view> gates{kNodeDeclaredFeaturesGate};
  for (const Feature& feature : registry.features()) {
    gates.insert(feature.requirements.gates.begin(), feature.requirements.gates.end());
  }
  return gates;
}

Result<void> keep_pod(std::vector<Pod>& pods, const std::string& wanted) {
  const std::string name = wanted.find('/') == std::string::npos ? "default/" + wanted : wanted;
  std::erase_if(pods, [&name](const Pod& pod) { return display_name(pod) != name; });
  if (!pods.empty()) return {};
  return Error{Code::kNotFound, fmt::format("there is no pod {} in the list", shown(name))};
}

}  // namespace

Result<std::string> read_input(const std::string& file, std::size_t max_size) {
  if (file == "-") return read_stream(STDIN_FILENO, "standard input", max_size);
  auto text = read_file(file, max_size);
  if (!text && text.error().code == Code::kNotFound) {
    return Error{Code::kNotFound, fmt::format("{}: no such file", file)};
  }
  return text;
}

Result<std::vector<Pod>> pods_of_file(const std::string& file) {
  return listed_pods(TRY(named_input(file)));
}

Result<ChangedPod> read_changed_pod(const std::string& old_file, const std::string& new_file) {
  ChangedPod update{.old_pod = TRY(only_pod(old_file)), .new_pod = TRY(only_pod(new_file))};
  const std::string before = display_name(update.old_pod);
  const std::string after = display_name(update.new_pod);
  if (before == after) return update;
  return Error{Code::kInvalid, fmt::format("not the same pod: {} in {}, {} in {}", before, old_file,
                                           after, new_file)};
}

Result<Cluster> read_cluster(const std::string& pods_file, const std::string& nodes_file,
                             const std::string& pod) {
  const PodFile pods_text = TRY(named_input(pods_file));
  const PodFile nodes_text = TRY(named_input(nodes_file));
  auto pods = listed_pods(pods_text);
  if (!pods) return perhaps_swapped(pods.error(), read_nodes(pods_text.text).has_value());
  auto nodes = read_nodes(nodes_text.text);
  if (!nodes) {
    return perhaps_swapped(wrap(nodes_text.name, nodes.error()),
                           listed_pods(nodes_text).has_value());
  }
  Cluster cluster{.pods = *std::move(pods), .nodes = *std::move(nodes)};
  if (!pod.empty()) TRY(keep_pod(cluster.pods, pod));
  if (std::string note = leave_out_ended(cluster.pods); !note.empty()) {
    cluster.notes.push_back(std::move(note));
  }
  return cluster;
}

Result<std::vector<NodeChange>> read_changes(const Registry& registry,
                                             const std::vector<std::string>& texts) {
  const std::set<std::string_view> known = gates_of(registry);
  const std::vector<std::string_view> names(known.begin(), known.end());
  std::vector<NodeChange> changes;
  for (const std::string& text : texts) {
    auto change = NodeChange::parse(text);
    if (!change) {
      return Error{Code::kInvalid, fmt::format("--set {}", change.error().message)};
    }
    for (const auto& [gate, unused] : change->gates) {
      if (known.contains(gate)) continue;
      return Error{Code::kInvalid, fmt::format("--set {}: no feature needs gate {}{}", shown(text),
                                               gate, did_you_mean(gate, names))};
    }
    changes.push_back(*std::move(change));
  }
  return changes;
}

}  // namespace corehold
