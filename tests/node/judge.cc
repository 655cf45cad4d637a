// SPDX-License-Identifier: Apache-2.0
//
// judge DIR [--at-least N]: reads what neighbours and holders wrote down in DIR and counts the
// samples that lie within a grant and on a CPU of it. Prints what it counted as JSON.
//
// A sample is within a grant when its clock was read after the holder's first instruction, and
// the neighbour's next clock, which is after the CPU was read, before the holder was last seen.
//
// Exit codes: 0 no leak and enough samples; 1 leaks; 2 the proof does not count (too few
// samples or grants, lost samples, neighbours that were never near a granted CPU).
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cpuset/cpu_set.h"
#include "samples.h"

namespace corehold::proof {
namespace {

struct Window {
  Nanoseconds from = 0;
  Nanoseconds to = 0;
};

struct Counts {
  std::uint64_t neighbours = 0;
  std::uint64_t samples = 0;
  std::uint64_t taken = 0;
  std::uint64_t lost = 0;
  std::uint64_t grants = 0;
  std::uint64_t during = 0;  // while any grant was in force, wherever
  std::uint64_t near = 0;    // on a CPU of a grant while it was not in force
  std::uint64_t leaks = 0;
  std::uint64_t astray = 0;  // looks of holders on CPUs that are not theirs
};

class Judge {
 public:
  void add_grant(const std::string& path) {
    const Grant* grant = open_grant(path);
    const auto cpus = CpuSet::parse(grant->cpus.data());
    if (!cpus) errx(2, "%s: %s", path.c_str(), cpus.error().message.c_str());
    const Window window = {.from = grant->granted, .to = grant->last};
    for (const auto cpu : *cpus) windows_[cpu.value].push_back(window);
    all_.push_back(window);
    ++counts_.grants;
    counts_.astray += grant->astray;
  }

  void add_neighbour(const std::string& path) {
    const SampleFile file = SampleFile::open_existing(path);
    const std::uint64_t count = file.count();
    ++counts_.neighbours;
    counts_.samples += count;
    counts_.taken += file.taken();
    counts_.lost += file.lost();
    for (std::uint64_t index = 0; index + 1 < count; ++index) {
      judge(path, file[index], file[index + 1].time);
    }
  }

  const Counts& counts() const { return counts_; }

 private:
  static bool within(const std::vector<Window>& windows, Nanoseconds from, Nanoseconds to) {
    return std::any_of(windows.begin(), windows.end(),
                       [&](const Window& window) { return from > window.from && to < window.to; });
  }

  void judge(const std::string& path, const Sample& sample, Nanoseconds next) {
    if (within(all_, sample.time, next)) ++counts_.during;
    const auto windows = windows_.find(sample.cpu);
    if (windows == windows_.end()) return;
    if (!within(windows->second, sample.time, next)) {
      ++counts_.near;
    } else if (++counts_.leaks <= 10) {
      std::fprintf(stderr, "%s: on CPU %d at %lld, which was granted\n", path.c_str(), sample.cpu,
                   static_cast<long long>(sample.time));
    }
  }

  std::map<int, std::vector<Window>> windows_{};  // by CPU
  std::vector<Window> all_{};
  Counts counts_{};
};

int verdict(const Counts& counts, std::uint64_t at_least) {
  std::printf(
      "{\"neighbours\":%llu,\"samples\":%llu,\"taken\":%llu,\"lost\":%llu,\"grants\":%llu,"
      "\"during\":%llu,\"near\":%llu,\"leaks\":%llu,\"astray\":%llu}\n",
      static_cast<unsigned long long>(counts.neighbours),
      static_cast<unsigned long long>(counts.samples),
      static_cast<unsigned long long>(counts.taken), static_cast<unsigned long long>(counts.lost),
      static_cast<unsigned long long>(counts.grants),
      static_cast<unsigned long long>(counts.during), static_cast<unsigned long long>(counts.near),
      static_cast<unsigned long long>(counts.leaks),
      static_cast<unsigned long long>(counts.astray));
  if (counts.leaks > 0 || counts.astray > 0) return 1;
  if (counts.samples < at_least || counts.lost > 0 || counts.grants == 0 || counts.near == 0) {
    return 2;
  }
  return 0;
}

int run(const std::string& directory, std::uint64_t at_least) {
  std::vector<std::string> grants;
  std::vector<std::string> neighbours;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".new")) continue;
    if (name.starts_with("grant.")) grants.push_back(entry.path());
    if (name.starts_with("samples.")) neighbours.push_back(entry.path());
  }
  Judge judge;
  for (const std::string& path : grants) judge.add_grant(path);
  for (const std::string& path : neighbours) judge.add_neighbour(path);
  return verdict(judge.counts(), at_least);
}

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  std::string directory;
  std::uint64_t at_least = 1'000'000;
  CLI::App app("Counts samples of neighbours on CPUs that were granted to somebody else.");
  app.add_option("directory", directory, "Where neighbours and holders wrote")->required();
  app.add_option("--at-least", at_least, "Samples that make a proof (default: 1000000)");
  CLI11_PARSE(app, count, words);
  return run(directory, at_least);
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
