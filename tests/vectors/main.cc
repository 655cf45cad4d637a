// SPDX-License-Identifier: Apache-2.0
//
// corehold-vectors DIR: compares this project's answers with recorded ones.
// Exit 0 when nothing failed, 1 when something did, 2 for bad usage or vectors
// that cannot be read.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include "base/code.h"
#include "runner.h"

namespace {

using namespace corehold;

// One line on a terminal that is written over and over.
void show_progress(std::string_view family, std::size_t done, std::size_t all) {
  std::fprintf(stderr, "\r\033[K%.*s %zu of %zu", static_cast<int>(family.size()), family.data(),
               done, all);
}

int run(const std::string& directory, vectors::RunOptions options) {
  const bool on_terminal = isatty(STDERR_FILENO) == 1;
  if (on_terminal) options.progress = show_progress;
  const auto reports = vectors::run_directory(directory, options);
  if (on_terminal) std::fputs("\r\033[K", stderr);
  if (!reports) {
    std::fprintf(stderr, "corehold-vectors: %s\n", reports.error().message.c_str());
    return kExitUsage;
  }
  std::fputs(vectors::format_reports(*reports).c_str(), stdout);
  for (const vectors::Report& report : *reports) {
    if (report.failed > 0) return kExitFailed;
  }
  return kExitDone;
}

// CLI11 throws; this is where that ends.
int parse_and_run(int argc, char** argv) {
  CLI::App app("Runs a directory of test vectors (*.jsonl, *.jsonl.gz, topologies.json).",
               "corehold-vectors");
  std::string directory;
  std::string family;
  vectors::RunOptions options;
  app.add_option("DIR", directory, "directory of vectors")->required();
  app.add_option("--family", family, "run only this family");
  app.add_option("--failures", options.failures_kept, "failures to show per family")
      ->capture_default_str();
  app.footer(
      "Exit: 0 nothing failed, 1 something failed, 2 bad usage or unreadable vectors.\n"
      "Example: corehold-vectors tests/vectors/data --family cpuset");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& trouble) {
    return app.exit(trouble) == 0 ? kExitDone : kExitUsage;
  }
  if (!family.empty()) options.family = family;
  return run(directory, options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "corehold-vectors: %s\n", trouble.what());
    return kExitUsage;
  }
}
