// SPDX-License-Identifier: Apache-2.0
//
// told_judge DIR [--at-least N]: reads what readers wrote down in DIR and says whether they were
// told before anything was taken. Prints what it counted as JSON.
//
// A version of the file was the one in place from the end of the first read that found it to the
// begin of the last one at least, and nothing that it lists may go before the delay after that.
// So every look at the affinity that begins after the first read and ends within the delay after
// the last one has begun must find all CPUs that the version lists. For a container without
// delay that means: for as long as the file surely said so.
//
// A CPU belongs to one container: where one was allowed on it before and after another was, closer
// together than that other can lose it again, both were.
//
// Exit codes: 0 all promises kept; 1 not; 2 the proof does not count (too few, or lost looks).
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "looks.h"

namespace corehold::proof {
namespace {

constexpr Nanoseconds kWhile = 1'000'000'000;  // in which losses are looked for after the delay

struct Counts {
  std::uint64_t containers = 0;
  std::uint64_t reads = 0;
  std::uint64_t looks = 0;  // at the affinity
  std::uint64_t lost = 0;
  std::uint64_t versions = 0;
  std::uint64_t grown = 0;   // versions that list CPUs which the one before did not
  std::uint64_t shrunk = 0;  // the other way
  std::uint64_t missing = 0;
  std::uint64_t empty = 0;
  std::uint64_t broken = 0;
  std::uint64_t taken_early = 0;  // looks without a CPU that was promised then
  std::uint64_t shared = 0;       // looks at CPUs that somebody else had too
};

// One content of the file.
struct Version {
  std::uint64_t cpus = 0;
  Nanoseconds in_place = 0;    // surely from here ...
  Nanoseconds last_begun = 0;  // ... to here
};

void complain(const std::string& name, const char* what, std::uint64_t cpus, Nanoseconds when,
              std::uint64_t so_far) {
  if (so_far > 10) return;
  std::fprintf(stderr, "%s: %s: CPUs 0x%llx at %lld\n", name.c_str(), what,
               static_cast<unsigned long long>(cpus), static_cast<long long>(when));
}

class Judge {
 public:
  explicit Judge(std::string directory) : directory_(std::move(directory)) {}

  void add(const std::string& name) {
    ++counts_.containers;
    const LookFile told = LookFile::open_existing(told_path(directory_, name));
    const LookFile allowed = LookFile::open_existing(allowed_path(directory_, name));
    counts_.lost += told.lost() + allowed.lost();
    counts_.looks += allowed.count();
    const std::vector<Version> versions = versions_of(name, told);
    judge_versions(name, versions, allowed);
    judge_others(name, allowed);
    others_.emplace(name, allowed);
  }

  const Counts& counts() const { return counts_; }
  // Of all losses, how long after the delay the soonest was seen; no value: there was none.
  std::optional<Nanoseconds> soonest() const { return soonest_; }

 private:
  void count_fault(const std::string& name, const Look& look) {
    std::uint64_t* count = look.fault == Fault::kMissing ? &counts_.missing
                           : look.fault == Fault::kEmpty ? &counts_.empty
                                                         : &counts_.broken;
    complain(name, "the file was missing, empty or broken", 0, look.begun, ++*count);
  }

  std::vector<Version> versions_of(const std::string& name, const LookFile& told) {
    std::vector<Version> versions;
    std::uint64_t current = 0;
    for (std::uint64_t index = 0; index < told.count(); ++index) {
      const Look& look = told[index];
      ++counts_.reads;
      if (look.fault != Fault::kNone) {
        count_fault(name, look);
        continue;
      }
      if (versions.empty() || look.inode != current) {
        if (!versions.empty()) {
          if ((look.cpus & ~versions.back().cpus) != 0) ++counts_.grown;
          if ((versions.back().cpus & ~look.cpus) != 0) ++counts_.shrunk;
        }
        versions.push_back({.cpus = look.cpus, .in_place = look.ended});
        current = look.inode;
        ++counts_.versions;
      }
      // A file that is in place does not change.
      if (look.cpus != versions.back().cpus) {
        complain(name, "the file was written to", look.cpus, look.begun, ++counts_.broken);
      }
      versions.back().last_begun = look.begun;
    }
    return versions;
  }

