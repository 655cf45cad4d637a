// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <zlib.h>

namespace corehold::vectors {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kExtension = ".jsonl";
constexpr std::size_t kProgressEvery = 256;
constexpr std::size_t kDeepestJson = 256;

Error invalid(std::string message) { return Error{Code::kInvalid, std::move(message)}; }

std::string without_gz(const fs::path& path) {
  return path.extension() == ".gz" ? path.stem().string() : path.filename().string();
}

Result<json::value> parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kDeepestJson;
  json::error_code trouble;
  json::value value = json::parse(text, trouble, {}, options);
  if (trouble) return invalid(fmt::format("not JSON: {}", trouble.message()));
  return value;
}

Result<int> int_field(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const std::int64_t* number = value == nullptr ? nullptr : value->if_int64();
  if (number == nullptr || *number < INT32_MIN || *number > INT32_MAX) {
    return invalid(fmt::format("field {} is not a small integer", key));
  }
  return static_cast<int>(*number);
}

std::string_view string_field(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

Result<CpuPlace> parse_place(const json::value& value) {
  const json::object* cpu = value.if_object();
  if (cpu == nullptr) return invalid("an item of cpus is not an object");
  return CpuPlace{.cpu = CpuId(TRY(int_field(*cpu, "cpu"))),
                  .core = CoreId(TRY(int_field(*cpu, "core"))),
                  .socket = SocketId(TRY(int_field(*cpu, "socket"))),
                  .node = NodeId(TRY(int_field(*cpu, "numa"))),
                  .uncore = UncoreId(TRY(int_field(*cpu, "uncore")))};
}

Result<TopologyParts> parse_places(const json::object& item) {
  const json::value* value = item.if_contains("cpus");
  const json::array* cpus = value == nullptr ? nullptr : value->if_array();
  if (cpus == nullptr) return invalid("field cpus is not a list");
  TopologyParts parts;
  for (const json::value& cpu : *cpus) parts.places.push_back(TRY(parse_place(cpu)));
  return parts;
}

Result<MachineFile> read_machines(const fs::path& directory) {
  for (const char* name : {"topologies.json", "topologies.json.gz"}) {
    if (!fs::exists(directory / name)) continue;
    auto file = parse_machines(TRY(read_text(directory / name)));
    if (!file) return wrap((directory / name).string(), file.error());
    return file;
  }
  return MachineFile{};  // families that name no machine need none
}

// The vector files of a directory by family; a family may have several.
Result<std::map<std::string, std::vector<fs::path>>> find_files(const fs::path& directory) {
  std::error_code trouble;
  std::map<std::string, std::vector<fs::path>> families;
  for (fs::directory_iterator entry(directory, trouble), end; !trouble && entry != end;
       entry.increment(trouble)) {
    const std::string name = without_gz(entry->path());
    if (!name.ends_with(kExtension)) continue;
    families[name.substr(0, name.size() - kExtension.size())].push_back(entry->path());
  }
  if (trouble) {
    return Error{Code::kIo, fmt::format("read {}: {}", directory.string(), trouble.message())};
  }
  for (auto& [family, files] : families) std::sort(files.begin(), files.end());
  return families;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Boost.JSON throws when a judge asks for a field that is not there: bad vectors.
Result<Verdict> call_judge(Judge judge, const json::object& line, const Machines& machines) {
  try {
    return judge(line, machines);
  } catch (const std::exception& trouble) {
    return invalid(trouble.what());
  }
}

Result<Verdict> judge_line(Judge judge, const json::object& line, const MachineFile& file) {
  const std::string machine(string_field(line, "topo"));
  if (machine.empty() || file.machines.contains(machine)) {
    return call_judge(judge, line, file.machines);
  }
  const auto refused = file.refused.find(machine);
  if (refused == file.refused.end()) {
    return invalid(fmt::format("machine {} is not in topologies.json", machine));
  }
  return Verdict::failed(fmt::format("an answer for machine {}", machine),
                         fmt::format("the machine is refused: {}", refused->second));
}

void count(Report& report, std::string id, Verdict verdict, std::size_t failures_kept) {
  switch (verdict.kind) {
    case Verdict::Kind::kPassed:
      ++report.passed;
      break;
    case Verdict::Kind::kSkipped:
      ++report.skipped[verdict.skipped_as];
      break;
    case Verdict::Kind::kFailed:
      ++report.failed;
      if (report.failures.size() < failures_kept) {
        report.failures.push_back({.id = std::move(id),
                                   .expected = std::move(verdict.expected),
                                   .actual = std::move(verdict.actual)});
      }
      break;
  }
}

// Judges one line of text and counts it.
Result<void> run_line(std::string_view text, Judge judge, const MachineFile& machines,
                      const RunOptions& options, Report& report) {
  const json::value value = TRY(parse_json(text));
  const json::object* line = value.if_object();
  if (line == nullptr) return invalid("the line is not a JSON object");
  const std::string id(string_field(*line, "id"));
  if (id.empty()) return invalid("the line has no id");
  auto verdict = judge_line(judge, *line, machines);
  if (!verdict) return wrap(id, verdict.error());
  count(report, id, *std::move(verdict), options.failures_kept);
  return {};
}

Result<void> run_file(const fs::path& path, Judge judge, const MachineFile& machines,
                      const RunOptions& options, Report& report) {
  const std::string text = TRY(read_text(path));
  const std::vector<std::string_view> lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    if (judge == nullptr) {
      ++report.skipped[std::string(kNotSupportedYet)];
      continue;
    }
    const auto done = run_line(lines[i], judge, machines, options, report);
    if (!done) return wrap(fmt::format("{}:{}", path.string(), i + 1), done.error());
    if (options.progress && i % kProgressEvery == 0) {
      options.progress(report.family, i, lines.size());
    }
  }
  return {};
}

std::string format_skipped(const Report& report) {
  std::string text;
  for (const auto& [exception, lines] : report.skipped) {
    text += text.empty() ? ": " : ", ";
    text += exception == kNotSupportedYet ? fmt::format("{}: {} lines", exception, lines)
                                          : fmt::format("{} {}", lines, exception);
  }
  return text;
}

}  // namespace

