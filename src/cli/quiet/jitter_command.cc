// SPDX-License-Identifier: Apache-2.0
//
// corehold jitter
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/quiet/quiet_render.h"
#include "cli/usage.h"
#include "kernel/jitter.h"
#include "kernel/kernel_facts.h"

namespace corehold {
namespace {

constexpr const char* kJitterFooter =
    "A loop on one CPU does nothing but look at the clock; whatever else runs there is a pause\n"
    "between two looks. The CPU is busy all the time. Percentiles are those of the pauses.\n"
    "\n"
    "Examples:\n"
    "  corehold jitter --cpu 3                              as the machine is\n"
    "  corehold run --cpus 1 -- corehold jitter             on a CPU of its own\n"
    "  corehold jitter --cpu 3 --seconds 60 --threshold-us 10 -o json";

struct JitterArguments {
  int cpu = -1;  // -1: not given
  int seconds = 10;
  int threshold_us = 1;
  std::string format = "table";
};

// The CPU that was asked for, or else the last that this process may use: the first ones have most
// of a machine's interrupts.
Result<CpuId> chosen_cpu(int asked) {
  const CpuSet allowed = TRY(allowed_cpus());
  if (asked < 0) return allowed.last();
  const CpuId cpu(asked);
  const KernelFacts kernel = TRY(read_kernel_facts());
  if (!CpuSet::can_hold(asked) || !kernel.online.contains(cpu)) {
    return Error{Code::kNotFound,
                 fmt::format("CPU {} is not online; online: {}", asked, kernel.online.str())};
  }
  return cpu;
}

int run_jitter(const JitterArguments& arguments) {
  const auto cpu = chosen_cpu(arguments.cpu);
  if (!cpu) return fail(cpu.error());
  const auto allowed = allowed_cpus();
  const auto result =
      measure_jitter({.cpu = *cpu,
                      .duration = std::chrono::seconds(arguments.seconds),
                      .threshold = std::chrono::microseconds(arguments.threshold_us)});
  if (!result) {
    Error error = result.error();
    error.message += fmt::format(
        "; this process may run on {}: a CPU that a container holds is measured from inside, with "
        "corehold run --cpus 1 -- corehold jitter",
        allowed ? allowed->str() : "other CPUs");
    return fail(error);
  }
  if (arguments.format == "json") return answer(json_text(jitter_json(*result)));
  return answer(render_jitter_table(*result));
}

}  // namespace

void add_jitter(CLI::App& root, int& exit_code) {
  CLI::App* command =
      root.add_subcommand("jitter", "Measure the pauses of a loop that has a CPU to itself");
  const auto arguments =
      std::make_shared<JitterArguments>();  // outlives this call, with the callback
  command
      ->add_option("--cpu", arguments->cpu,
                   "Where the loop runs (default: the last CPU that this process may use)")
      ->type_name("N")
      ->check(whole_number());
  command->add_option("--seconds", arguments->seconds, "How long it runs (default: 10)")
      ->type_name("N")
      ->check(whole_number());
  command
      ->add_option("--threshold-us", arguments->threshold_us,
                   "Microseconds from which it is a pause (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  command->add_option("-o,--output", arguments->format, "How to show it (default: table)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(kJitterFooter);
  command->callback([arguments, &exit_code] { exit_code = run_jitter(*arguments); });
}

}  // namespace corehold
