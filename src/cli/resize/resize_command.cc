// SPDX-License-Identifier: Apache-2.0
//
// corehold resize pod
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "base/code.h"
#include "cli/cli.h"
#include "cli/client/agent_client.h"
#include "cli/output.h"
#include "cli/plan/plan_text.h"
#include "cli/plan/resize_words.h"
#include "cli/resize/resize_progress.h"
#include "cli/resize/resize_wait.h"
#include "cli/text_table.h"
#include "cli/usage.h"
#include "pod/pod_json.h"

namespace corehold {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr const char* kResizeFooter =
    "Examples:\n"
    "  corehold resize pod web --cpu 4         ask for it\n"
    "  corehold resize pod web --cpu 4 --wait  and wait until it is done\n"
    "  corehold resize pod --help              several containers, memory, what is refused";

constexpr const char* kResizePodFooter =
    "POD is NAME or NAMESPACE/NAME. Its containers go on running. The request becomes N, and a\n"
    "limit that was equal to it too, so that a Guaranteed pod stays one; a higher limit stays. "
    "For\n"
    "several containers in one resize, all of them or none, give -c and its amounts again.\n"
    "\n"
    "A container with CPUs of its own keeps those it has when it grows, and those it was promised\n"
    "at its start when it shrinks: fewer are refused. The node needs feature gate\n"
    "InPlacePodVerticalScalingExclusiveCPUs for that. What does not fit now is Deferred and tried\n"
    "again whenever CPUs come free; what cannot be, whoever leaves, is Infeasible.\n"
    "corehold plan --resize tells beforehand.\n"
    "\n"
    "The exit code is 0 when the resize is asked for, or with --wait is done; 1 when it is "
    "refused,\n"
    "Infeasible or not done in time. It stays asked for until something else is. With --wait CPUs\n"
    "that are about to leave are told with the time they have left; an agent that is restarted\n"
    "meanwhile is waited for, a minute when there is no --timeout.\n"
    "\n"
    "Examples:\n"
    "  corehold resize pod web --cpu 4\n"
    "  corehold resize pod db/pg-0 -c postgres --cpu 8 --memory 16Gi --wait\n"
    "  corehold resize pod web -c main --cpu 2 -c proxy --cpu 4 --wait --timeout 30";

struct ResizeArguments {
  AgentAddress agent{};
  std::string pod{};
  std::string namespace_name{};
  std::vector<std::string> containers{};
  std::vector<std::string> cpus{};
  std::vector<std::string> memories{};
  bool wait = false;
  int timeout = 0;  // seconds; 0: as long as it takes
};

// What one container is asked to become.
struct Change {
  std::string container{};                                  // "": the only one
  std::vector<std::pair<std::string, Quantity>> amounts{};  // by resource
};

// One for each -c, with the amounts in their order.
Result<std::vector<Change>> changes_of(const ResizeArguments& arguments) {
  if (arguments.cpus.empty() && arguments.memories.empty()) {
    return bad_argument("say what it should have, with --cpu, --memory or both");
  }
  std::vector<Change> changes(std::max<std::size_t>(1, arguments.containers.size()));
  for (std::size_t i = 0; i < arguments.containers.size(); ++i) {
    changes[i].container = arguments.containers[i];
  }
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"cpu", &arguments.cpus}, {"memory", &arguments.memories}};
  for (const auto& [resource, texts] : lists) {
    if (texts->empty()) continue;
    if (texts->size() != changes.size()) {
      return bad_argument(
          fmt::format("--{0} is given {1}, for {2}: give -c and --{0} once for each", resource,
                      counted(texts->size(), "time"), counted(changes.size(), "container")));
    }
    for (std::size_t i = 0; i < texts->size(); ++i) {
      auto amount = positive_amount((*texts)[i]);
      if (!amount) return bad_argument(fmt::format("--{}: {}", resource, amount.error().message));
      changes[i].amounts.emplace_back(resource, *std::move(amount));
    }
  }
  return changes;
}

