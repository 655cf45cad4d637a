// SPDX-License-Identifier: Apache-2.0
//
// corehold apply
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/agent_client.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/pod_difference.h"
#include "cli/pod_warnings.h"
#include "pod/pod_json.h"
#include "pod/pod_yaml.h"
#include "sys/file.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxManifestBytes = std::size_t{4} << 20U;

struct Arguments {
  AgentAddress agent{};
  std::vector<std::string> files{};
  std::string namespace_name{};
};

constexpr const char* kFooter =
    "FILE is YAML or JSON with one pod or several, or - for standard input. Pods that are there\n"
    "already stay as they are; one that is asked for differently has to be deleted first. A pod\n"
    "that does not fit yet is created and waits: corehold get pods tells what for.\n"
    "\n"
    "Examples:\n"
    "  corehold apply -f pods.yaml\n"
    "  corehold apply -n db -f pg.yaml -f pgbouncer.yaml\n"
    "  generate-pods | corehold apply -f -";

Result<std::vector<Pod>> read_pods(const std::string& file) {
  const bool is_stdin = file == "-";
  const std::string name = is_stdin ? "standard input" : file;
  const std::string text = is_stdin ? TRY(read_stream(STDIN_FILENO, name, kMaxManifestBytes))
                                    : TRY(read_file(file, kMaxManifestBytes));
  auto pods = read_manifest(text);
  if (!pods) return wrap(name, pods.error());
  return pods;
}

// The namespace that the pod itself names, as read_manifest() has filled in the usual one.
std::string own_namespace(const Pod& pod) {
  const json::value* metadata = pod.raw.if_contains("metadata");
  const json::object* object = metadata == nullptr ? nullptr : metadata->if_object();
  const json::value* found = object == nullptr ? nullptr : object->if_contains("namespace");
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

Result<std::vector<Pod>> read_all(const Arguments& arguments) {
  std::vector<Pod> all;
  for (const std::string& file : arguments.files) {
    for (Pod& pod : TRY(read_pods(file))) {
      if (!arguments.namespace_name.empty()) {
        const std::string own = own_namespace(pod);
        if (!own.empty() && own != arguments.namespace_name) {
          return Error{Code::kConflict, fmt::format("{}: pod {} is not in namespace {} of -n", file,
                                                    display_name(pod), arguments.namespace_name)};
        }
        pod.namespace_name = arguments.namespace_name;
      }
      all.push_back(std::move(pod));
    }
  }
  return all;
}

// What has become of it: "created", "unchanged".
Result<std::string> apply_one(const AgentClient& client, const Pod& pod) {
  const ApiAnswer made = TRY(client.ask(
      {.method = "POST", .target = pods_target(pod.namespace_name), .body = write_json(pod)}));
  if (!made.failure) return std::string("created");
  if (made.failure->reason != StatusReason::kAlreadyExists) return error_of(*made.failure);
  const json::value found = TRY(client.get(pods_target(pod.namespace_name, pod.name)));
  if (!found.is_object()) return Error{Code::kCorrupt, "the agent's answer is no pod"};
  const Pod there = TRY(pod_from_json(found.get_object()));
  const std::string difference = difference_between(there, pod);
  if (difference.empty()) return std::string("unchanged");
  return Error{Code::kConflict,
               fmt::format("it is there already, with another {}; corehold delete pod {} first",
                           difference, display_name(pod))};
}

int run(const Arguments& arguments) {
  const auto client = AgentClient::at(arguments.agent);
  if (!client) {
    complain(client.error().message);
    return kExitUsage;
  }
  const auto pods = read_all(arguments);
  if (!pods) return fail(pods.error());
  int code = kExitDone;
  for (const Pod& pod : *pods) {
    const auto outcome = apply_one(*client, pod);
    if (!outcome) {
      // The agent names the pod where it refuses it.
      const std::string who = "pod " + display_name(pod);
      const Error& error = outcome.error();
      code = fail(error.message.starts_with(who + ": ") ? error : wrap(who, error));
      continue;
    }
    const int written =
        answer(fmt::format("pod {} {}\n", on_one_line(display_name(pod)), *outcome));
    code = std::max(code, written);
    if (*outcome != "created") continue;
    for (const std::string& warning : warnings_of(pod)) {
      complain(fmt::format("warning: pod {}: {}", display_name(pod), warning));
    }
  }
  return code;
}

}  // namespace

void add_apply(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("apply", "Create pods from a manifest");
  const auto arguments = std::make_shared<Arguments>();  // outlives this call, with the callback
  command->add_option("-f,--filename", arguments->files, "The manifest; may be given again")
      ->required()
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("-n,--namespace", arguments->namespace_name,
                   "Namespace of pods that name none (default: default)")
      ->type_name("NAMESPACE");
  add_agent_options(*command, arguments->agent);
  command->footer(kFooter);
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace corehold
