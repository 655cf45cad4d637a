// SPDX-License-Identifier: Apache-2.0
//
// judge DIR [--at-least N] [--each N] [--back]: reads what neighbours and holders wrote down in DIR
// and counts the samples that lie within a grant and on a CPU of it (leak_judge.h). Prints what it
// counted as JSON, of all and of each kind of neighbour (--kind).
//
// Exit codes: 0 no leak and enough samples; 1 leaks; 2 the proof does not count (too few
// samples or grants, lost samples, neighbours that were never near a granted CPU).
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cpuset/cpu_set.h"
#include "leak_judge.h"
#include "samples.h"

namespace corehold::proof {
namespace {

constexpr int kMostShown = 10;

void add_grant(LeakJudge& judge, const std::string& path) {
  const Grant* grant = open_grant(path);
  const auto cpus = CpuSet::parse(grant->cpus.data());
  if (!cpus) errx(2, "%s: %s", path.c_str(), cpus.error().message.c_str());
  judge.add_grant(*cpus, grant->granted, grant->last, grant->astray);
}

// samples.KIND.PID.TIME.SPINNER
std::string kind_in(const std::string& name) {
  const std::size_t begin = name.find('.') + 1;
  return name.substr(begin, name.find('.', begin) - begin);
}

void add_neighbour(LeakJudge& judge, const std::filesystem::path& path, int& shown) {
  const SampleFile file = SampleFile::open_existing(path);
  const std::string kind = kind_in(path.filename());
  judge.add_samples(kind, file, file.count(), [&](const Sample& sample) {
    if (++shown > kMostShown) return;
    fmt::print(stderr, "{}: on CPU {} at {}, which was granted\n", path.string(), sample.cpu,
               sample.time);
  });
  judge.add_looks(kind, file.taken(), file.lost());
}

std::string text_of(const LeakCounts& counts) {
  return fmt::format(
      R"("neighbours":{},"samples":{},"taken":{},"lost":{},"during":{},"near":{},"back":{},"leaks":{})",
      counts.neighbours, counts.samples, counts.taken, counts.lost, counts.during, counts.near,
      counts.back, counts.leaks);
}

int run(const std::string& directory, const Demands& demands) {
  std::vector<std::filesystem::path> grants;
  std::vector<std::filesystem::path> neighbours;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".new")) continue;
    if (name.starts_with("grant.")) grants.push_back(entry.path());
    if (name.starts_with("samples.")) neighbours.push_back(entry.path());
  }
  LeakJudge judge;
  int shown = 0;
  for (const auto& path : grants) add_grant(judge, path);
  for (const auto& path : neighbours) add_neighbour(judge, path, shown);
  std::string each;
  for (const auto& [kind, counts] : judge.kinds()) {
    each += fmt::format("{}\"{}\":{{{}}}", each.empty() ? "" : ",", kind, text_of(counts));
  }
  fmt::print("{{{},\"grants\":{},\"astray\":{},\"kinds\":{{{}}}}}\n", text_of(judge.total()),
             judge.grants(), judge.astray(), each);
  return static_cast<int>(judge.verdict(demands));
}

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  std::string directory;
  Demands demands{.samples = 1'000'000};
  CLI::App app("Counts samples of neighbours on CPUs that were granted to somebody else.");
  app.add_option("directory", directory, "Where neighbours and holders wrote")->required();
  app.add_option("--at-least", demands.samples, "Samples that make a proof (default: 1000000)");
  app.add_option("--each", demands.during_each, "Of each kind, while a grant was in force");
  app.add_flag("--back", demands.back_each, "Each kind was on a CPU that was given back");
  CLI11_PARSE(app, count, words);
  return run(directory, demands);
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
