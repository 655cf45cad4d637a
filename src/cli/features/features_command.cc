// SPDX-License-Identifier: Apache-2.0
//
// corehold features discover | infer | match | requirements
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/config/config_render.h"
#include "cli/features/features_input.h"
#include "cli/features/features_render.h"
#include "cli/output.h"
#include "config/node_configuration.h"
#include "config/read_config.h"
#include "features/declaring.h"
#include "features/known_features.h"
#include "features/plan/planner.h"

namespace corehold {
namespace {

constexpr const char* kDiscoverFooter =
    "The answer is for a kubelet of that version; a Corehold node has other defaults: see\n"
    "corehold describe node.\n"
    "\n"
    "FILE is a KubeletConfiguration (and CoreholdConfiguration), as YAML. Gates of features that "
    "it\n"
    "does not name are those of a kubelet 1.37 for --node-version 1.37, else off. Gate\n"
    "NodeDeclaredFeatures is on by default from 1.36. What the container runtime can do is not in\n"
    "the file: name it with --runtime.\n"
    "\n"
    "Examples:\n"
    "  corehold features discover --config /var/lib/kubelet/config.yaml --node-version v1.37.0\n"
    "  corehold features discover --config node.yaml --node-version 1.37 --runtime MountOptions";

constexpr const char* kInferFooter =
    "POD is a manifest in YAML or JSON, or what `kubectl get pods -o json` prints. With --old the\n"
    "answer is what changing OLD to POD needs of the node that the pod is bound to; each file\n"
    "holds the same one pod then. - is standard input.\n"
    "\n"
    "Examples:\n"
    "  corehold features infer -f pod.yaml\n"
    "  corehold features infer -f resized.yaml --old pod.yaml\n"
    "  kubectl get pods -A -o json | corehold features infer -f - -o json";

constexpr const char* kMatchFooter =
    "PODS and NODES are what `kubectl get pods -A -o json` and `kubectl get nodes -o json` print;\n"
    "- is standard input. Pods that have ended are left out. Only features are looked at, not\n"
    "selectors, taints and resources. --pod NAME is short for --pod default/NAME.\n"
    "\n"
    "--set is for planning upgrades: it changes the feature gates or the version of a node (of\n"
    "all: *) and shows before and after side by side. GATES are names with commas between,\n"
    "Name=false turns one off; either side of the / may be left out. All that is set for a node\n"
    "counts together, the last value of a gate and the last version. A gate that is turned on\n"
    "brings its features, what they need besides taken for given; a version before 1.35 declares\n"
    "nothing, and 1.35 only with NodeDeclaredFeatures among the gates.\n"
    "\n"
    "Examples:\n"
    "  corehold features match --pods pods.json --nodes nodes.json\n"
    "  corehold features match --pods pods.json --nodes nodes.json --pod security/vault-0\n"
    "  corehold features match --pods pods.json --nodes nodes.json \\\n"
    "    --set worker-1=RestartAllContainersOnContainerExits,VolumeBindMountOptions=false/1.37.0\n"
    "  kubectl get nodes -o json | corehold features match --pods pods.json --nodes - --set "
    "'*=/1.34.0'";

constexpr const char* kRequirementsFooter =
    "Examples:\n"
    "  corehold features requirements VolumeBindMountOptions\n"
    "  corehold features requirements InPlacePodVerticalScalingExclusiveCPUs -o json";

struct FeaturesArguments {
  std::string format = "table";
  std::string version = "1.37.0";
  std::string config{};
  std::vector<std::string> runtime{};
  std::string file{};
  std::string old_file{};
  std::string pods{};
  std::string nodes{};
  std::string pod{};
  std::vector<std::string> changes{};
  std::string name{};

