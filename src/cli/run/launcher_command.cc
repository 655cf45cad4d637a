// SPDX-License-Identifier: Apache-2.0
//
// What the packaged services run beside the agent; not for people.
// corehold launcher: starts monitors for an agent that lives in a sandbox. Started by a
// service manager, which hands it its socket.
// corehold hold: keeps the cgroup that it is started in until it is told to end.
#include <csignal>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "runtime/cgroup/hold_cgroup.h"
#include "runtime/monitor/launcher.h"
#include "sys/process/notify.h"

namespace corehold {

namespace {

int hold() {
  sigset_t ends{};
  ::sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT}) ::sigaddset(&ends, number);
  static_cast<void>(::sigprocmask(SIG_BLOCK, &ends, nullptr));
  const auto leaf = step_into_leaf("/proc");
  if (!leaf) return fail(leaf.error());
  notify_ready(leaf->empty() ? "there is no cgroup v2 to hold" : *leaf);
  int number = 0;
  return ::sigwait(&ends, &number) == 0 ? kExitDone : kExitFailed;
}

}  // namespace

void add_hold(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("hold", "Keep a cgroup for containers");
  command->group("");
  command->callback([&exit_code] { exit_code = hold(); });
}

void add_launcher(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("launcher", "Start monitors for a sandboxed agent");
  command->group("");
  const auto directory = std::make_shared<std::string>("/var/lib/corehold");  // for the callback
  command->add_option("--root", *directory, "Where the node keeps its state")->type_name("DIR");
  command->callback([directory, &exit_code] {
    const auto socket = activation_socket();
    exit_code = fail(socket ? serve_launcher(*socket, {.root = *directory}) : socket.error());
  });
}

}  // namespace corehold
