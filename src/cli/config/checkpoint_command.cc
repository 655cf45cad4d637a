// SPDX-License-Identifier: Apache-2.0
//
// corehold checkpoint show | verify | convert
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/config/checkpoint_render.h"
#include "cli/output.h"
#include "discover/source.h"
#include "state/checkpoint_check.h"
#include "state/checkpoint_convert.h"
#include "store/checkpoint_file.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr const char* kCheckpointFooter =
    "FILE is a cpu_manager_state of Corehold or of a kubelet: v1, v2, v3 (KEP-5554), the "
    "kubelet's\n"
    "v3, or v4 (kubelet 1.37). It is only ever read.\n"
    "\n"
    "Examples:\n"
    "  corehold checkpoint show /var/lib/corehold/cpu_manager_state\n"
    "  corehold checkpoint show -o json /var/lib/kubelet/cpu_manager_state\n"
    "  corehold checkpoint verify /var/lib/corehold/cpu_manager_state\n"
    "  corehold checkpoint convert cpu_manager_state --to v2 --to-file for-the-kubelet";

constexpr const char* kVerifyFooter =
    "A checkpoint is sound when its checksum matches, its sets are CPU lists and no CPU has two\n"
    "owners (containers of one pod may share). Whether it suits a machine is not checked: FILE\n"
    "does not say which machine it is for, nor which CPUs are reserved there.";

constexpr const char* kConvertFooter =
    "Writes to standard output, or atomically to the file of --to-file, which may not be FILE "
    "itself.\n"
    "What cannot be done without moving a running container is refused, and nothing is written.\n"
    "\n"
    "--reserved needs one of --strict, --no-strict, and --source, the machine that the result is\n"
    "for: host, xml:FILE or synthetic:TEXT (see corehold topology --help). The default set then\n"
    "becomes every CPU of that machine that no container holds, under --strict without the\n"
    "reserved ones.\n"
    "\n"
    "--container-map FILE says whose the container ids of a v1 checkpoint are:\n"
    "  {\"3f8a...\": {\"pod\": \"pod UID\", \"container\": \"name\"}}\n"
    "\n"
    "Examples:\n"
    "  corehold checkpoint convert cpu_manager_state --to v2 --to-file for-the-kubelet\n"
    "  corehold checkpoint convert cpu_manager_state --to v3 --reserved 0-1 --strict --source "
    "host\n"
    "  corehold checkpoint convert old_state --to v3 --container-map ids.json --to-file new";

struct ShowArguments {
  std::string file{};
  std::string format = "table";
};

int show(const ShowArguments& arguments) {
  const auto checkpoint = load_checkpoint(arguments.file);
  if (!checkpoint) return fail(checkpoint.error());
  const int code = answer(arguments.format == "json" ? render_checkpoint_json(*checkpoint)
                                                     : render_checkpoint_table(*checkpoint));
  const auto state = check_loadable(*checkpoint);
  if (!state) {
    complain(fmt::format("{}: not sound: {}", arguments.file, state.error().message));
  }
  return code;
}

int verify(const std::string& file) {
  const auto checkpoint = load_checkpoint(file);
  if (!checkpoint && checkpoint.error().code == Code::kCorrupt) {
    complain(fmt::format("{}; {}", checkpoint.error().message, kCorruptRemedy));
    return kExitFailed;
  }
  if (!checkpoint) return fail(checkpoint.error());
  const auto state = check_loadable(*checkpoint);
  if (!state) return fail(wrap(file, state.error()));
  return answer(
      fmt::format("{}: sound checksum, sets and owners: {}; whether it suits a machine is not "
                  "checked\n",
                  file, summarize(*checkpoint)));
}

struct ConvertArguments {
  std::string file{};
  std::string to{};
  std::string to_file{};
  std::string container_map{};
  std::string policy{};
  std::string reserved{};
  std::string source{};
  bool strict = false;
  bool no_strict = false;
};

