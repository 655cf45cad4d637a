// SPDX-License-Identifier: Apache-2.0
//
// corehold quiet
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/client/agent_client.h"
#include "cli/get/get_show.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/quiet/quiet_render.h"
#include "cli/usage.h"
#include "kernel/kernel_facts.h"
#include "kernel/kernel_settings.h"
#include "kernel/machine_snapshot.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

constexpr const char* kQuietFooter =
    "Without arguments: the CPUs that containers hold, or all where nobody holds any. CPUs are a\n"
    "list such as 2 or 2-5,8. It works with and without an agent and changes nothing.\n"
    "\n"
    "WHO MAY RUN is by affinity: tasks by their cgroup, kernel threads, interrupts. WHO DID is "
    "what\n"
    "the kernel has counted meanwhile; a task's time counts where it ran last.\n"
    "\n"
    "REMOVED BY says what keeps it away from a CPU that a container holds:\n"
    "  level fence|irqs|full  isolation.level of the node\n"
    "  boot PARAMETER         on the kernel's command line (isolcpus=managed_irq for managed_irq)\n"
    "  partition              annotation corehold.dev/quiet: partition of the pod\n"
    "  full-pcpus-only        option of the policy: whole cores\n"
    "  nothing                it belongs to the CPU\n"
    "\n"
    "ADVICE names settings of the machine that cost time. Corehold does not write them.\n"
    "\n"
    "Examples:\n"
    "  corehold quiet                      the CPUs that are held, for 5 seconds\n"
    "  corehold quiet 2-3 --seconds 60\n"
    "  corehold quiet pod web -o json";

struct QuietArguments {
  std::vector<std::string> what{};
  int seconds = 5;
  std::string format = "table";
  AgentAddress agent{};
};

// Who holds which CPUs, as far as that is known.
struct Holders {
  std::vector<QuietHolder> all{};
  std::string from{};  // how it is known, or why not
};

// What was asked for on the command line.
struct Chosen {
  CpuSet cpus{};                    // given as such
  std::vector<std::string> pods{};  // names
};

Result<Chosen> chosen_in(const std::vector<std::string>& words) {
  Chosen chosen;
  if (words.empty()) return chosen;
  if (words.front() == "pod" || words.front() == "pods") {
    chosen.pods.assign(words.begin() + 1, words.end());
    if (chosen.pods.empty()) return bad_argument("pod needs a name: corehold quiet pod web");
    return chosen;
  }
  for (const std::string& word : words) {
    const auto cpus = CpuSet::parse(word);
    if (!cpus || cpus->empty()) {
      return bad_argument(
          fmt::format("{:?} is no list of CPUs such as 2 or 2-5; for a pod: pod {}", word, word));
    }
    chosen.cpus |= *cpus;
  }
  return chosen;
}

std::vector<QuietHolder> holders_in(const CpuMap& map) {
  std::vector<QuietHolder> holders;
  for (const CpuHolder& container : map.containers) {
    holders.push_back({.name = fmt::format("{}/{} {}", container.namespace_name, container.pod,
                                           container.container),
                       .cpus = container.assigned,
                       .cgroup = fmt::format("/{}/{}", container.uid, container.container)});
  }
  return holders;
}

// The CPUs of pods by their names. Fails with kNotFound for one that holds none.
Result<CpuSet> cpus_of(const std::vector<std::string>& pods, const CpuMap& map) {
  CpuSet cpus;
  for (const std::string& given : pods) {
    const PodName name = TRY(pod_name(given, ""));
    CpuSet held;
    for (const CpuHolder& container : map.containers) {
      if (container.pod != name.name || container.namespace_name != name.namespace_name) continue;
      held |= container.assigned;
    }
    if (held.empty()) {
      return Error{Code::kNotFound,
                   fmt::format("pod {} holds no CPUs of its own; corehold get cpus shows who does",
                               display_name(name))};
    }
    cpus |= held;
  }
  return cpus;
}

struct QuietTarget {
  CpuSet cpus{};
  Holders holders{};
};