int Report::skipped_total() const {
  int total = 0;
  for (const auto& [exception, lines] : skipped) total += lines;
  return total;
}

Result<std::string> read_text(const fs::path& path) {
  const auto io_error = [&](std::string_view why) {
    return Error{Code::kIo, fmt::format("read {}: {}", path.string(), why)};
  };
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  errno = 0;
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (!file) return io_error(std::strerror(errno));
  std::string text;
  std::vector<char> block(std::size_t{1} << 18);
  for (;;) {
    const int got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    if (got == static_cast<int>(block.size())) continue;
    // A short read is the end of the file, or of what could be unpacked.
    int code = Z_OK;
    const char* why = gzerror(file.get(), &code);
    if (code == Z_ERRNO) return io_error(std::strerror(errno));
    if (code != Z_OK && code != Z_STREAM_END) return io_error(why);
    return text;
  }
}

Result<MachineFile> parse_machines(std::string_view text) {
  const json::value value = TRY(parse_json(text));
  const json::array* list = value.if_array();
  if (list == nullptr) return invalid("not a list of machines");
  MachineFile file;
  for (const json::value& item : *list) {
    const json::object* object = item.if_object();
    const std::string name(object == nullptr ? "" : string_field(*object, "name"));
    if (name.empty()) return invalid("a machine without a name");
    auto parts = parse_places(*object);
    if (!parts) return wrap(fmt::format("machine {}", name), parts.error());
    auto topology = Topology::make(*std::move(parts));
    if (topology) {
      file.machines.insert_or_assign(name, *std::move(topology));
    } else {
      file.refused.insert_or_assign(name, topology.error().message);
    }
  }
  return file;
}

Result<std::vector<Report>> run_directory(const fs::path& directory, const RunOptions& options) {
  const auto families = TRY(find_files(directory));
  if (families.empty()) {
    return Error{Code::kNotFound,
                 fmt::format("{}: no vectors (*.jsonl, *.jsonl.gz)", directory.string())};
  }
  if (options.family && !families.contains(*options.family)) {
    return Error{Code::kNotFound,
                 fmt::format("{}: no family {}", directory.string(), *options.family)};
  }
  const MachineFile machines = TRY(read_machines(directory));
  std::vector<Report> reports;
  for (const auto& [family, files] : families) {
    if (options.family && *options.family != family) continue;
    Report report{.family = family};
    for (const fs::path& file : files) {
      TRY(run_file(file, judge_of(family), machines, options, report));
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::string format_reports(const std::vector<Report>& reports) {
  std::string text;
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  for (const Report& report : reports) {
    for (const Failure& failure : report.failures) {
      text += fmt::format("{} {}\n  expected: {}\n  actual:   {}\n", report.family, failure.id,
                          failure.expected, failure.actual);
    }
    const int hidden = report.failed - static_cast<int>(report.failures.size());
    if (hidden > 0) text += fmt::format("{}: {} more failures not shown\n", report.family, hidden);
  }
  if (!text.empty()) text += '\n';
  for (const Report& report : reports) {
    text +=
        fmt::format("{:<18} {:>6} passed {:>6} failed {:>6} skipped{}\n", report.family,
                    report.passed, report.failed, report.skipped_total(), format_skipped(report));
    passed += report.passed;
    failed += report.failed;
    skipped += report.skipped_total();
  }
  return text + fmt::format("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
}

}  // namespace corehold::vectors