// {"container id": {"pod": "uid", "container": "name"}}
Result<ContainerMap> load_container_map(const std::string& path) {
  constexpr std::size_t kMaxSize = std::size_t{16} << 20U;
  const std::string text = TRY(read_file(path, kMaxSize));
  json::error_code ec;
  const json::value root = json::parse(text, ec);
  if (ec) return Error{Code::kInvalid, fmt::format("{}: {}", path, ec.message())};
  const auto wrong = [&path](std::string_view id) {
    return Error{Code::kInvalid,
                 fmt::format("{}: container id {:?} needs {{\"pod\": \"uid\", \"container\": "
                             "\"name\"}}",
                             path, id)};
  };
  if (!root.is_object()) {
    return Error{Code::kInvalid, fmt::format("{}: not a JSON object of container ids", path)};
  }
  ContainerMap containers;
  for (const auto& member : root.get_object()) {
    const json::object* object = member.value().if_object();
    if (object == nullptr) return wrong(member.key());
    const json::value* pod = object->if_contains("pod");
    const json::value* name = object->if_contains("container");
    if (pod == nullptr || name == nullptr || !pod->is_string() || !name->is_string()) {
      return wrong(member.key());
    }
    containers[std::string(member.key())] = {std::string(pod->get_string()),
                                             std::string(name->get_string())};
  }
  return containers;
}

bool is_same_file(const std::string& left, const std::string& right) {
  std::error_code ec;
  return std::filesystem::equivalent(left, right, ec) && !ec;
}

// What the options say, before the machine and the file are looked at.
struct ConvertPlan {
  ConvertRequest request{};                // `online` of `reserved` is still empty
  std::optional<TopologySource> source{};  // of the machine; given exactly when `reserved` is
};

// Fails with what is wrong about the options themselves.
Result<ConvertPlan> plan_of(const ConvertArguments& arguments) {
  const auto wrong = [](std::string message) { return Error{Code::kInvalid, std::move(message)}; };
  if (!arguments.to_file.empty() && is_same_file(arguments.file, arguments.to_file)) {
    return wrong(
        fmt::format("--to-file {} is the file to convert; write to another one, look at it, "
                    "then move it over",
                    arguments.to_file));
  }
  ConvertPlan plan;
  if (!arguments.policy.empty()) plan.request.policy = arguments.policy;
  const bool has_strictness = arguments.strict || arguments.no_strict;
  if (arguments.reserved.empty()) {
    if (has_strictness) return wrong("--strict and --no-strict need --reserved");
    if (!arguments.source.empty()) return wrong("--source is of use only with --reserved");
    return plan;
  }
  if (!has_strictness) return wrong("--reserved needs one of --strict, --no-strict");
  if (arguments.source.empty()) {
    return wrong(
        "--reserved needs --source, the machine that the checkpoint is for: host, xml:FILE or "
        "synthetic:TEXT");
  }
  if (arguments.policy == "none") return wrong("--reserved has no meaning with --policy none");
  const auto cpus = CpuSet::parse(arguments.reserved);
  if (!cpus) return wrap("--reserved", cpus.error());
  const auto source = TopologySource::parse(arguments.source);
  if (!source) return wrap("--source", source.error());
  plan.source = *source;
  plan.request.reserved = ReservedChange{
      .cpus = *cpus, .use = arguments.strict ? ReservedUse::kSystemOnly : ReservedUse::kShared};
  return plan;
}

// The request of the plan, with the machine's CPUs.
Result<ConvertRequest> request_of(ConvertPlan plan) {
  if (plan.source) plan.request.reserved->online = TRY(discover(*plan.source)).cpus();
  return std::move(plan.request);
}

CheckpointVersion version_of(std::string_view name) {
  if (name == "v2") return CheckpointVersion::kV2;
  return name == "v3" ? CheckpointVersion::kV3 : CheckpointVersion::kV4;
}

// Says what the target format cannot hold.
void warn_of_losses(const ConvertArguments& arguments, const Checkpoint& checkpoint,
                    const State& state) {
  if (checkpoint.checksum == 0) {
    complain(
        fmt::format("{}: checksum is 0, so the content was not verified; look at it before "
                    "using the result",
                    arguments.file));
  }
  if (arguments.to != "v2") return;
  for (const auto& [pod, containers] : state.pods) {
    for (const auto& [name, holding] : containers) {
      if (holding.promised == holding.assigned) continue;
      complain(
          fmt::format("v2 cannot say what was promised: container {} of pod {} keeps CPUs {}, "
                      "its promise of {} is not written",
                      name, pod, holding.assigned.str(), holding.promised.str()));
    }
  }
}