Result<QuietTarget> target_of(const QuietArguments& arguments, const Chosen& chosen,
                              const CpuSet& online) {
  const AgentClient client = TRY(AgentClient::at(arguments.agent));
  if (!client.is_local()) {
    return bad_argument("the report is about this machine: --server must be unix:PATH");
  }
  QuietTarget target;
  const auto map = fetch_map(client);
  if (!map && !chosen.pods.empty()) return map.error();
  if (map) {
    target.holders = {.all = holders_in(*map), .from = "as the agent says"};
    target.cpus = chosen.pods.empty() ? map->exclusive() & online : TRY(cpus_of(chosen.pods, *map));
    if (target.holders.all.empty()) target.holders.from = "none, as the agent says";
  } else {
    target.holders.from = map.error().code == Code::kNotFound
                              ? "not known: no agent on this machine"
                              : fmt::format("not known: {}", map.error().message);
  }
  if (!chosen.cpus.empty()) target.cpus = chosen.cpus;
  if (target.cpus.empty()) target.cpus = online;
  if (!target.cpus.is_subset_of(online)) {
    return Error{Code::kNotFound, fmt::format("CPUs {} are not online; online: {}",
                                              (target.cpus - online).str(), online.str())};
  }
  return target;
}

// Where containers are confined by affinity alone no cgroup tells their tasks: then it is the
// mark in their environment, together with where they may run.
void find_processes(const MachineSnapshot& snapshot, std::vector<QuietHolder>& holders) {
  const bool all_known =
      std::all_of(holders.begin(), holders.end(), [&snapshot](const QuietHolder& holder) {
        return std::any_of(snapshot.tasks.begin(), snapshot.tasks.end(),
                           [&holder](const Task& task) { return holder.owns(task); });
      });
  if (all_known) return;
  for (const Task& task : snapshot.tasks) {
    if (task.tid != task.pid || is_kernel_thread(task) || !mark_of(task.pid)) continue;
    for (QuietHolder& holder : holders) {
      const bool is_new = holder.processes.empty() || holder.processes.back() != task.pid;
      if (is_new && task.affinity.is_subset_of(holder.cpus)) holder.processes.push_back(task.pid);
    }
  }
}

int run_quiet(const QuietArguments& arguments) {
  const auto chosen = chosen_in(arguments.what);
  if (!chosen) return fail_usage(chosen.error(), "quiet");
  auto kernel = read_kernel_facts();
  if (!kernel) return fail(kernel.error());
  auto target = target_of(arguments, *chosen, kernel->online);
  if (!target) return fail_usage(target.error(), "quiet");
  auto settings = read_kernel_settings(target->cpus);
  const auto before = read_machine();
  if (!before) return fail(before.error());
  std::this_thread::sleep_for(std::chrono::seconds(arguments.seconds));
  const auto after = read_machine();
  if (!after) return fail(after.error());
  find_processes(*after, target->holders.all);
  const QuietReport report = quiet_report({.cpus = target->cpus,
                                           .holders = std::move(target->holders.all),
                                           .kernel = *std::move(kernel),
                                           .settings = std::move(settings),
                                           .self = ::getpid()},
                                          *before, *after);
  if (arguments.format == "json") return answer(json_text(quiet_json(report)));
  return answer(render_quiet_table(report, target->holders.from));
}

}  // namespace

void add_quiet(CLI::App& root, int& exit_code) {
  CLI::App* command =
      root.add_subcommand("quiet", "Show who may run on CPUs besides their holder, and who did");
  const auto arguments =
      std::make_shared<QuietArguments>();  // outlives this call, with the callback
  command->add_option("CPU", arguments->what, "CPUs, or the word pod and a pod's name")
      ->type_name("...");
  command->add_option("--seconds", arguments->seconds, "How long to watch (default: 5)")
      ->type_name("N")
      ->check(whole_number());
  command->add_option("-o,--output", arguments->format, "How to show it (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  add_agent_options(*command, arguments->agent);
  command->footer(kQuietFooter);
  command->callback([arguments, &exit_code] { exit_code = run_quiet(*arguments); });
}

}  // namespace corehold
