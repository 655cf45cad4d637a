// SPDX-License-Identifier: Apache-2.0
//
// corehold logs
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "base/code.h"
#include "cli/cli.h"
#include "cli/client/agent_client.h"
#include "cli/client/object_query.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "config/duration.h"

namespace corehold {
namespace {

namespace json = boost::json;

struct LogsArguments {
  AgentAddress agent{};
  std::string pod{};
  std::string namespace_name{};
  std::string container{};
  bool all_containers = false;
  bool prefix = false;
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  int tail = -1;
  std::string since{};
};

constexpr const char* kLogsFooter =
    "POD is NAME or NAMESPACE/NAME. Without -c the pod must have only one container.\n"
    "\n"
    "Examples:\n"
    "  corehold logs web\n"
    "  corehold logs db/pg-0 -c main --tail 20\n"
    "  corehold logs web -f                    until the container ends, or ^C\n"
    "  corehold logs web -p                    of the run before the last restart\n"
    "  corehold logs web --since 10m           not what is older\n"
    "  corehold logs web --all-containers --prefix -f";

// Rounded up: nothing is missing. REQUIRES: `text` has been checked.
std::string seconds_of(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) return "";
  return fmt::to_string((duration->count() + 999) / 1000);
}

std::string target_of(const PodName& pod, const LogsArguments& arguments,
                      const std::string& container) {
  const auto flag = [](bool on) { return std::string(on ? "true" : ""); };
  return with_query(pods_target(pod.namespace_name, pod.name) + "/log",
                    {{"container", container},
                     {"tailLines", arguments.tail < 0 ? "" : fmt::to_string(arguments.tail)},
                     {"sinceSeconds", seconds_of(arguments.since)},
                     {"follow", flag(arguments.follow)},
                     {"previous", flag(arguments.previous)},
                     {"timestamps", flag(arguments.timestamps)}});
}

// The log of one container as it comes.
int show_one(const AgentClient& client, const std::string& target) {
  auto stream = client.open({.target = target});
  if (!stream) return fail(stream.error());
  for (;;) {
    const auto text = stream->next();
    if (!text) return fail(text.error());
    if (text->empty()) return kExitDone;
    const int code = answer(*text);
    if (code != kExitDone) return code;
  }
}

// The logs of several, a line at a time.
class Chorus {
 public:
  Chorus(const AgentClient& client, const PodName& pod, const LogsArguments& arguments)
      : client_(client), pod_(pod), arguments_(arguments) {}

  int show(const std::vector<std::string>& containers) {
    std::vector<std::thread> threads;
    for (const std::string& container : containers) {
      if (arguments_.follow) {
        threads.emplace_back([this, container] { show_one(container); });
      } else {
        show_one(container);
      }
    }
    for (std::thread& thread : threads) thread.join();
    return code_;
  }

 private:
  void show_one(const std::string& container) {
    auto stream = client_.open({.target = target_of(pod_, arguments_, container)});
    if (!stream) return note(fail(wrap("container " + container, stream.error())));
    const std::string prefix =
        arguments_.prefix ? fmt::format("[{}] ", on_one_line(container)) : "";
    for (;;) {
      const auto line = stream->next_line();
      if (!line) return note(fail(wrap("container " + container, line.error())));
      if (!*line) return;
      const std::lock_guard lock(output_);
      const int code = answer(fmt::format("{}{}\n", prefix, **line));
      code_ = std::max(code_, code);
      if (code != kExitDone) return;
    }
  }

  void note(int code) {
    const std::lock_guard lock(output_);
    code_ = std::max(code_, code);
  }

  const AgentClient& client_;
  const PodName& pod_;
  const LogsArguments& arguments_;
  // Guards standard output and code_. Each log is waited for by a thread of its own, because
  // the client blocks; there is no loop here that one could post to.
  std::mutex output_{};
  int code_ = kExitDone;
};

// In the order in which they start.
Result<std::vector<std::string>> containers_of(const AgentClient& client, const PodName& pod) {
  const json::value found = TRY(client.get(pods_target(pod.namespace_name, pod.name)));
  std::vector<std::string> names;
  for (const char* list : {"initContainers", "containers"}) {
    for (const json::value& container : look_array(as_object_or_empty(found), {"spec", list})) {
      names.emplace_back(look_text(as_object_or_empty(container), {"name"}));
    }
  }
  return names;
}

int run_logs(const LogsArguments& arguments) {
  const auto pod = pod_name(arguments.pod, arguments.namespace_name);
  const auto client = AgentClient::at(arguments.agent);
  for (const auto* problem : {pod ? nullptr : &pod.error(), client ? nullptr : &client.error()}) {
    if (problem != nullptr) return fail_usage(*problem, "logs");
  }
  if (!arguments.all_containers && !arguments.prefix) {
    return show_one(*client, target_of(*pod, arguments, arguments.container));
  }
  std::vector<std::string> containers{arguments.container};
  if (arguments.container.empty()) {
    auto all = containers_of(*client, *pod);
    if (!all) return fail(all.error());
    containers = *std::move(all);
    if (!arguments.all_containers && containers.size() > 1) {
      return fail({Code::kInvalid, fmt::format("pod {} has the containers {}; say which with -c, "
                                               "or --all-containers",
                                               display_name(*pod), fmt::join(containers, ", "))});
    }
  }
  return Chorus(*client, *pod, arguments).show(containers);
}

std::string is_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  return duration ? "" : duration.error().message;
}

}  // namespace

void add_logs(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("logs", "Show what a container has written");
  const auto arguments =
      std::make_shared<LogsArguments>();  // outlives this call, with the callback
  command->add_option("POD", arguments->pod, "The pod")->required();
  command->add_option("-n,--namespace", arguments->namespace_name, "Its namespace")
      ->type_name("NAMESPACE");
  CLI::Option* one =
      command->add_option("-c,--container", arguments->container, "Which of its containers");
  one->type_name("NAME");
  command->add_flag("--all-containers", arguments->all_containers, "All of them")->excludes(one);
  command->add_flag("--prefix", arguments->prefix, "With the container before each line");
  command->add_flag("-f,--follow", arguments->follow, "Go on with what comes");
  command->add_flag("-p,--previous", arguments->previous, "Of the run before");
  command->add_option("--tail", arguments->tail, "Only the last lines (default: all)")
      ->type_name("LINES")
      ->check(whole_number());
  command->add_option("--since", arguments->since, "Only what is younger: 30s, 10m, 2h")
      ->type_name("DURATION")
      ->check(is_duration);
  command->add_flag("--timestamps", arguments->timestamps, "With the time before each line");
  add_agent_options(*command, arguments->agent);
  command->footer(kLogsFooter);
  command->callback([arguments, &exit_code] { exit_code = run_logs(*arguments); });
}

}  // namespace corehold
