// SPDX-License-Identifier: Apache-2.0
//
// holder DIR [--milliseconds N]: the command of an exclusive container. The first thing it does
// is to write down the time and its CPUs, in DIR/grant.* and on standard output; from then on
// it writes down that it still holds them, until the time is over or it is told to end.
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include <CLI/CLI.hpp>

#include "samples.h"

namespace corehold::proof {
namespace {

std::string allowed_cpus() {
  std::ifstream status("/proc/self/status");
  const std::string wanted = "Cpus_allowed_list:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(wanted)) return line.substr(line.find_first_not_of(" \t", wanted.size()));
  }
  errx(2, "/proc/self/status has no line %s", wanted.c_str());
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler sets it
volatile std::sig_atomic_t told_to_end = 0;

int run(const std::string& directory, Nanoseconds granted, Nanoseconds duration) {
  const std::string cpus = allowed_cpus();
  cpu_set_t allowed{};
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) err(2, "sched_getaffinity");
  const std::string name = "/grant." + std::to_string(getpid()) + "." + std::to_string(granted);
  Grant* grant = create_grant(directory + name, granted, cpus);
  std::printf("granted %lld %s\n", static_cast<long long>(granted), cpus.c_str());
  std::fflush(stdout);
  struct sigaction action {};
  action.sa_handler = [](int) { told_to_end = 1; };
  sigaction(SIGTERM, &action, nullptr);
  const timespec pause = {.tv_sec = 0, .tv_nsec = 200'000};
  Nanoseconds time = now();
  while (told_to_end == 0 && time - granted < duration) {
    grant->last = time;
    if (!CPU_ISSET(static_cast<unsigned>(sched_getcpu()), &allowed)) ++grant->astray;
    nanosleep(&pause, nullptr);
    time = now();
  }
  grant->last = time;
  return 0;
}

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  const Nanoseconds granted = now();
  std::string directory;
  Nanoseconds milliseconds = 1'000'000'000;
  CLI::App app("Holds CPUs, and writes down from when to when.");
  app.add_option("directory", directory, "Where the file goes")->required();
  app.add_option("--milliseconds", milliseconds, "How long (default: until told to end)");
  CLI11_PARSE(app, count, words);
  return run(directory, granted, milliseconds * 1'000'000);
}

}  // namespace
}  // namespace corehold::proof

int main(int count, char** words) {
  try {
    return corehold::proof::parse_and_run(count, words);
  } catch (const std::exception& trouble) {
    errx(2, "%s", trouble.what());
  }
}
