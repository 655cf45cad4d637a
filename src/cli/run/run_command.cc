// SPDX-License-Identifier: Apache-2.0
//
// corehold run
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/node/node_object.h"
#include "api/own/run_message.h"
#include "base/code.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/client/agent_client.h"
#include "cli/output.h"
#include "pod/quantity.h"
#include "sys/clock.h"
#include "sys/process/held_child.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;

constexpr const char* kTarget = "/apis/corehold.dev/v1alpha1/run";

// How long to wait at the end for the agent to say that the CPUs are free again.
constexpr milliseconds kFarewell{2000};

struct RunArguments {
  AgentAddress agent{};
  std::string cpus{};
  std::string name{};
  std::string memory{};
  bool wait = false;
  bool verbose = false;
  std::string command{};
};

constexpr const char* kRunFooter =
    "The command runs as you, here, on this terminal, with your environment and limits; only the\n"
    "CPUs are its own, and nobody else runs on them until it and all it has started have ended.\n"
    "It ends with this command, whatever ends that.\n"
    "\n"
    "The exit code is the command's, 128 + N when signal N ended it, 127 when there is no such\n"
    "command and 126 when it cannot be run. 1: the CPUs cannot be had; 2: bad usage.\n"
    "\n"
    "Examples:\n"
    "  corehold run --cpus 4 -- ./app --fast\n"
    "  corehold run --cpus 2 --wait -- make -j2    when they are free\n"
    "  corehold run --cpus 1 -v -- nproc";

Result<std::int64_t> count_of(const std::string& text) {
  const auto amount = Quantity::parse(text);
  if (amount && amount->sign() > 0 && Quantity::of(amount->value()) == *amount) {
    return amount->value();
  }
  return Error{Code::kInvalid,
               fmt::format("--cpus {:?} must be a whole number of CPUs, 1 or more", text)};
}

// JSON holds text only; the request has the command for show.
std::string as_text(const std::string& bytes) {
  return is_utf8(bytes) ? bytes : on_one_line(bytes);
}

using Words = std::vector<std::string>;

// The command with its arguments, as they were given.
Result<Words> words_of(const CLI::App& command) {
  Words words = command.get_option("COMMAND...")->results();
  Words rest = command.remaining();
  if (!rest.empty() && rest.front() == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() && rest.front().starts_with('-')) {
    return Error{
        Code::kInvalid,
        fmt::format("unknown option {:?}; options of the command come after --", rest.front())};
  }
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

Result<RunRequest> request_of(const RunArguments& arguments, const Words& words) {
  const auto cpus = TRY(count_of(arguments.cpus));
  RunRequest request{
      .name = arguments.name, .cpus = cpus, .memory = arguments.memory, .wait = arguments.wait};
  if (!arguments.memory.empty()) {
    const auto amount = Quantity::parse(arguments.memory);
    if (!amount || amount->sign() <= 0) {
      return Error{Code::kInvalid,
                   fmt::format("--memory {:?} must be an amount such as 512Mi", arguments.memory)};
    }
  }
  request.command.reserve(words.size());
  for (const std::string& word : words) request.command.push_back(as_text(word));
  std::error_code ec;
  request.working_directory = as_text(std::filesystem::current_path(ec).string());
  return request;
}

// Waits for the agent's word. Says on the way what it waits for.
Result<RunGranted> wait_for_grant(HttpStream& stream) {
  std::string last;
  for (;;) {
    const auto line = TRY(stream.next_line());
    if (!line) {
      return Error{Code::kIo, "the agent has gone away before it gave CPUs to the command"};
    }
    if (line->empty()) continue;
    const RunLine word = TRY(parse_run_line(*line));
    if (const auto* granted = std::get_if<RunGranted>(&word)) return *granted;
    if (const auto* refused = std::get_if<ApiStatus>(&word)) return error_of(*refused);
    const std::string& message = std::get_if<RunWaiting>(&word)->message;
    if (message != last) complain("waiting: " + message);
    last = message;
  }
}

// The agent ends its answer when the CPUs are free again, so that the next command finds
// them so.
void wait_for_release(HttpStream& stream) {
  const milliseconds until = steady_now() + kFarewell;
  for (;;) {
    const milliseconds left = until - steady_now();
    if (left.count() <= 0) return;
    pollfd readable{.fd = stream.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, static_cast<int>(left.count())) <= 0) return;
    const auto piece = stream.next();
    if (!piece || piece->empty()) return;
  }
}

