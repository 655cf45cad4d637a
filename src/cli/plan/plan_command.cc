// SPDX-License-Identifier: Apache-2.0
//
// corehold plan
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/config/config_render.h"
#include "cli/draw/topology_svg.h"
#include "cli/output.h"
#include "cli/plan/plan_input.h"
#include "cli/plan/plan_render.h"
#include "cli/plan/resize_words.h"
#include "config/read_config.h"
#include "discover/source.h"
#include "plan/plan.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr const char* kPlanFooter =
    "PODS is a manifest in YAML or JSON, or what `kubectl get pods -o json` prints; - is standard\n"
    "input. Pods are admitted in the order given, to a node that has no others. Pods that have\n"
    "ended are left out.\n"
    "\n"
    "The machine is this one, or --topology: host, xml:FILE or synthetic:TEXT, as for\n"
    "`corehold topology --source`. Without --config a plan is made for policy static with the\n"
    "core of the lowest CPU reserved (on a machine of one core that CPU alone) and topology\n"
    "manager policy none.\n"
    "\n"
    "--resize asks what a resize in place would give when all pods are in: which CPUs stay and\n"
    "which are added or given up, or why not and who would have to leave first. Those of one\n"
    "pod are one resize; several pods are resized in the order given. CONTAINER may be left\n"
    "out where the pod has one; NAMESPACE/POD/CONTAINER=N works too. A node resizes exclusive "
    "CPUs\n"
    "with feature gate InPlacePodVerticalScalingExclusiveCPUs on. A plan takes it for on, unless\n"
    "--config has it as false: then such a resize is Infeasible here too.\n"
    "\n"
    "A plan that refuses pods is an answer: the exit code is 0. It is 1 when a resize is refused,\n"
    "and for input that cannot be read, with every mistake of the configuration at its line.\n"
    "\n"
    "Examples:\n"
    "  corehold plan -f pods.yaml\n"
    "  corehold plan -f pods.yaml --config node.yaml --topology xml:server.xml\n"
    "  corehold plan -f pods.yaml --explain db/pg-0\n"
    "  corehold plan -f pods.yaml -o svg > plan.svg\n"
    "  corehold plan -f pods.yaml --resize db/pg-0/postgres=12\n"
    "  kubectl get pods -A -o json | corehold plan -f - --node worker-1";

struct PlanArguments {
  std::vector<std::string> files{};
  std::string topology = "host";
  std::string config{};
  std::string format = "table";
  std::string explain{};
  std::string node{};
  std::vector<std::string> resizes{};
};

Result<std::vector<PodFile>> read_files(const std::vector<std::string>& names) {
  std::vector<PodFile> files;
  for (const std::string& name : names) {
    PodFile& file = files.emplace_back();
    file.name = name == "-" ? "standard input" : name;
    file.text = TRY(name == "-" ? read_stream(STDIN_FILENO, file.name, kMaxPodListBytes)
                                : read_file(name, kMaxPodListBytes));
  }
  return files;
}

// What is wrong with the configuration, in itself and then on this machine.
std::vector<ConfigRemark> mistakes_of(const CheckedConfig& checked, const Topology& topology) {
  if (!checked.mistakes.empty()) return checked.mistakes;
  std::vector<ConfigRemark> mistakes = mistakes_on(checked.config, topology);
  for (ConfigRemark& mistake : mistakes) {
    const auto line = checked.lines.find(mistake.field);
    if (line != checked.lines.end()) mistake.line = line->second;
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const ConfigRemark& a, const ConfigRemark& b) { return a.line < b.line; });
  return mistakes;
}

// What a plan takes for granted where it resizes: the gate, unless the file says no.
void allow_resize(CheckedConfig& checked, std::vector<std::string>& notes) {
  FeatureGates& gates = checked.config.gates;
  const Gate gate = Gate::kInPlacePodVerticalScalingExclusiveCpus;
  if (gates.is_on(gate) || !gates.is_on(Gate::kInPlacePodVerticalScaling)) return;
  const std::string name(info(gate).name);
  if (checked.lines.contains("featureGates." + name)) return;
  gates.set(gate, true);
  notes.push_back(
      fmt::format("feature gate {} is assumed on; a node needs it in its featureGates", name));
}

// The configuration of the file, or what a plan assumes without one. Mistakes are told here;
// no value: there were some.
std::optional<Config> configure(const PlanArguments& arguments, const Topology& topology,
                                std::vector<std::string>& notes) {
  const std::string& file = arguments.config;
  if (file.empty()) {
    Config config = planning_defaults(topology);
    config.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, !arguments.resizes.empty());
    notes.push_back(
        fmt::format("no --config: assumed are policy static, CPU{} {} reserved, "
                    "topology manager policy none",
                    config.reserved_count == 1 ? "" : "s", config.reserved_cpus.str()));
    return config;
  }
  const auto text = read_file(file, kMaxConfigBytes);
  if (!text) {
    complain(text.error().message);
    return std::nullopt;
  }
  CheckedConfig checked = read_config(*text);
  const std::vector<ConfigRemark> mistakes = mistakes_of(checked, topology);
  for (const ConfigRemark& mistake : mistakes) report(render_remark(file, mistake));
  if (!mistakes.empty()) return std::nullopt;
  if (!arguments.resizes.empty()) allow_resize(checked, notes);
  return checked.config;
}

// hwloc gives the NUMA nodes of a synthetic machine 1Gi each, unless its text says memory=.
bool has_made_up_memory(const Config& config, const TopologySource& source) {
  return config.memory_manager_policy == MemoryManagerPolicy::kStatic && !config.memory &&
         source.kind == TopologySource::Kind::kSynthetic &&
         source.detail.find("memory=") == std::string::npos;
}

