// SPDX-License-Identifier: Apache-2.0
//
// Runs a directory of vectors in the published format: DIR/<family>.jsonl or
// .jsonl.gz, one JSON object per line, and DIR/topologies.json (or .gz) with the
// machines they name. It reads, counts and collects; the families judge.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "family.h"

namespace corehold::vectors {

// The name under which lines of a family without a judge are skipped.
inline constexpr std::string_view kNotSupportedYet = "not supported yet";

// A line that failed.
struct Failure {
  std::string id;
  std::string expected;
  std::string actual;
};

// How one family went.
struct Report {
  std::string family{};
  int passed = 0;
  int failed = 0;
  std::map<std::string, int> skipped{};  // exception to number of lines
  std::vector<Failure> failures{};       // the first ones

  int skipped_total() const;
};

struct RunOptions {
  std::optional<std::string> family{};  // only this one
  std::size_t failures_kept = 10;       // per family
  // Called now and then with the family, lines done and lines in all.
  std::function<void(std::string_view, std::size_t, std::size_t)> progress{};
};

// The machines of a directory. One that this project cannot represent is in
// `refused` with the reason: lines that name it fail, the others still run.
struct MachineFile {
  Machines machines{};
  std::map<std::string, std::string> refused{};
};

// The content of a file, unpacked when it is gzip. Fails with kIo.
Result<std::string> read_text(const std::filesystem::path& path);

// Fails with kInvalid, naming what is wrong, when the text is not a list of machines.
Result<MachineFile> parse_machines(std::string_view text);

// One report per family found, in the order of their names. Fails with kNotFound
// when the directory has no vectors (or not the family asked for), with kIo when a
// file cannot be read, and with kInvalid, naming file and line, when a line is not
// JSON, lacks something its family needs, or names a machine that is not listed.
Result<std::vector<Report>> run_directory(const std::filesystem::path& directory,
                                          const RunOptions& options);

// Failures, then one line per family, then "N passed, N failed, N skipped".
std::string format_reports(const std::vector<Report>& reports);

}  // namespace corehold::vectors
