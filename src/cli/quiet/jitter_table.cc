// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "cli/quiet/quiet_render.h"
#include "cli/text_table.h"

namespace corehold {
namespace {

constexpr std::size_t kBar = 40;

// "12345678" as "12,345,678".
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

// Linear, and at least one mark for what is not nothing.
std::string bar_of(std::uint64_t count, std::uint64_t most) {
  if (count == 0) return "";
  const auto part = static_cast<double>(count) / static_cast<double>(most);
  const auto marks = static_cast<std::size_t>(part * static_cast<double>(kBar));
  return std::string(std::max<std::size_t>(1, marks), '#');
}

// Powers of two have more digits than anybody reads: 1.02 us to 2.05 us.
std::string histogram_of(const PauseHistogram& pauses) {
  const std::vector<PauseHistogram::Row> rows = pauses.rows();
  std::uint64_t most = 0;
  for (const PauseHistogram::Row& row : rows) most = std::max(most, row.count);
  std::vector<Row> table{{"PAUSE", "", "COUNT"}};
  for (const PauseHistogram::Row& row : rows) {
    table.push_back({duration_text(row.from), "to " + duration_text(row.to), grouped(row.count)});
  }
  // The bars follow the aligned columns.
  const std::string aligned = align(table, 2);
  std::string text;
  std::size_t line = 0;
  for (std::size_t at = 0; at < aligned.size(); ++line) {
    const std::size_t end = aligned.find('\n', at);
    text += aligned.substr(at, end - at);
    const std::string bar = line == 0 ? "" : bar_of(rows[line - 1].count, most);
    if (!bar.empty()) text += "  " + bar;
    text += '\n';
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string render_jitter_table(const JitterResult& result) {
  const PauseHistogram& pauses = result.pauses;
  const double seconds = std::chrono::duration<double>(result.watched).count();
  std::vector<Row> rows{
      {"CPU", std::to_string(result.cpu.value)},
      {"watched", fmt::format("{:.1f} s, {} rounds of {} or more", seconds, grouped(result.rounds),
                              duration_text(result.shortest))},
      {"pauses", fmt::format("{} of {} or more", grouped(pauses.count()),
                             duration_text(static_cast<std::uint64_t>(result.threshold.count())))}};
  if (pauses.count() > 0) {
    const double share = static_cast<double>(pauses.sum()) /
                         static_cast<double>(std::max<std::int64_t>(1, result.watched.count()));
    rows.push_back({"lost", fmt::format("{}, {:.3f} % of the time", duration_text(pauses.sum()),
                                        share * 100)});
    rows.push_back({"p50", duration_text(pauses.percentile(500))});
    rows.push_back({"p99", duration_text(pauses.percentile(990))});
    rows.push_back({"p99.9", duration_text(pauses.percentile(999))});
    rows.push_back({"max", duration_text(pauses.max())});
  }
  std::string text = align(rows, 2);
  if (pauses.count() > 0) text += "\n" + histogram_of(pauses);
  return text;
}

}  // namespace corehold
