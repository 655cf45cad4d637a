// SPDX-License-Identifier: Apache-2.0
//
// corehold manual | completion | complete: hidden commands for packages and shells.
#include <algorithm>
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
#include "cli/client/object_query.h"
#include "cli/output.h"
#include "cli/shell/command_tree.h"
#include "cli/shell/completion.h"
#include "cli/shell/manual.h"

namespace corehold {
namespace {

namespace json = boost::json;

// A person waits for the completion with a finger on the key.
constexpr std::chrono::milliseconds kCompletionPatience{1000};

// Not in any group: not for people, and not in the help.
CLI::App* add_hidden(CLI::App& root, const char* name, const char* about) {
  return root.add_subcommand(name, about)->group("");
}

// What the agent answers, or nothing: a completion shows no errors.
json::value ask_quickly(const Completion& line, const std::string& target) {
  AgentAddress address;
  if (!line.root.empty()) address.root = line.root;
  address.server = line.server;
  address.kubeconfig = line.kubeconfig;
  const auto client = AgentClient::at(address);
  if (!client) return nullptr;
  auto answer = client->ask({.target = target, .patience = kCompletionPatience});
  return answer && !answer->failure ? std::move(answer->body) : json::value();
}

void add_pods(const Completion& line, std::vector<Candidate>& found) {
  const json::value list = ask_quickly(line, "/api/v1/pods");
  const bool whole = line.prefix.find('/') != std::string::npos;
  const std::string usual = line.namespace_name.empty() ? "default" : line.namespace_name;
  for (const json::value& value : look_array(as_object_or_empty(list), {"items"})) {
    const json::object& pod = as_object_or_empty(value);
    const std::string_view of = look_text(pod, {"metadata", "namespace"});
    const std::string_view name = look_text(pod, {"metadata", "name"});
    const std::string about(look_text(pod, {"status", "phase"}));
    if (of == usual && !whole) {
      found.push_back({.text = std::string(name), .about = about});
    } else if (line.namespace_name.empty()) {
      found.push_back({.text = fmt::format("{}/{}", of, name), .about = about});
    }
  }
}

void add_containers(const Completion& line, std::vector<Candidate>& found) {
  if (line.arguments.empty()) return;
  const auto pod = pod_name(line.arguments.front(), line.namespace_name);
  if (!pod) return;
  const json::value answer = ask_quickly(line, pods_target(pod->namespace_name, pod->name));
  for (const char* list : {"initContainers", "containers"}) {
    for (const json::value& container : look_array(as_object_or_empty(answer), {"spec", list})) {
      found.push_back({.text = std::string(look_text(as_object_or_empty(container), {"name"}))});
    }
  }
}

void add_names(const Completion& line, const std::string& target, std::vector<Candidate>& found) {
  const json::value list = ask_quickly(line, target);
  for (const json::value& value : look_array(as_object_or_empty(list), {"items"})) {
    found.push_back(
        {.text = std::string(look_text(as_object_or_empty(value), {"metadata", "name"}))});
  }
}

std::string lines_of(const Completion& line) {
  std::vector<Candidate> found = line.candidates;
  std::string rest;
  switch (line.next) {
    case NextWord::kNothing:
      break;
    case NextWord::kFile:
      rest = ":files\n";
      break;
    case NextWord::kDirectory:
      rest = ":directories\n";
      break;
    case NextWord::kPod:
      add_pods(line, found);
      break;
    case NextWord::kNode:
      add_names(line, "/api/v1/nodes", found);
      break;
    case NextWord::kNamespace:
      add_names(line, "/api/v1/namespaces", found);
      break;
    case NextWord::kContainer:
      add_containers(line, found);
      break;
  }
  std::string text;
  for (const Candidate& candidate : found) {
    if (!candidate.text.starts_with(line.prefix)) continue;
    text += on_one_line(candidate.text);
    if (!candidate.about.empty()) text += "\t" + on_one_line(candidate.about);
    text += "\n";
  }
  return text + rest;
}

}  // namespace

void add_manual(CLI::App& root, int& exit_code) {
  CLI::App* command = add_hidden(root, "manual", "Write the manual page, corehold.1");
  command->footer("Examples:\n  corehold manual > corehold.1\n  corehold manual | man -l -");
  command->callback(
      [&root, &exit_code] { exit_code = answer(manual_page(command_tree(root), root.version())); });
}

void add_completion(CLI::App& root, int& exit_code) {
  CLI::App* command = add_hidden(root, "completion", "Write the completion script of a shell");
  const auto shell = std::make_shared<std::string>();  // outlives this call, with the callback
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  source <(corehold completion bash)\n"
      "  corehold completion zsh > /usr/share/zsh/vendor-completions/_corehold\n"
      "  corehold completion fish | source");
  command->callback(
      [shell, &exit_code] { exit_code = answer(completion_script(*shell).value_or("")); });
}

void add_complete(CLI::App& root, int& exit_code) {
  CLI::App* command = add_hidden(root, "complete", "What may come next on a command line");
  const auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("WORD", *words, "What is there, the last word to be completed");
  command->footer("Examples:\n  corehold complete -- get pods --out");
  command->callback([&root, words, &exit_code] {
    exit_code = answer(lines_of(complete(command_tree(root), *words)));
  });
}

}  // namespace corehold