// The container meant. Fails with kInvalid, naming those there are.
Result<const Container*> container_of(const Pod& pod, const std::string& name) {
  const std::vector<std::string> names = resizable_containers(pod);
  if (name.empty() && names.size() == 1) return pod.find(names.front());
  const Container* found = pod.find(name);
  if (!name.empty() && found != nullptr) return found;
  const std::string there = fmt::format("{}", fmt::join(names, ", "));
  if (name.empty()) {
    return bad_argument(
        fmt::format("pod {} has the containers {}; say which with -c", display_name(pod), there));
  }
  return bad_argument(
      fmt::format("pod {} has no container {:?}; it has {}", display_name(pod), name, there));
}

// What is to be sent and waited for.
struct ResizeRequest {
  json::object patch{};
  std::vector<WantedAmount> wanted{};
  std::string told{};  // "main cpu 2 -> 4, memory 1Gi -> 2Gi"
  std::string undo{};  // " -c main --cpu 2 --memory 1Gi"
};

// A pod that does not run yet has what it asks for.
std::string had(const json::object& object, const Container& container,
                const std::string& resource) {
  std::string granted = granted_amount(object, container.name, resource);
  if (!granted.empty()) return granted;
  const auto found = container.resources.requests.find(resource);
  return found == container.resources.requests.end() ? "-" : found->second.str();
}

// Only what changes: who else has written what into the pod does not matter.
Result<ResizeRequest> request_for(const json::object& object, const std::vector<Change>& changes) {
  const Pod pod = TRY(pod_from_json(object));
  ResizeRequest request;
  json::object lists{{"containers", json::array()}, {"initContainers", json::array()}};
  std::vector<std::string> seen;
  for (const Change& change : changes) {
    const Container* container = TRY(container_of(pod, change.container));
    if (std::find(seen.begin(), seen.end(), container->name) != seen.end()) {
      return bad_argument(fmt::format("-c {} is given twice", container->name));
    }
    seen.push_back(container->name);
    json::object requests;
    json::object limits;
    std::vector<std::string> parts;
    std::vector<std::string> back{"-c " + container->name};
    for (const auto& [resource, amount] : change.amounts) {
      const std::string now = had(object, *container, resource);
      const Resources then = with_amount(container->resources, resource, amount);
      requests[resource] = amount.str();
      if (then.limits.contains(resource)) limits[resource] = then.limits.at(resource).str();
      request.wanted.push_back(
          {.container = container->name, .resource = resource, .request = amount});
      parts.push_back(fmt::format("{} {} -> {}", resource, now, amount.str()));
      back.push_back(fmt::format("--{} {}", resource, now));
    }
    json::object resources{{"requests", std::move(requests)}};
    if (!limits.empty()) resources["limits"] = std::move(limits);
    const bool is_app = container->kind == Container::Kind::kApp;
    lists[is_app ? "containers" : "initContainers"].get_array().push_back(
        {{"name", container->name}, {"resources", std::move(resources)}});
    request.undo += on_one_line(fmt::format(" {}", fmt::join(back, " ")));
    if (!request.told.empty()) request.told += "; ";
    request.told += on_one_line(fmt::format("{} {}", container->name, fmt::join(parts, ", ")));
  }
  json::object spec;
  for (auto& member : lists) {
    if (!member.value().get_array().empty()) spec[member.key()] = std::move(member.value());
  }
  request.patch["spec"] = std::move(spec);
  return request;
}

Result<json::object> fetch_pod(const AgentClient& client, const PodName& name) {
  json::value found = TRY(client.get(pods_target(name.namespace_name, name.name)));
  if (!found.is_object()) return Error{Code::kCorrupt, "the agent's answer is no pod"};
  return std::move(found.get_object());
}

// Whether it is refused because the node does not declare what it needs.
bool is_missing_feature(const ApiStatus& failure) {
  return failure.reason == StatusReason::kForbidden &&
         failure.message.find("requires features") != std::string::npos;
}

