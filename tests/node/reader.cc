// SPDX-License-Identifier: Apache-2.0
//
// reader DIR NAME FILE [--delay MS] [--pause US]: the command of an exclusive container that is
// resized. One thread reads FILE, its assigned.cpuset, again and again and writes down in
// DIR/told.NAME what it said; another asks for its own affinity and writes that down in
// DIR/allowed.NAME. told_judge reads both. The delay is what the container was promised.
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include "cpuset/cpu_set.h"
#include "looks.h"

namespace corehold::proof {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler sets it
std::atomic<bool> told_to_end = false;

void read_text(std::string_view text, Look& look) {
  if (text.empty()) {
    look.fault = Fault::kEmpty;
    return;
  }
  const auto cpus = CpuSet::parse(text);
  if (!cpus || cpus->str() != text) {
    look.fault = Fault::kBroken;
    return;
  }
  for (const auto cpu : *cpus) {
    if (cpu.value >= kMostCpus) errx(2, "CPU %d: this proof knows CPUs 0 to 63", cpu.value);
    look.cpus |= std::uint64_t{1} << cpu.value;
  }
}

Look look_at_file(const std::string& path) {
  Look look{.begun = now(), .fault = Fault::kMissing};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 4096> text{};
  struct stat status {};
  if (file >= 0 && fstat(file, &status) == 0) {
    const ssize_t length = read(file, text.data(), text.size());
    if (length >= 0) {
      look.fault = Fault::kNone;
      look.inode = status.st_ino;
      read_text({text.data(), static_cast<std::size_t>(length)}, look);
    }
  }
  if (file >= 0) close(file);
  look.ended = now();
  return look;
}

Look look_at_affinity() {
  Look look{.begun = now()};
  cpu_set_t allowed{};
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) err(2, "sched_getaffinity");
  look.ended = now();
  for (unsigned cpu = 0; cpu < kMostCpus; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) look.cpus |= std::uint64_t{1} << cpu;
  }
  return look;
}

struct Settings {
  std::string directory{};
  std::string name{};
  std::string file{};
  Nanoseconds delay_ms = 0;
  long pause_us = 500;
  std::uint64_t capacity = 2'000'000;
};

template <typename See>
void look_on(LookFile looks, long pause_us, const See& see) {
  const timespec pause = {.tv_sec = 0, .tv_nsec = pause_us * 1000};
  while (!told_to_end) {
    looks.add(see());
    nanosleep(&pause, nullptr);
  }
}

int run(const Settings& settings) {
  struct sigaction action {};
  action.sa_handler = [](int) { told_to_end = true; };
  sigaction(SIGTERM, &action, nullptr);
  const auto create = [&](const std::string& path) {
    return LookFile::create(path, settings.capacity, settings.delay_ms * 1'000'000);
  };
  LookFile told = create(told_path(settings.directory, settings.name));
  LookFile allowed = create(allowed_path(settings.directory, settings.name));
  std::thread other([&] { look_on(allowed, settings.pause_us, look_at_affinity); });
  look_on(told, settings.pause_us, [&] { return look_at_file(settings.file); });
  other.join();
  return 0;
}

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  Settings settings;
  CLI::App app("Writes down which CPUs it is told, and which it may use.");
  app.add_option("directory", settings.directory, "Where the files go")->required();
  app.add_option("name", settings.name, "What they are called")->required();
  app.add_option("file", settings.file, "assigned.cpuset, as the container sees it")->required();
  app.add_option("--delay", settings.delay_ms, "Milliseconds it was promised (default: 0)");
  app.add_option("--pause", settings.pause_us, "Microseconds between looks (default: 500)");
  app.add_option("--capacity", settings.capacity, "Most looks of each kind (default: 2000000)");
  CLI11_PARSE(app, count, words);
  return run(settings);
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