  void judge_versions(const std::string& name, const std::vector<Version>& versions,
                      const LookFile& allowed) {
    std::uint64_t first = 0;
    for (const Version& version : versions) {
      while (first < allowed.count() && allowed[first].begun < version.in_place) ++first;
      const Nanoseconds until = version.last_begun + allowed.delay();
      for (std::uint64_t index = first; index < allowed.count(); ++index) {
        const Look& look = allowed[index];
        const Nanoseconds late = look.ended - until;
        if (late > kWhile) break;
        const std::uint64_t gone = version.cpus & ~look.cpus;
        if (gone == 0) continue;
        if (!soonest_ || late < *soonest_) soonest_ = late;
        if (late >= 0) break;
        complain(name, "taken before the time", gone, look.begun, ++counts_.taken_early);
      }
    }
  }

  void judge_others(const std::string& name, const LookFile& allowed) {
    for (const auto& [other, theirs] : others_) {
      find_shared(name, allowed, theirs);
      find_shared(other, theirs, allowed);
    }
  }

  // Looks of `mine` at CPUs that the other was allowed on before and after it.
  void find_shared(const std::string& name, const LookFile& mine, const LookFile& theirs) {
    std::uint64_t before = 0;
    for (std::uint64_t index = 0; index < mine.count(); ++index) {
      const Look& look = mine[index];
      while (before + 1 < theirs.count() && theirs[before + 1].ended <= look.begun) ++before;
      if (before >= theirs.count() || theirs[before].ended > look.begun) continue;
      std::uint64_t after = before + 1;
      while (after < theirs.count() && theirs[after].begun < look.ended) ++after;
      if (after >= theirs.count()) return;
      const std::uint64_t both = look.cpus & theirs[before].cpus & theirs[after].cpus;
      if (both == 0 || theirs[after].begun - theirs[before].ended >= mine.delay()) continue;
      complain(name, "somebody else had them too", both, look.begun, ++counts_.shared);
    }
  }

  std::string directory_;
  Counts counts_{};
  std::optional<Nanoseconds> soonest_{};
  std::map<std::string, LookFile> others_{};
};

int verdict(const Judge& judge, std::uint64_t at_least) {
  const Counts& counts = judge.counts();
  const auto number = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "{\"containers\":%llu,\"reads\":%llu,\"looks\":%llu,\"lost\":%llu,\"versions\":%llu,"
      "\"grown\":%llu,\"shrunk\":%llu,\"missing\":%llu,\"empty\":%llu,\"broken\":%llu,"
      "\"taken_early\":%llu,\"shared\":%llu,\"soonest_us\":%lld}\n",
      number(counts.containers), number(counts.reads), number(counts.looks), number(counts.lost),
      number(counts.versions), number(counts.grown), number(counts.shrunk), number(counts.missing),
      number(counts.empty), number(counts.broken), number(counts.taken_early),
      number(counts.shared), static_cast<long long>(judge.soonest().value_or(-1'000) / 1000));
  if (counts.missing + counts.empty + counts.broken + counts.taken_early + counts.shared > 0) {
    return 1;
  }
  return counts.lost > 0 || counts.shrunk < at_least || counts.grown < at_least ? 2 : 0;
}

int run(const std::string& directory, std::uint64_t at_least) {
  Judge judge(directory);
  const std::string mark = "told.";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(mark) && !name.ends_with(".new")) judge.add(name.substr(mark.size()));
  }
  return verdict(judge, at_least);
}

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  std::string directory;
  std::uint64_t at_least = 100;
  CLI::App app("Says whether containers were told before CPUs were taken from them.");
  app.add_option("directory", directory, "Where readers wrote")->required();
  app.add_option("--at-least", at_least, "Changes either way that make a proof (default: 100)");
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