int send(const AgentClient& client, const PodName& name, const ResizeRequest& request,
         const ResizeArguments& arguments) {
  const auto sent = client.ask({.method = "PATCH",
                                .target = pods_target(name.namespace_name, name.name) + "/resize" +
                                          "?fieldManager=corehold-resize",
                                .body = json::serialize(request.patch),
                                .content_type = "application/strategic-merge-patch+json"});
  if (!sent) return fail(sent.error());
  if (sent->failure) {
    const int code = fail(error_of(*sent->failure));
    if (is_missing_feature(*sent->failure)) {
      complain("corehold describe node tells why the node does not have it");
    }
    return code;
  }
  const int written =
      answer(fmt::format("pod {} asked for: {}\n", on_one_line(display_name(name)), request.told));
  if (written != kExitDone) return written;
  const json::object& pod = as_object_or_empty(sent->body);
  const AskedResize asked{
      .pod = name,
      .uid = std::string(look_text(pod, {"metadata", "uid"})),
      .wanted = request.wanted,
      .undo = fmt::format("resize pod {}{}", on_one_line(display_name(name)), request.undo)};
  if (arguments.wait) return wait_for_resize(client, asked, seconds(arguments.timeout));
  return tell_resize(asked, resize_progress(pod, request.wanted));
}

int run_resize(const ResizeArguments& arguments) {
  constexpr const char* kCommand = "resize pod";
  const auto changes = changes_of(arguments);
  if (!changes) return fail_usage(changes.error(), kCommand);
  if (arguments.timeout > 0 && !arguments.wait) {
    return fail_usage(bad_argument("--timeout goes with --wait"), kCommand);
  }
  const auto name = pod_name(arguments.pod, arguments.namespace_name);
  if (!name) return fail_usage(name.error(), kCommand);
  const auto client = AgentClient::at(arguments.agent);
  if (!client) return fail_usage(client.error(), kCommand);
  const auto pod = fetch_pod(*client, *name);
  if (!pod) return fail(pod.error());
  const auto request = request_for(*pod, *changes);
  if (!request) return fail_usage(request.error(), kCommand);
  return send(*client, *name, *request, arguments);
}

}  // namespace

void add_resize(CLI::App& root, int& exit_code) {
  CLI::App* command =
      root.add_subcommand("resize", "Give containers more or fewer CPUs while they run");
  command->require_subcommand(1);
  command->footer(kResizeFooter);
  CLI::App* pod =
      command->add_subcommand("pod", "Give its containers more or fewer CPUs while they run");
  pod->alias("pods");
  pod->alias("po");
  const auto arguments =
      std::make_shared<ResizeArguments>();  // outlives this call, with the callback
  pod->add_option("POD", arguments->pod, "The pod")->required();
  pod->add_option("-n,--namespace", arguments->namespace_name, "Its namespace (default: default)")
      ->type_name("NAMESPACE");
  pod->add_option("-c,--container", arguments->containers,
                  "Which of its containers; may be given again")
      ->type_name("NAME")
      ->allow_extra_args(false);
  pod->add_option("--cpu", arguments->cpus, "CPUs it should have: 4, 500m")
      ->type_name("N")
      ->allow_extra_args(false);
  pod->add_option("--memory", arguments->memories, "Memory it should have: 512Mi")
      ->type_name("AMOUNT")
      ->allow_extra_args(false);
  pod->add_flag("--wait", arguments->wait, "Wait until it is done, and tell how it goes");
  pod->add_option("--timeout", arguments->timeout, "Wait no longer than so many seconds")
      ->type_name("SECONDS")
      ->check(whole_number());
  add_agent_options(*pod, arguments->agent);
  pod->footer(kResizePodFooter);
  pod->callback([arguments, &exit_code] { exit_code = run_resize(*arguments); });
}

}  // namespace corehold
