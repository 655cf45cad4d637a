// SPDX-License-Identifier: Apache-2.0
//
// corehold delete [pod]
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/pod/pod_summary.h"
#include "base/code.h"
#include "cli/apply/manifest_files.h"
#include "cli/cli.h"
#include "cli/client/agent_client.h"
#include "cli/client/object_query.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "sys/clock.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Waiting longer than this is worth a word.
constexpr seconds kDeletePatience{3};

struct DeleteArguments {
  AgentAddress agent{};
  ObjectQuery query{};
  std::vector<std::string> files{};
  bool all = false;
  int grace = -1;
  bool now = false;
  bool wait = true;
  bool ignore_not_found = false;
};

constexpr const char* kDeleteFooter =
    "Deletes the pods that a manifest names, or those that are named or chosen after `pod`.\n"
    "\n"
    "Examples:\n"
    "  corehold delete pod web\n"
    "  corehold delete pod -l app=web --now\n"
    "  corehold delete -f pods.yaml";

constexpr const char* kDeletePodFooter =
    "POD is NAME or NAMESPACE/NAME. Containers get SIGTERM, and SIGKILL when their time is up:\n"
    "--grace-period, else the pod's terminationGracePeriodSeconds, else 30 seconds. The CPUs are\n"
    "free once the pod is gone, which is what this command waits for.\n"
    "\n"
    "Examples:\n"
    "  corehold delete pod web\n"
    "  corehold delete pod db/pg-0 db/pg-1 --grace-period 5\n"
    "  corehold delete pod web --now           as --grace-period 1\n"
    "  corehold delete pods -n db -l app=pg\n"
    "  corehold delete pods --all --wait=false";

// A pod that is on its way out.
struct Leaving {
  PodName pod{};
  std::string uid{};  // "": it is gone already
};

// Until the pod with that UID is gone.
Result<void> wait_until_gone(const AgentClient& client, const Leaving& leaving) {
  const milliseconds began = steady_now();
  milliseconds pause{20};
  bool said = false;
  const PodName& pod = leaving.pod;
  for (;;) {
    const ApiAnswer answer = TRY(client.ask({.target = pods_target(pod.namespace_name, pod.name)}));
    if (answer.failure && answer.failure->reason == StatusReason::kNotFound) return {};
    if (answer.failure) return error_of(*answer.failure);
    const PodSummary now = TRY(pod_summary(answer.body));
    if (now.uid != leaving.uid) return {};
    if (!said && steady_now() - began > kDeletePatience) {
      complain(fmt::format("waiting for pod {} to end; ^C stops the waiting, not the deletion",
                           display_name(pod)));
      said = true;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<milliseconds>(pause * 2, milliseconds{500});
  }
}

// No value: there is none, and that is all right.
Result<std::optional<Leaving>> begin_one(const AgentClient& client, const PodName& pod,
                                         const DeleteArguments& arguments) {
  std::string target = pods_target(pod.namespace_name, pod.name);
  const int grace = arguments.now ? 1 : arguments.grace;
  if (grace >= 0) target += fmt::format("?gracePeriodSeconds={}", grace);
  const ApiAnswer answer = TRY(client.ask({.method = "DELETE", .target = target}));
  if (answer.failure) {
    if (arguments.ignore_not_found && answer.failure->reason == StatusReason::kNotFound) {
      return std::optional<Leaving>();
    }
    return error_of(*answer.failure);
  }
  Leaving leaving{.pod = pod};
  if (!is_status(answer.body)) leaving.uid = TRY(pod_summary(answer.body)).uid;
  return std::optional(std::move(leaving));
}

Result<std::vector<PodName>> pods_of(const AgentClient& client, const DeleteArguments& arguments) {
  std::vector<PodName> pods;
  if (!arguments.files.empty()) {
    for (const Pod& pod : TRY(read_manifests(
             {.files = arguments.files, .namespace_name = arguments.query.namespace_name}))) {
      pods.push_back({.namespace_name = pod.namespace_name, .name = pod.name});
    }
    return pods;
  }
  for (const std::string& given : arguments.query.names) {
    pods.push_back(TRY(pod_name(given, arguments.query.namespace_name)));
  }
  if (!pods.empty()) return pods;
  const FoundObjects found = TRY(find_objects(client, Resource::kPods, arguments.query));
  for (const json::value& value : found.objects) {
    const json::object& pod = as_object_or_empty(value);
    pods.push_back({.namespace_name = std::string(look_text(pod, {"metadata", "namespace"})),
                    .name = std::string(look_text(pod, {"metadata", "name"}))});
  }
  if (pods.empty()) complain("there are no such pods");
  return pods;
}

// All are asked to end before any is waited for: they take their time together.
int delete_all(const AgentClient& client, const std::vector<PodName>& pods,
               const DeleteArguments& arguments) {
  int code = kExitDone;
  std::vector<Leaving> leaving;
  leaving.reserve(pods.size());
  for (const PodName& pod : pods) {
    auto begun = begin_one(client, pod, arguments);
    if (!begun) {
      code = fail(begun.error());
    } else if (*begun) {
      leaving.push_back(**std::move(begun));
    }
  }
  for (const Leaving& each : leaving) {
    if (arguments.wait && !each.uid.empty()) {
      if (const auto gone = wait_until_gone(client, each); !gone) {
        code = fail(gone.error());
        continue;
      }
    }
    const int written = answer(fmt::format("pod {} {}\n", on_one_line(display_name(each.pod)),
                                           arguments.wait ? "deleted" : "is being deleted"));
    code = std::max(code, written);
  }
  return code;
}

// What of names, selectors, --all and -f is missing or too much; "": all is well.
std::string misuse(const DeleteArguments& arguments) {
  const ObjectQuery& query = arguments.query;
  const bool selects = !query.labels.empty() || !query.fields.empty();
  if (!arguments.files.empty()) return "";
  if (query.names.empty() && !selects && !arguments.all) {
    return "name the pods, or choose them with -l, --field-selector or --all";
  }
  if (arguments.all && (!query.names.empty() || selects)) {
    return "--all goes with neither names nor selectors";
  }
  const auto good = check_query(query);
  return good ? "" : good.error().message;
}

int run_delete(const DeleteArguments& arguments, const char* command) {
  const auto bad_usage = [&](const std::string& message) {
    complain(message);
    complain(fmt::format("see corehold {} --help", command));
    return kExitUsage;
  };
  const auto client = AgentClient::at(arguments.agent);
  if (!client) return fail_usage(client.error(), command);
  if (const std::string wrong = misuse(arguments); !wrong.empty()) return bad_usage(wrong);
  for (const std::string& given : arguments.query.names) {
    const auto pod = pod_name(given, arguments.query.namespace_name);
    if (!pod) return bad_usage(pod.error().message);
  }
  const auto pods = pods_of(*client, arguments);
  return pods ? delete_all(*client, *pods, arguments) : fail(pods.error());
}

void add_ways(CLI::App& command, DeleteArguments& arguments) {
  CLI::Option* grace =
      command.add_option("--grace-period", arguments.grace, "Seconds from SIGTERM to SIGKILL");
  grace->type_name("SECONDS")->check(whole_number());
  command.add_flag("--now", arguments.now, "Kill them after a second")->excludes(grace);
  command.add_flag("--wait", arguments.wait, "Wait until they are gone (default: true)");
  command.add_flag("--ignore-not-found", arguments.ignore_not_found,
                   "Be content when there is no such pod");
  add_agent_options(command, arguments.agent);
}

}  // namespace