  bool is_json() const { return format == "json"; }
};

int bad_usage(const std::string& message, std::string_view command) {
  return fail_usage({Code::kInvalid, message}, fmt::format("features {}", command));
}

// A value the user typed, or the exit code for a bad one.
std::optional<Version> read_version(const FeaturesArguments& arguments, std::string_view command,
                                    int& code) {
  auto version = Version::parse(arguments.version);
  if (version) return *version;
  const bool is_ours = arguments.version.starts_with("corehold-");
  code =
      bad_usage(is_ours ? fmt::format("\"{}\" is the version of a Corehold node; this answers for "
                                      "a kubelet, corehold describe node for the node",
                                      on_one_line(arguments.version))
                        : version.error().message,
                command);
  return std::nullopt;
}

int discover(const FeaturesArguments& arguments) {
  int code = kExitDone;
  const auto version = read_version(arguments, "discover", code);
  if (!version) return code;
  const auto text = read_input(arguments.config, kMaxConfigBytes);
  if (!text) return fail(text.error());
  const CheckedConfig checked = read_config(*text);
  for (const ConfigRemark& mistake : checked.mistakes) {
    report(render_remark(arguments.config, mistake));
  }
  if (!checked.mistakes.empty()) return kExitFailed;
  NodeConfiguration node = kubelet_configuration(checked.config);
  node.version = *version;
  for (const std::string& name : arguments.runtime) node.runtime_features.insert(name);
  DiscoveredFeatures discovered{.node = node};
  if (const auto defaults = kubelet_default_gates(*version)) {
    node.gates.insert(defaults->begin(), defaults->end());
  } else {
    discovered.notes.push_back(
        fmt::format("gates of features that {} does not name count as off: the defaults of version "
                    "{} are not known here",
                    arguments.config, version->str()));
  }
  return answer(arguments.is_json() ? render_discovered_json(extension_registry(), discovered)
                                    : render_discovered(extension_registry(), discovered));
}

Result<PodNeeds> needs_of_update(const FeaturesArguments& arguments, const Version& target) {
  const ChangedPod changed = TRY(read_changed_pod(arguments.old_file, arguments.file));
  const Registry& registry = extension_registry();
  const FeatureSet set = TRY(registry.infer_for_update(changed.old_pod, changed.new_pod, target));
  return PodNeeds{{display_name(changed.new_pod), TRY(registry.names(set))}};
}

Result<PodNeeds> needs_of_pods(const FeaturesArguments& arguments, const Version& target) {
  if (!arguments.old_file.empty()) return needs_of_update(arguments, target);
  PodNeeds needs;
  const Registry& registry = extension_registry();
  for (const Pod& pod : TRY(pods_of_file(arguments.file))) {
    const FeatureSet set = TRY(registry.infer_for_scheduling(pod, target));
    needs.emplace_back(display_name(pod), TRY(registry.names(set)));
  }
  return needs;
}

int infer(const FeaturesArguments& arguments) {
  int code = kExitDone;
  const auto version = read_version(arguments, "infer", code);
  if (!version) return code;
  if (arguments.file == "-" && arguments.old_file == "-") {
    return bad_usage("only one of -f and --old may be -", "infer");
  }
  const auto needs = needs_of_pods(arguments, *version);
  if (!needs) return fail(needs.error());
  return answer(arguments.is_json() ? render_needs_json(*needs) : render_needs(*needs));
}

Result<FeaturePlan> plan_of(const FeaturesArguments& arguments,
                            const std::vector<NodeChange>& changes, const Version& target) {
  const Cluster cluster = TRY(read_cluster(arguments.pods, arguments.nodes, arguments.pod));
  FeaturePlan plan =
      TRY(plan_features(extension_registry(), cluster.pods, cluster.nodes, changes, target));
  plan.notes.insert(plan.notes.end(), cluster.notes.begin(), cluster.notes.end());
  return plan;
}

int match_nodes(const FeaturesArguments& arguments) {
  int code = kExitDone;
  const auto version = read_version(arguments, "match", code);
  if (!version) return code;
  if (arguments.pods == "-" && arguments.nodes == "-") {
    return bad_usage("only one of --pods and --nodes may be -", "match");
  }
  const auto changes = read_changes(extension_registry(), arguments.changes);
  if (!changes) return bad_usage(changes.error().message, "match");
  const auto plan = plan_of(arguments, *changes, *version);
  if (!plan) return fail(plan.error());
  if (arguments.is_json()) return answer(render_feature_plan_json(extension_registry(), *plan));
  const bool is_of_one = !arguments.pod.empty() && !plan->pods.empty();
  return answer(is_of_one ? render_pod_plan(extension_registry(), *plan)
                          : render_feature_plan(extension_registry(), *plan));
}

int requirements(const FeaturesArguments& arguments) {
  const Registry& registry = extension_registry();
  const auto id = registry.find(arguments.name);
  if (!id) {
    std::vector<std::string> names;
    for (const Feature& feature : registry.features()) names.push_back(feature.name);
    return fail({Code::kNotFound, fmt::format("feature '{}' not registered; there are {}",
                                              arguments.name, fmt::join(names, ", "))});
  }
  const Feature& feature = registry.feature(*id);
  return answer(arguments.is_json() ? render_requirements_json(feature)
                                    : render_requirements(feature));
}

// A subcommand with -o, its arguments and what it runs.
CLI::App* add_part(CLI::App& features, const std::string& name, const std::string& about,
                   const char* footer, const std::shared_ptr<FeaturesArguments>& arguments,
                   int& exit_code, int (*part)(const FeaturesArguments&)) {
  CLI::App* command = features.add_subcommand(name, about);
  command->add_option("-o,--output", arguments->format, "How to answer (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(footer);
  command->callback([arguments, part, &exit_code] { exit_code = part(*arguments); });
  return command;
}

void add_target_version(CLI::App& command, FeaturesArguments& arguments) {
  command
      .add_option(
          "--target-version", arguments.version,
          "Version of the scheduler or API server that asks; features that ended before it are "
          "not asked for (default: 1.37.0)")
      ->type_name("VERSION");
}

void add_discover(CLI::App& features, int& exit_code) {
  const auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App* command = add_part(
      features, "discover", "Say what a kubelet of a configuration declares, and why not the rest",
      kDiscoverFooter, arguments, exit_code, discover);
  command->add_option("--config", arguments->config, "How the node is configured")
      ->type_name("FILE")
      ->required();
  command->add_option("--node-version", arguments->version, "The node's version of Kubernetes")
      ->type_name("VERSION")
      ->required();
  command
      ->add_option("--runtime", arguments->runtime,
                   "A feature of its container runtime; may be given several times")
      ->type_name("NAME")
      ->check(CLI::IsMember(
          {std::string(kRuntimeMountOptions), std::string(kRuntimeUserNamespacesHostNetwork)}))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_infer(CLI::App& features, int& exit_code) {
  const auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App* command = add_part(features, "infer", "Say which features pods or an update need",
                               kInferFooter, arguments, exit_code, infer);
  command->add_option("-f,--file", arguments->file, "The pods")->type_name("POD")->required();
  command->add_option("--old", arguments->old_file, "The pod as it was before")->type_name("OLD");
  add_target_version(*command, *arguments);
}

void add_match(CLI::App& features, int& exit_code) {
  const auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App* command =
      add_part(features, "match", "Say which nodes of a cluster can run which of its pods",
               kMatchFooter, arguments, exit_code, match_nodes);
  command->add_option("--pods", arguments->pods, "The pods")->type_name("PODS")->required();
  command->add_option("--nodes", arguments->nodes, "The nodes")->type_name("NODES")->required();
  command->add_option("--pod", arguments->pod, "Only this pod, and of each node whether it fits")
      ->type_name("NAMESPACE/NAME");
  command
      ->add_option("--set", arguments->changes,
                   "What if a node had other gates or another version; may be given several times")
      ->type_name("NODE=GATES/VERSION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_target_version(*command, *arguments);
}

void add_requirements(CLI::App& features, int& exit_code) {
  const auto arguments = std::make_shared<FeaturesArguments>();
  CLI::App* command =
      add_part(features, "requirements", "Say what a node must have to declare a feature",
               kRequirementsFooter, arguments, exit_code, requirements);
  command->add_option("NAME", arguments->name, "The feature")->required();
}

}  // namespace

void add_features(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand(
      "features", "Say what nodes can do and pods need (node declared features)");
  command->require_subcommand(1);
  command->footer("corehold features match --help and so on say more.");
  add_discover(*command, exit_code);
  add_infer(*command, exit_code);
  add_match(*command, exit_code);
  add_requirements(*command, exit_code);
}

}  // namespace corehold
