// SPDX-License-Identifier: Apache-2.0
#include "main/agent_command.h"

#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "agent/agent.h"
#include "base/code.h"
#include "cli/config/config_render.h"
#include "cli/output.h"
#include "cli/run/open_files.h"
#include "config/read_config.h"
#include "discover/source.h"
#include "node/node_setup.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr const char* kFooter =
    "Runs in the foreground until SIGTERM or SIGINT and logs to standard error. Containers go on\n"
    "running; the next agent takes them over.\n"
    "\n"
    "Without --config the node has policy static, with the core of the lowest CPU reserved, or on "
    "a\n"
    "machine of one core that CPU alone. A --config without cpuManagerPolicy has policy none.\n"
    "\n"
    "--simulate makes a node of a machine that is not there: host, xml:FILE or synthetic:TEXT, as\n"
    "for `corehold topology --source`, or the bare TEXT. Its containers are only written down.\n"
    "Any number of such agents may run, each with a root of its own.\n"
    "\n"
    "--recover starts a node whose checkpoint or store is damaged: the files are moved aside, and\n"
    "what they said is rebuilt from the containers that run.\n"
    "\n"
    "Examples:\n"
    "  corehold agent\n"
    "  corehold agent --config node.yaml --root /var/lib/corehold\n"
    "  corehold agent --simulate \"package:2 numa:1 l3:2 core:4 pu:2\" --root /tmp/node";

constexpr int kLargePiece = 256 << 10;  // bytes

struct Arguments {
  std::string config{};
  std::string root{};
  std::string launcher{};
  std::string cgroup{};
  std::string simulate{};
  std::string log_level = "info";
  bool recover = false;
};

int bad_usage(const std::string& message) {
  complain(message);
  complain("see corehold agent --help");
  return kExitUsage;
}

// "host", "xml:FILE", "synthetic:TEXT", or the TEXT alone.
Result<TopologySource> source_of(const std::string& text) {
  auto source = TopologySource::parse(text);
  if (source) return source;
  auto bare = TopologySource::parse("synthetic:" + text);
  return text.find(':') != std::string::npos && bare ? bare : source;
}

// The same as `corehold checkpoint convert --source` takes it.
std::string source_text(const std::string& simulate) {
  if (simulate.empty()) return "host";
  return TopologySource::parse(simulate) ? simulate : "synthetic:" + simulate;
}

