// SPDX-License-Identifier: Apache-2.0
//
// corehold delete pod
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/pod_summary.h"
#include "base/code.h"
#include "cli/agent_client.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "sys/clock.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Waiting longer than this is worth a word.
constexpr seconds kPatience{3};

struct Arguments {
  AgentAddress agent{};
  std::vector<std::string> pods{};
  std::string namespace_name{};
  int grace = -1;
  bool now = false;
  bool wait = true;
};

constexpr const char* kFooter =
    "POD is NAME or NAMESPACE/NAME. Containers get SIGTERM, and SIGKILL when their time is up:\n"
    "--grace-period, else the pod's terminationGracePeriodSeconds, else 30 seconds. The CPUs are\n"
    "free once the pod is gone, which is what this command waits for.\n"
    "\n"
    "Examples:\n"
    "  corehold delete pod web\n"
    "  corehold delete pod db/pg-0 db/pg-1 --grace-period 5\n"
    "  corehold delete pod web --now           as --grace-period 1\n"
    "  corehold delete pod web --wait=false";

// Until the pod with that UID is gone.
Result<void> wait_until_gone(const AgentClient& client, const PodName& pod,
                             const std::string& uid) {
  const milliseconds began = steady_now();
  milliseconds pause{20};
  bool said = false;
  for (;;) {
    const ApiAnswer answer = TRY(client.ask({.target = pods_target(pod.namespace_name, pod.name)}));
    if (answer.failure && answer.failure->reason == StatusReason::kNotFound) return {};
    if (answer.failure) return error_of(*answer.failure);
    const PodSummary now = TRY(pod_summary(answer.body));
    if (now.uid != uid) return {};
    if (!said && steady_now() - began > kPatience) {
      complain(fmt::format("waiting for pod {} to end; ^C stops the waiting, not the deletion",
                           display_name(pod)));
      said = true;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<milliseconds>(pause * 2, milliseconds{500});
  }
}

Result<void> delete_one(const AgentClient& client, const PodName& pod, const Arguments& arguments) {
  std::string target = pods_target(pod.namespace_name, pod.name);
  const int grace = arguments.now ? 1 : arguments.grace;
  if (grace >= 0) target += fmt::format("?gracePeriodSeconds={}", grace);
  const ApiAnswer answer = TRY(client.ask({.method = "DELETE", .target = target}));
  if (answer.failure) return error_of(*answer.failure);
  if (!arguments.wait || is_status(answer.body)) return {};
  return wait_until_gone(client, pod, TRY(pod_summary(answer.body)).uid);
}

int run(const Arguments& arguments) {
  const auto bad_usage = [](const std::string& message) {
    complain(message);
    complain("see corehold delete pod --help");
    return kExitUsage;
  };
  const auto client = AgentClient::at(arguments.agent);
  if (!client) return bad_usage(client.error().message);
  std::vector<PodName> pods;
  pods.reserve(arguments.pods.size());
  for (const std::string& given : arguments.pods) {
    const auto pod = pod_name(given, arguments.namespace_name);
    if (!pod) return bad_usage(pod.error().message);
    pods.push_back(*pod);
  }
  int code = kExitDone;
  for (const PodName& pod : pods) {
    const auto done = delete_one(*client, pod, arguments);
    if (!done) {
      code = fail(done.error());
      continue;
    }
    const int written = answer(fmt::format("pod {} {}\n", on_one_line(display_name(pod)),
                                           arguments.wait ? "deleted" : "is being deleted"));
    code = std::max(code, written);
  }
  return code;
}

}  // namespace

void add_delete(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("delete", "Stop pods and forget them");
  command->require_subcommand(1);
  command->footer("Examples:\n  corehold delete pod web\n  corehold delete pod web --now");
  CLI::App* pod = command->add_subcommand("pod", "Stop pods and forget them");
  pod->alias("pods");
  const auto arguments = std::make_shared<Arguments>();  // outlives this call, with the callback
  pod->add_option("POD", arguments->pods, "The pods")->required()->type_name("...");
  pod->add_option("-n,--namespace", arguments->namespace_name, "Their namespace")
      ->type_name("NAMESPACE");
  CLI::Option* grace =
      pod->add_option("--grace-period", arguments->grace, "Seconds from SIGTERM to SIGKILL");
  grace->type_name("SECONDS")->check(whole_number());
  pod->add_flag("--now", arguments->now, "Kill them after a second")->excludes(grace);
  pod->add_flag("--wait", arguments->wait, "Wait until they are gone (default: true)");
  add_agent_options(*pod, arguments->agent);
  pod->footer(kFooter);
  pod->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace corehold