Result<Checkpoint> load_resolved(const ConvertArguments& arguments) {
  Checkpoint checkpoint = TRY(load_checkpoint(arguments.file));
  ContainerMap containers;
  if (!arguments.container_map.empty()) {
    containers = TRY(load_container_map(arguments.container_map));
  }
  auto resolved = resolve_containers(std::move(checkpoint), containers);
  if (!resolved) return wrap(arguments.file, resolved.error());
  return resolved;
}

int convert(const ConvertArguments& arguments) {
  const auto plan = plan_of(arguments);
  if (!plan) {
    complain(plan.error().message);
    complain("see corehold checkpoint convert --help");
    return kExitUsage;
  }
  const auto request = request_of(*plan);
  if (!request) return fail(request.error());
  const auto checkpoint = load_resolved(arguments);
  if (!checkpoint) return fail(checkpoint.error());
  const auto content = check_content(*checkpoint);
  if (!content) return fail(wrap(arguments.file, content.error()));
  const auto state = convert_state(*content, *request);
  if (!state) return fail(wrap(arguments.file, state.error()));

  const CheckpointFormat format{.version = version_of(arguments.to)};
  if (arguments.to_file.empty()) {
    warn_of_losses(arguments, *checkpoint, *state);
    return answer(encode_checkpoint(*state, format));
  }
  const auto saved = save_checkpoint(arguments.to_file, *state, format);
  if (!saved) return fail(saved.error());
  warn_of_losses(arguments, *checkpoint, *state);
  return kExitDone;
}

void add_show(CLI::App& checkpoint, int& exit_code) {
  CLI::App* command = checkpoint.add_subcommand("show", "Show what a checkpoint holds");
  const auto arguments =
      std::make_shared<ShowArguments>();  // outlives this call, with the callback
  command->add_option("FILE", arguments->file, "The checkpoint")->required();
  command->add_option("-o", arguments->format, "table (default) or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  command->callback([arguments, &exit_code] { exit_code = show(*arguments); });
}

void add_verify(CLI::App& checkpoint, int& exit_code) {
  CLI::App* command = checkpoint.add_subcommand(
      "verify", "Say whether checksum, sets and owners of a checkpoint are sound, or why not");
  const auto file = std::make_shared<std::string>();  // outlives this call, with the callback
  command->add_option("FILE", *file, "The checkpoint")->required();
  command->footer(kVerifyFooter);
  command->callback([file, &exit_code] { exit_code = verify(*file); });
}

void add_convert(CLI::App& checkpoint, int& exit_code) {
  CLI::App* command = checkpoint.add_subcommand(
      "convert", "Write a checkpoint in another format, or for another configuration");
  const auto arguments = std::make_shared<ConvertArguments>();  // outlives this call
  command->add_option("FILE", arguments->file, "The checkpoint")->required();
  command->add_option("--to", arguments->to, "v2 (any kubelet), v3 (Corehold), v4 (kubelet 1.37)")
      ->type_name("VERSION")
      ->required()
      ->check(CLI::IsMember({"v2", "v3", "v4"}));
  command->add_option("--to-file", arguments->to_file, "Write here instead of standard output")
      ->type_name("FILE");
  command
      ->add_option("--container-map", arguments->container_map,
                   "JSON file that names the containers of a v1 checkpoint")
      ->type_name("FILE");
  command->add_option("--policy", arguments->policy, "Policy of the new configuration")
      ->type_name("POLICY")
      ->check(CLI::IsMember({"none", "static"}));
  command->add_option("--reserved", arguments->reserved, "Reserved CPUs of the new configuration")
      ->type_name("LIST");
  command->add_option("--source", arguments->source, "The machine; goes with --reserved")
      ->type_name("SOURCE");
  CLI::Option* strict = command->add_flag(
      "--strict", arguments->strict, "strict-cpu-reservation: reserved CPUs leave the default set");
  command->add_flag("--no-strict", arguments->no_strict, "Reserved CPUs join the default set")
      ->excludes(strict);
  command->footer(kConvertFooter);
  command->callback([arguments, &exit_code] { exit_code = convert(*arguments); });
}

}  // namespace

void add_checkpoint(CLI::App& root, int& exit_code) {
  CLI::App* command =
      root.add_subcommand("checkpoint", "Look at, verify or convert a cpu_manager_state");
  command->require_subcommand(1);
  command->footer(kCheckpointFooter);
  add_show(*command, exit_code);
  add_verify(*command, exit_code);
  add_convert(*command, exit_code);
}

}  // namespace corehold
