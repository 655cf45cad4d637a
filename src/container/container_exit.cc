// SPDX-License-Identifier: Apache-2.0
#include "container/container_exit.h"

#include <array>
#include <utility>

namespace corehold {
namespace {

// Every cause but kEnded, whose reason depends on the exit code.
constexpr std::array<std::pair<ExitCause, std::string_view>, 4> kReasons{{
    {ExitCause::kOutOfMemory, "OOMKilled"},
    {ExitCause::kUnknown, "ContainerStatusUnknown"},
    {ExitCause::kNotStarted, "StartError"},
    {ExitCause::kRestartAll, "RestartingAllContainers"},
}};

}  // namespace

std::string_view reason_of(const ContainerExit& exit) {
  for (const auto& [cause, reason] : kReasons) {
    if (exit.cause == cause) return reason;
  }
  return exit.code == 0 ? "Completed" : "Error";
}

ExitCause cause_of(std::string_view reason) {
  for (const auto& [cause, known] : kReasons) {
    if (reason == known) return cause;
  }
  return ExitCause::kEnded;
}

}  // namespace corehold