void report_mistakes(const std::string& file, const std::vector<ConfigRemark>& mistakes) {
  for (const ConfigRemark& mistake : mistakes) report(render_remark(file, mistake));
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path full = std::filesystem::absolute(path, error).lexically_normal();
  std::string text = error ? path : full.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// The configuration of `file` on this machine. Mistakes are told here; no value: there
// were some. A machine that is not there listens on TCP only where the file says so: there
// may be several of it.
std::optional<Config> configure(const std::string& file, const Topology& topology,
                                AgentSettings::Machine machine, const Log& log) {
  const bool is_simulated = machine == AgentSettings::Machine::kSimulated;
  if (file.empty()) {
    Config config = planning_defaults(topology);
    if (is_simulated) config.listen.address.clear();
    log.info(
        "no --config: policy static with the lowest CPU and its core reserved, unless the "
        "machine has only that",
        {{"reserved", config.reserved_cpus.str()}});
    return config;
  }
  const auto text = read_file(file, kMaxConfigBytes);
  if (!text) {
    complain(text.error().message);
    return std::nullopt;
  }
  CheckedConfig checked = read_config(*text);
  for (const ConfigRemark& warning : checked.warnings) {
    log.warning(warning.message, {{"field", warning.field}, {"file", file}});
  }
  if (!checked.mistakes.empty()) {
    report_mistakes(file, checked.mistakes);
    return std::nullopt;
  }
  std::vector<ConfigRemark> mistakes = mistakes_on(checked.config, topology);
  for (ConfigRemark& mistake : mistakes) {
    const auto line = checked.lines.find(mistake.field);
    if (line != checked.lines.end()) mistake.line = line->second;
  }
  if (!mistakes.empty()) {
    report_mistakes(file, mistakes);
    return std::nullopt;
  }
  for (const ConfigRemark& note : checked.notes) {
    log.info("configuration without effect",
             {{"line", fmt::to_string(note.line)}, {"field", note.field}, {"note", note.message}});
  }
  if (is_simulated && !checked.lines.contains("listen.address")) {
    checked.config.listen.address.clear();
  }
  std::string& pods = checked.config.static_pod_path;
  if (!pods.empty()) pods = absolute(std::filesystem::path(file).parent_path() / pods);
  return std::move(checked.config);
}

// Whatever the caller has left: the signals that end an agent reach it, a file that may not grow is
// a failed write, as a full disk is, and files have the modes that they are made with.
void put_in_order() {
  sigset_t ends{};
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  static_cast<void>(::sigprocmask(SIG_UNBLOCK, &ends, nullptr));
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  static_cast<void>(::umask(022));
}

int run(const Arguments& arguments) {
  put_in_order();
  const auto level = parse_log_level(arguments.log_level);
  if (!level) return bad_usage(fmt::format("--log-level: {}", level.error().message));
  const bool is_simulated = !arguments.simulate.empty();
  const auto source = is_simulated ? source_of(arguments.simulate) : TopologySource{};
  if (!source) return bad_usage(fmt::format("--simulate: {}", source.error().message));
  const Log log = Log::to_stderr(*level);
  raise_open_files();
  // What one large request needed goes back to the kernel: by default glibc would learn from it
  // to keep such pieces in its heap, which cannot shrink in the middle.
  ::mallopt(M_MMAP_THRESHOLD, kLargePiece);
  auto topology = discover(*source);
  if (!topology && is_simulated && topology.error().code == Code::kInvalid) {
    return bad_usage(fmt::format("--simulate: {}", topology.error().message));
  }
  if (!topology) return fail(topology.error());
  const auto machine =
      is_simulated ? AgentSettings::Machine::kSimulated : AgentSettings::Machine::kThis;
  auto config = configure(arguments.config, *topology, machine, log);
  if (!config) return kExitFailed;
  const std::string root = absolute(arguments.root.empty() ? config->paths.root : arguments.root);
  const char* check = std::getenv("COREHOLD_CHECK");
  const char* hold_delays = std::getenv("COREHOLD_HOLD_DELAYS");
  if (hold_delays != nullptr) {
    log.warning("COREHOLD_HOLD_DELAYS is for tests: no scale-down delay ends while its file exists",
                {{"file", hold_delays}});
  }
#ifdef NDEBUG
  const bool is_checked = check != nullptr;
#else
  const bool is_checked = true;
#endif
  const auto served =
      run_agent({.topology = *std::move(topology),
                 .config = *std::move(config),
                 .root = root,
                 .launcher = arguments.launcher,
                 .cgroup = arguments.cgroup,
                 .source = source_text(arguments.simulate),
                 .machine = machine,
                 .damage = arguments.recover ? Damage::kMoveAside : Damage::kRefuse,
                 .is_checked = is_checked,
                 .on_violation = check != nullptr ? OnViolation::kAbort : OnViolation::kLog,
                 .hold_delays = hold_delays != nullptr ? hold_delays : "",
                 .version = COREHOLD_VERSION},
                log);
  return served ? kExitDone : fail(wrap("the agent cannot start", served.error()));
}

std::string is_given(const std::string& value) { return value.empty() ? "must not be empty" : ""; }

}  // namespace

void add_agent(CLI::App& root, int& exit_code) {
  CLI::App* command = root.add_subcommand("agent", "Run a node: give its CPUs to containers");
  const auto arguments = std::make_shared<Arguments>();  // outlives this call, with the callback
  command->add_option("--config", arguments->config, "How the node is configured")
      ->type_name("FILE")
      ->check(is_given);
  command
      ->add_option("--root", arguments->root,
                   "Where the node keeps its state (default: /var/lib/corehold)")
      ->type_name("DIR")
      ->check(is_given);
  command->add_option("--simulate", arguments->simulate, "Be a node of a machine that is not there")
      ->type_name("TOPOLOGY")
      ->check(is_given);
  // Of the packaged service, which knows both; not for people.
  command->add_option("--launcher", arguments->launcher)->group("")->check(is_given);
  command->add_option("--cgroup", arguments->cgroup)->group("")->check(is_given);
  command->add_flag("--recover", arguments->recover,
                    "Move a damaged checkpoint or store aside and rebuild it from what runs");
  command->add_option("--log-level", arguments->log_level, "How much to say (default: info)")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  command->footer(kFooter);
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace corehold