// What the node says of itself: whether its CPUs are there, and whether they are the command's
// alone. No value: it does not say, and is a real one.
std::optional<NodeSummary> node_of(const AgentClient& client) {
  const auto answer = client.get("/api/v1/nodes");
  if (!answer || !answer->is_object()) return std::nullopt;
  const boost::json::value* items = answer->get_object().if_contains("items");
  if (items == nullptr || !items->is_array() || items->get_array().empty()) return std::nullopt;
  auto node = node_summary(items->get_array().front());
  if (!node) return std::nullopt;
  return *std::move(node);
}

int refused(const Error& error, const RunArguments& arguments) {
  complain(error.message);
  if (error.code == Code::kExhausted && !arguments.wait) {
    complain("--wait waits until there is room");
  }
  return kExitFailed;
}

int run_child_command(const RunArguments& arguments, const Words& words) {
  const auto client = AgentClient::at(arguments.agent);
  if (!client) return fail_usage({Code::kInvalid, client.error().message}, "run");
  auto request = request_of(arguments, words);
  if (!request) return fail_usage({Code::kInvalid, request.error().message}, "run");
  if (const auto missing = look_for(words.front())) {
    complain(missing->message);
    return missing->exit_code;
  }
  auto child = HeldChild::fork(words);
  if (!child) return fail(child.error());
  request->pid = child->pid();
  auto stream = client->open(
      {.method = "POST", .target = kTarget, .body = boost::json::serialize(to_json(*request))});
  if (!stream) return refused(stream.error(), arguments);
  const auto granted = wait_for_grant(*stream);
  if (!granted) return refused(granted.error(), arguments);
  const std::optional<NodeSummary> node = node_of(*client);
  const bool is_simulated = node && node->confinement == "simulated";
  if (arguments.verbose) {
    complain(fmt::format("pod {} {} CPUs {}", granted->pod, is_simulated ? "has" : "runs on",
                         granted->cpus.empty() ? "of everybody (policy none)" : granted->cpus));
  }
  if (arguments.verbose && node && !node->intruders.empty()) complain(node->intruders);
  if (is_simulated) complain("simulated: runs unconfined on this machine");
  const auto code = child->run();
  if (!code) {
    complain(code.error().message);
    return child->failure().exit_code;
  }
  wait_for_release(*stream);
  return *code;
}

}  // namespace

void add_run(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("run", "Run a command on CPUs of its own");
  const auto arguments = std::make_shared<RunArguments>();  // outlives this call, with the callback
  command->add_option("--cpus", arguments->cpus, "How many CPUs")->type_name("N")->required();
  command->add_option("--name", arguments->name, "What the pod is called (default: thought up)")
      ->type_name("NAME");
  command
      ->add_option("--memory", arguments->memory,
                   "Memory to book where memoryManagerPolicy is Static")
      ->type_name("SIZE");
  command->add_flag("--wait", arguments->wait, "Wait until the CPUs can be had");
  command->add_flag("-v,--verbose", arguments->verbose, "Say which CPUs it gets");
  add_agent_options(*command, arguments->agent);
  // One word for CLI11, which would take a list of them apart; the others are what is left.
  command->add_option("COMMAND...", arguments->command, "The command and its arguments, after --")
      ->required()
      ->expected(1)
      ->allow_extra_args(false);
  command->prefix_command();
  command->footer(kRunFooter);
  command->callback([arguments, command, &exit_code] {
    const auto words = words_of(*command);
    exit_code = words ? run_child_command(*arguments, *words)
                      : fail_usage({Code::kInvalid, words.error().message}, "run");
  });
}

}  // namespace corehold
