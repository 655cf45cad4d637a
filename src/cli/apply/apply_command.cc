// SPDX-License-Identifier: Apache-2.0
//
// corehold apply
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/patch/server_side_apply.h"
#include "base/code.h"
#include "cli/apply/manifest_files.h"
#include "cli/apply/pod_warnings.h"
#include "cli/apply/three_way_patch.h"
#include "cli/cli.h"
#include "cli/client/agent_client.h"
#include "cli/output.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;

// What was applied last, where kubectl apply keeps it too: either may go on where the other
// has been.

struct ApplyArguments {
  AgentAddress agent{};
  ManifestFiles manifests{};
};

constexpr const char* kApplyFooter =
    "FILE is YAML or JSON with one pod or several, or - for standard input. Pods that are not\n"
    "there are created; of those that are, what the manifest says otherwise than the last time is\n"
    "changed and the rest left alone, as kubectl apply does it. Labels and annotations can always\n"
    "be changed, most of a spec cannot: such a pod has to be deleted first. A pod that does not\n"
    "fit yet is created and waits: corehold get pods tells what for.\n"
    "\n"
    "Examples:\n"
    "  corehold apply -f pods.yaml\n"
    "  corehold apply -n db -f pg.yaml -f pgbouncer.yaml\n"
    "  generate-pods | corehold apply -f -";

