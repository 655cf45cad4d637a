// SPDX-License-Identifier: Apache-2.0
//
// neighbour DIR [options]: spins, and writes down in DIR/samples.KIND.* when it was on which CPU.
// It looks as often as it can; it writes the first and the last look of every stay on a CPU,
// and one per --interval in between, or fewer when its room becomes scarce.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "samples.h"

namespace corehold::proof {
namespace {

struct Options {
  std::string directory{};
  std::string kind = "neighbour";
  int pin = -1;
  int spinners = 1;
  bool threads = false;
  std::uint64_t capacity = 1U << 20U;
  Nanoseconds interval = 0;
  Nanoseconds fork_every = 0;
  Nanoseconds burst = 0;
  Nanoseconds rest = 0;
  bool hop = false;
};

constexpr Nanoseconds kForever = INT64_MAX;
constexpr Nanoseconds kLeastWhenFilling = 1000;

class Spinner {
 public:
  Spinner(const Options& options, SampleFile file) : options_(options), file_(file) {}

  void spin(Nanoseconds until) {
    Nanoseconds rest_at = options_.burst > 0 ? now() + options_.burst : kForever;
    seed_ = static_cast<std::uint64_t>(now());
    std::uint64_t taken = 0;
    while (true) {
      Sample sample{};
      sample.time = now();
      sample.cpu = sched_getcpu();
      take(sample);
      if ((++taken & 0xffU) == 0) file_.add_taken(0x100);
      if (sample.time >= until) break;
      if (sample.time >= rest_at) {
        const timespec pause = {.tv_sec = 0, .tv_nsec = static_cast<long>(options_.rest)};
        nanosleep(&pause, nullptr);
        if (options_.pin >= 0) pin();
        if (options_.hop) hop();
        rest_at = now() + options_.burst;
      }
    }
    if (!last_written_) file_.add(last_);
  }

  // Spins in one child after the other, each of which has to be where its parent may be.
  [[noreturn]] void spin_in_children() {
    while (true) {
      const pid_t child = fork();
      if (child < 0) err(2, "fork");
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        spin(now() + options_.fork_every);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
  }

 private:
  // Tries to be on its CPU and on no other; where that is not allowed it stays where it may be.
  void pin() {
    cpu_set_t one{};
    CPU_SET(static_cast<unsigned>(options_.pin), &one);
    sched_setaffinity(0, sizeof(one), &one);
  }

  // Tries to get onto a CPU, any of them, allowed or not; afterwards any will do again.
  void hop() {
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    seed_ = seed_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    cpu_set_t one{};
    CPU_SET((seed_ >> 33U) % static_cast<std::uint64_t>(cpus), &one);
    cpu_set_t all{};
    for (long cpu = 0; cpu < cpus; ++cpu) CPU_SET(static_cast<unsigned>(cpu), &all);
    sched_setaffinity(0, sizeof(one), &one);
    sched_setaffinity(0, sizeof(all), &all);
  }

  void take(const Sample& sample) {
    if (sample.cpu != last_.cpu) {
      if (!last_written_) file_.add(last_);
      write(sample);
    } else if (sample.time >= next_) {
      write(sample);
    } else {
      last_written_ = false;
    }
    last_ = sample;
  }

  void write(const Sample& sample) {
    file_.add(sample);
    last_written_ = true;
    next_ = sample.time + interval();
  }

  // Four times as long with every half of the room that is filled: on a slow machine the proof
  // takes long, and the room must last.
  Nanoseconds interval() const {
    const int halvings = file_.halvings();
    if (halvings == 0) return options_.interval;
    return std::max(options_.interval, kLeastWhenFilling) << std::min(2 * halvings, 30);
  }

  const Options& options_;
  SampleFile file_;
  Sample last_{};
  bool last_written_ = true;
  Nanoseconds next_ = 0;
  std::uint64_t seed_ = 0;
};

[[noreturn]] void run_one(const Options& options, SampleFile file) {
  Spinner spinner(options, file);
  if (options.fork_every > 0) spinner.spin_in_children();
  spinner.spin(kForever);
  _exit(0);
}

SampleFile file_of(const Options& options, int spinner) {
  const std::string name = options.directory + "/samples." + options.kind + "." +
                           std::to_string(getpid()) + "." + std::to_string(now()) + "." +
                           std::to_string(spinner);
  return SampleFile::create(name, options.capacity);
}

[[noreturn]] void run(const Options& options) {
  for (int spinner = 1; spinner < options.spinners; ++spinner) {
    const SampleFile file = file_of(options, spinner);
    if (options.threads) {
      std::thread([&options, file] { run_one(options, file); }).detach();
    } else {
      const pid_t child = fork();
      if (child < 0) err(2, "fork");
      if (child == 0) run_one(options, file);
    }
  }
  run_one(options, file_of(options, 0));
}

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  Options options;
  CLI::App app("Spins, and writes down when it was on which CPU.");
  app.add_option("directory", options.directory, "Where the files go")->required();
  app.add_option("--kind", options.kind, "What it is called in the counts (default: neighbour)");
  app.add_option("--pin", options.pin, "After a rest, try to be on this CPU alone");
  app.add_option("--spinners", options.spinners, "How many (default: 1)");
  app.add_flag("--threads", options.threads, "They are threads, not processes");
  app.add_option("--capacity", options.capacity, "Samples per spinner (default: 1048576)");
  app.add_option("--interval", options.interval, "Nanoseconds between samples written of one stay");
  app.add_option("--fork-every", options.fork_every, "Nanoseconds in one child, then the next");
  app.add_option("--burst", options.burst, "Nanoseconds between rests (default: no rest)");
  app.add_option("--rest", options.rest, "Nanoseconds of a rest");
  app.add_flag("--hop", options.hop, "After a rest, try to get onto some other CPU");
  CLI11_PARSE(app, count, words);
  run(options);
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