void add_delete(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("delete", "Stop pods and forget them");
  command->require_subcommand(0, 1);
  command->footer(kDeleteFooter);
  const auto arguments =
      std::make_shared<DeleteArguments>();  // outlives this call, with the callback
  CLI::Option* files =
      command->add_option("-f,--filename", arguments->files, "A manifest; may be given again");
  files->type_name("FILE")->allow_extra_args(false);
  command
      ->add_option("-n,--namespace", arguments->query.namespace_name,
                   "Namespace of pods that name none (default: default)")
      ->type_name("NAMESPACE");
  add_ways(*command, *arguments);
  command->callback([command, arguments, &exit_code] {
    if (!command->get_subcommands().empty()) return;
    if (arguments->files.empty()) {
      complain("no delete command given; there is pod, and -f FILE");
      complain("see corehold delete --help");
      exit_code = kExitUsage;
      return;
    }
    exit_code = run_delete(*arguments, "delete");
  });

  CLI::App* pod = command->add_subcommand("pod", "Stop pods and forget them");
  pod->alias("pods");
  pod->alias("po");
  const auto chosen = std::make_shared<DeleteArguments>();
  pod->add_option("POD", chosen->query.names, "The pods")->type_name("...");
  add_namespace_options(*pod, chosen->query, "Their namespace (default: default)");
  add_selector_options(*pod, chosen->query);
  pod->add_flag("--all", chosen->all, "All pods of the namespace");
  add_ways(*pod, *chosen);
  pod->footer(kDeletePodFooter);
  pod->callback([chosen, files, &exit_code] {
    if (files->count() > 0) {
      complain("-f and pod cannot be given together");
      complain("see corehold delete --help");
      exit_code = kExitUsage;
      return;
    }
    exit_code = run_delete(*chosen, "delete pod");
  });
}

}  // namespace corehold