// By key, however deep: the same manifest always gives the same text.
json::value sorted(const json::value& value) {
  if (const json::array* array = value.if_array()) {
    json::array items;
    for (const json::value& item : *array) items.push_back(sorted(item));
    return items;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return value;
  std::vector<std::string> keys;
  for (const auto& member : *object) keys.emplace_back(member.key());
  std::sort(keys.begin(), keys.end());
  json::object members;
  for (const std::string& key : keys) members[key] = sorted(object->at(key));
  return members;
}

json::object& object_in(json::object& object, std::string_view key) {
  json::value& value = object[key];
  return value.is_object() ? value.get_object() : value.emplace_object();
}

// The pod as it is asked for, with a note of that for the next time.
json::object wanted_of(const Pod& pod) {
  json::object wanted = pod.raw;
  wanted["apiVersion"] = "v1";
  wanted["kind"] = "Pod";
  wanted.erase("status");
  json::object& metadata = object_in(wanted, "metadata");
  metadata["namespace"] = pod.namespace_name;
  json::object& annotations = object_in(metadata, "annotations");
  annotations.erase(kLastAppliedAnnotation);
  const std::string note = json::serialize(sorted(wanted)) + "\n";
  object_in(object_in(wanted, "metadata"), "annotations")[kLastAppliedAnnotation] = note;
  return wanted;
}

// What the note of a pod that is there says; empty: there is none that can be read.
json::object applied_to(const json::object& current) {
  const json::object* annotations = look_object(current, {"metadata", "annotations"});
  const json::value* note =
      annotations == nullptr ? nullptr : annotations->if_contains(kLastAppliedAnnotation);
  if (note == nullptr || !note->is_string()) return {};
  auto applied = parse_json(note->get_string());
  return applied && applied->is_object() ? std::move(applied->get_object()) : json::object();
}

// What has become of a pod.
struct Applied {
  std::string what{};     // "created", "configured", "unchanged"
  std::string refusal{};  // why the node has refused it at once; "": it has not
};

Result<Applied> change(const AgentClient& client, const Pod& pod, const json::object& current) {
  if (look(current, {"metadata", "deletionTimestamp"}) != nullptr) {
    return Error{Code::kConflict, "it is being deleted; apply it again when it is gone"};
  }
  const json::object applied = applied_to(current);
  const json::object wanted = wanted_of(pod);
  const json::object patch =
      three_way_patch("Pod", {.applied = applied, .wanted = wanted, .current = current});
  if (patch.empty()) return Applied{.what = "unchanged"};
  const ApiAnswer answer =
      TRY(client.ask({.method = "PATCH",
                      .target = pods_target(pod.namespace_name, pod.name) +
                                "?fieldManager=corehold-client-side-apply",
                      .body = json::serialize(patch),
                      .content_type = "application/strategic-merge-patch+json"}));
  if (!answer.failure) {
    const bool same = look_text(as_object_or_empty(answer.body), {"metadata", "resourceVersion"}) ==
                      look_text(current, {"metadata", "resourceVersion"});
    return Applied{.what = same ? "unchanged" : "configured"};
  }
  Error error = error_of(*answer.failure);
  if (answer.failure->reason == StatusReason::kInvalid ||
      answer.failure->reason == StatusReason::kForbidden) {
    // What follows the first line is the difference, as long as the pod.
    error.message.resize(std::min(error.message.find('\n'), error.message.size()));
    error.message += fmt::format("; corehold delete pod {} first", display_name(pod));
  }
  return error;
}

// "": it may run.
std::string refusal_in(const json::object& pod) {
  if (look_text(pod, {"status", "phase"}) != "Failed") return "";
  return fmt::format("{}: {}", look_text(pod, {"status", "reason"}),
                     look_text(pod, {"status", "message"}));
}

Result<Applied> apply_one(const AgentClient& client, const Pod& pod) {
  const ApiAnswer there = TRY(client.ask({.target = pods_target(pod.namespace_name, pod.name)}));
  if (!there.failure && !there.body.is_object()) {
    return Error{Code::kCorrupt, "the agent's answer is no pod"};
  }
  if (!there.failure) return change(client, pod, there.body.get_object());
  if (there.failure->reason != StatusReason::kNotFound) return error_of(*there.failure);
  const ApiAnswer made = TRY(client.ask(
      {.method = "POST",
       .target = pods_target(pod.namespace_name) + "?fieldManager=corehold-client-side-apply",
       .body = json::serialize(wanted_of(pod))}));
  if (made.failure) return error_of(*made.failure);
  return Applied{.what = "created", .refusal = refusal_in(as_object_or_empty(made.body))};
}

int run_apply(const ApplyArguments& arguments) {
  const auto client = AgentClient::at(arguments.agent);
  if (!client) return fail_usage(client.error(), "apply");
  const auto pods = read_manifests(arguments.manifests);
  if (!pods) return fail(pods.error());
  int code = kExitDone;
  for (const Pod& pod : *pods) {
    const auto applied = apply_one(*client, pod);
    if (!applied) {
      // The agent names the pod where it refuses it.
      const std::string who = "pod " + display_name(pod);
      const Error& error = applied.error();
      code = fail(error.message.starts_with(who + ": ") ? error : wrap(who, error));
      continue;
    }
    const int written =
        answer(fmt::format("pod {} {}\n", on_one_line(display_name(pod)), applied->what));
    code = std::max(code, written);
    if (applied->what == "unchanged") continue;
    std::vector<std::string> warnings = warnings_of(pod);
    if (!applied->refusal.empty()) warnings.push_back(applied->refusal);
    for (const std::string& warning : warnings) {
      complain(fmt::format("warning: pod {}: {}", display_name(pod), warning));
    }
  }
  return code;
}

}  // namespace

void add_apply(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("apply", "Create pods from a manifest, or change them");
  const auto arguments =
      std::make_shared<ApplyArguments>();  // outlives this call, with the callback
  command
      ->add_option("-f,--filename", arguments->manifests.files, "The manifest; may be given again")
      ->required()
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("-n,--namespace", arguments->manifests.namespace_name,
                   "Namespace of pods that name none (default: default)")
      ->type_name("NAMESPACE");
  add_agent_options(*command, arguments->agent);
  command->footer(kApplyFooter);
  command->callback([arguments, &exit_code] { exit_code = run_apply(*arguments); });
}

}  // namespace corehold
