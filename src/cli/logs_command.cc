// SPDX-License-Identifier: Apache-2.0
//
// corehold logs
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/agent_client.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/usage.h"

namespace corehold {
namespace {

struct Arguments {
  AgentAddress agent{};
  std::string pod{};
  std::string namespace_name{};
  std::string container{};
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  int tail = -1;
};

constexpr const char* kFooter =
    "POD is NAME or NAMESPACE/NAME. Without -c the pod must have only one container.\n"
    "\n"
    "Examples:\n"
    "  corehold logs web\n"
    "  corehold logs db/pg-0 -c main --tail 20\n"
    "  corehold logs web -f                    until the container ends, or ^C\n"
    "  corehold logs web -p                    of the run before the last restart";

std::string target_of(const PodName& pod, const Arguments& arguments) {
  std::vector<std::string> query;
  if (!arguments.container.empty()) {
    query.push_back("container=" + url_escape(arguments.container));
  }
  if (arguments.tail >= 0) query.push_back(fmt::format("tailLines={}", arguments.tail));
  if (arguments.follow) query.emplace_back("follow=true");
  if (arguments.previous) query.emplace_back("previous=true");
  if (arguments.timestamps) query.emplace_back("timestamps=true");
  const std::string target = pods_target(pod.namespace_name, pod.name) + "/log";
  return query.empty() ? target : fmt::format("{}?{}", target, fmt::join(query, "&"));
}

int run(const Arguments& arguments) {
  const auto pod = pod_name(arguments.pod, arguments.namespace_name);
  const auto client = AgentClient::at(arguments.agent);
  for (const auto* problem : {pod ? nullptr : &pod.error(), client ? nullptr : &client.error()}) {
    if (problem == nullptr) continue;
    complain(problem->message);
    complain("see corehold logs --help");
    return kExitUsage;
  }
  auto stream = client->open({.target = target_of(*pod, arguments)});
  if (!stream) return fail(stream.error());
  for (;;) {
    const auto text = stream->next();
    if (!text) return fail(text.error());
    if (text->empty()) return kExitDone;
    const int code = answer(*text);
    if (code != kExitDone) return code;
  }
}

}  // namespace

void add_logs(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("logs", "Show what a container has written");
  const auto arguments = std::make_shared<Arguments>();  // outlives this call, with the callback
  command->add_option("POD", arguments->pod, "The pod")->required();
  command->add_option("-n,--namespace", arguments->namespace_name, "Its namespace")
      ->type_name("NAMESPACE");
  command->add_option("-c,--container", arguments->container, "Which of its containers")
      ->type_name("NAME");
  command->add_flag("-f,--follow", arguments->follow, "Go on with what comes");
  command->add_flag("-p,--previous", arguments->previous, "Of the run before");
  command->add_option("--tail", arguments->tail, "Only the last lines (default: all)")
      ->type_name("LINES")
      ->check(whole_number());
  command->add_flag("--timestamps", arguments->timestamps, "With the time before each line");
  add_agent_options(*command, arguments->agent);
  command->footer(kFooter);
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace corehold