void add_notes(const Config& config, const NodeSetup& node, const TopologySource& source,
               std::vector<std::string>& notes) {
  if (config.cpu_manager_policy == CpuManagerPolicy::kNone) {
    notes.emplace_back(
        "policy none gives nobody exclusive CPUs; set cpuManagerPolicy: static to plan them");
  }
  if (config.memory_manager_policy == MemoryManagerPolicy::kStatic &&
      !node.empty.memory.enabled()) {
    notes.emplace_back(
        "memory is not planned: the machine does not say what it has; give it as `memory` in the "
        "CoreholdConfiguration");
  } else if (has_made_up_memory(config, source)) {
    notes.emplace_back(
        "a synthetic machine has 1Gi of memory in each NUMA node; give what it should have as "
        "`memory` in the CoreholdConfiguration");
  }
}

// The pod named "namespace/name", or "name" where there is only one such.
Result<const PlannedPod*> find_pod(const PlanReport& plan, const std::string& name) {
  std::vector<const PlannedPod*> found;
  std::vector<std::string> names;
  for (const PlannedPod& pod : plan.pods) {
    const std::string bare = pod.name.substr(pod.name.find('/') + 1);
    if (pod.name != name && bare != name) continue;
    found.push_back(&pod);
    names.push_back(pod.name);
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) {
    return Error{Code::kInvalid, fmt::format("--explain {}: there are {}; name one of them", name,
                                             fmt::join(names, ", "))};
  }
  for (const PlannedPod& pod : plan.pods) {
    if (names.size() < 8) names.push_back(pod.name);
  }
  return Error{Code::kNotFound,
               fmt::format("--explain {}: no such pod in the plan; there are {}{}", name,
                           fmt::join(names, ", "), plan.pods.size() > 8 ? ", ..." : "")};
}

int show(const PlanArguments& arguments, const PlanPage& page) {
  const PlannedPod* explained = nullptr;
  if (!arguments.explain.empty()) {
    const auto found = find_pod(page.report, arguments.explain);
    if (!found) return fail(found.error());
    explained = *found;
  }
  int code = kExitDone;
  if (arguments.format == "json") {
    code = answer(render_plan_json(page, explained));
  } else if (explained != nullptr) {
    code = answer(render_explanation(page, *explained));
  } else if (arguments.format == "svg") {
    code = answer(render_topology_svg(page.topology, plan_paint(page)));
  } else {
    code = answer(render_plan_table(page));
  }
  const auto& resizes = page.report.resizes;
  const bool refused = std::any_of(resizes.begin(), resizes.end(), [](const PlannedResize& resize) {
    return resize.refusal.has_value();
  });
  return code == kExitDone && refused ? kExitFailed : code;
}

int run_plan(const PlanArguments& arguments) {
  const auto source = TopologySource::parse(arguments.topology);
  if (!source)
    return fail_usage({Code::kInvalid, fmt::format("--topology: {}", source.error().message)},
                      "plan");
  if (!arguments.explain.empty() && arguments.format == "svg") {
    return fail_usage({Code::kInvalid, "--explain answers in words: -o table or -o json"}, "plan");
  }
  if (!arguments.explain.empty() && !arguments.resizes.empty()) {
    return fail_usage(
        {Code::kInvalid, "--explain tells how pods come in; it does not go with --resize"}, "plan");
  }
  if (std::count(arguments.files.begin(), arguments.files.end(), "-") > 1) {
    return fail_usage({Code::kInvalid, "-f - may be given only once"}, "plan");
  }
  const auto files = read_files(arguments.files);
  if (!files) return fail(files.error());
  auto choice = choose_pods(*files, arguments.node);
  if (!choice) return fail(choice.error());
  const auto resizes = resized_pods(choice->pods, arguments.resizes);
  if (!resizes) return fail_usage({Code::kInvalid, resizes.error().message}, "plan");
  const auto topology = discover(*source);
  if (!topology) return fail(topology.error());
  std::vector<std::string> notes;
  const auto config = configure(arguments, *topology, notes);
  if (!config) return kExitFailed;
  const auto node = NodeSetup::make(*topology, *config);
  if (!node) return fail(node.error());
  add_notes(*config, *node, *source, notes);
  std::move(choice->notes.begin(), choice->notes.end(), std::back_inserter(notes));
  const PlanReport made = plan(*node, choice->pods, *resizes);
  return show(arguments, {.topology = *topology, .report = made, .notes = notes});
}

// For options of which "" would look like the option not given.
std::string is_given(const std::string& value) { return value.empty() ? "must not be empty" : ""; }

}  // namespace

void add_plan(CLI::App& root, int& exit_code) {
  CLI::App* command =
      root.add_subcommand("plan", "Show which pods of a list would get which CPUs of a machine");
  const auto arguments =
      std::make_shared<PlanArguments>();  // outlives this call, with the callback
  command->add_option("-f,--file", arguments->files, "The pods; may be given several times")
      ->type_name("PODS")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--topology", arguments->topology, "The machine (default: host)")
      ->type_name("SOURCE");
  command->add_option("--config", arguments->config, "How the node is configured")
      ->type_name("FILE")
      ->check(is_given);
  command->add_option("-o,--output", arguments->format, "How to show it (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "svg"}));
  command->add_option("--explain", arguments->explain, "How the decision about one pod came about")
      ->type_name("POD")
      ->check(is_given);
  command->add_option("--node", arguments->node, "Leave out pods bound to other nodes")
      ->type_name("NAME")
      ->check(is_given);
  command
      ->add_option("--resize", arguments->resizes, "Resize a container; may be given several times")
      ->type_name("POD/CONTAINER=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->footer(kPlanFooter);
  command->callback([arguments, &exit_code] { exit_code = run_plan(*arguments); });
}

}  // namespace corehold
