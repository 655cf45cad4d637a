// SPDX-License-Identifier: Apache-2.0
//
// The report of two snapshots of a machine of four CPUs that is made up, as files of its /proc and
// /sys, beside what is in tests/golden/quiet. COREHOLD_UPDATE_GOLDEN in the environment writes it
// anew.
#include "cli/quiet/quiet_render.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "cli/json_text.h"
#include "kernel/kernel_facts.h"
#include "kernel/kernel_settings.h"
#include "kernel/machine_snapshot.h"
#include "kernel/testing.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxGolden = 1 << 20;

std::string golden_path(const std::string& name) {
  return std::string(COREHOLD_SOURCE_DIR "/tests/golden/quiet/") + name;
}

std::string golden(const std::string& name) {
  auto text = read_file(golden_path(name), kMaxGolden);
  CHECK(text);
  return *std::move(text);
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("COREHOLD_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(replace_file(golden_path(name), text));
  }
  EXPECT_EQ(text, golden(name));
}

// The files of one moment: "=== PATH" and the content, one after the other. A path that ends in a
// slash is a directory without files.
void unpack(std::string_view text, MadeFiles& files) {
  constexpr std::string_view kMark = "=== ";
  while (text.starts_with(kMark)) {
    const std::size_t line = text.find('\n');
    const std::size_t next = text.find("\n=== ", line);
    const std::size_t end = next == std::string_view::npos ? text.size() : next + 1;
    const std::string path(text.substr(kMark.size(), line - kMark.size()));
    if (path.ends_with('/')) {
      CHECK(make_directories(files.root() + "/" + path, 0755));
    } else {
      files.write(path, text.substr(line + 1, end - line - 1));
    }
    text.remove_prefix(end);
  }
}

QuietReport golden_report() {
  MadeFiles before;
  unpack(golden("before.txt"), before);
  MadeFiles after;
  unpack(golden("after.txt"), after);
  const auto kernel = read_kernel_facts(after.root() + "/proc", after.root() + "/sys");
  auto first = read_machine(before.root() + "/proc", before.root() + "/sys");
  auto second = read_machine(after.root() + "/proc", after.root() + "/sys");
  CHECK(kernel);
  CHECK(first);
  CHECK(second);
  first->at = std::chrono::seconds(100);
  second->at = std::chrono::milliseconds(105'004);
  const QuietHolder holder{.name = "default/web main",
                           .cpus = CpuSet{CpuId(2)},
                           .cgroup = "/0b9f7a3c-1d2e-4f50-8a61-7c8d9e0f1a2b/main"};
  const CpuSet cpus{CpuId(2), CpuId(3)};
  const KernelSettings settings =
      read_kernel_settings(cpus, after.root() + "/proc", after.root() + "/sys");
  return quiet_report({.cpus = cpus, .holders = {holder}, .kernel = *kernel, .settings = settings},
                      *first, *second);
}

void expect_80_columns(const std::string& table) {
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    EXPECT_LE(end - at, 80U) << table.substr(at, end - at);
    at = end + 1;
  }
}

TEST(QuietTable, OfASnapshotIsTheGoldenOne) {
  const std::string table = render_quiet_table(golden_report(), "as the agent says");
  expect_golden("table.txt", table);
  expect_80_columns(table);
}

TEST(QuietTable, IsTheOneInTheDocuments) {
  const auto page = read_file(COREHOLD_SOURCE_DIR "/docs/quiet.md", kMaxGolden);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_NE(page->find("```\n" + golden("table.txt") + "```\n"), std::string::npos);
}

TEST(QuietJson, OfASnapshotIsTheGoldenOne) {
  expect_golden("report.json", json_text(quiet_json(golden_report())));
}

TEST(QuietTable, SaysThatNobodyRan) {
  const QuietReport report{.watched = std::chrono::seconds(5), .cpus = {{.cpu = CpuId(3)}}};
  EXPECT_TRUE(render_quiet_table(report, "none").ends_with("\nWHO DID, IN 5.0 s: nobody\n"));
}

// The longest values that there are, and one that no kernel has.
TEST(QuietTable, FitsATerminalWithAnyAdvice) {
  KernelSettings settings{
      .uncores = {{.name = "uncore00", .min_khz = 800'000, .max_khz = 2'400'000}},
      .numa_balancing = 1,
      .rt_runtime_us = 950'000,
      .transparent_hugepage = "always",
      .resctrl_is_mounted = false,
      .has_cat_l3 = true};
  for (const int cpu : {10, 11, 14, 15}) settings.governors[CpuId(cpu)] = "conservative";
  for (int cpu = 100; cpu < 200; cpu += 2) settings.governors[CpuId(cpu)] = "schedutil";
  settings.governors[CpuId(7)] = "a governor\nof a kernel of its own";
  const QuietReport report{.watched = std::chrono::seconds(5),
                           .advice = quiet_advice(settings, {.major = 6, .minor = 1})};
  const std::string table = render_quiet_table(report, "none");
  expect_80_columns(table);
  EXPECT_TRUE(table.ends_with(
      "\n"
      "ADVICE\n"
      "SETTING                     NOW           ADVISED      WHY\n"
      "governor, CPU 7             a governo...  performance  the frequency stays high\n"
      "governor, CPUs 10-11,14-15  conservative  performance  the frequency stays high\n"
      "governor, 50 CPUs           schedutil     performance  the frequency stays high\n"
      "uncore min_freq_khz         800000        2400000      caches keep their speed\n"
      "kernel.numa_balancing       1             0            no faults to move pages\n"
      "kernel.sched_rt_runtime_us  950000        -1           for real-time busy loops\n"
      "transparent_hugepage        always        madvise      no pages merged unasked\n"
      "resctrl                     not mounted   mounted      to give a pod its cache\n"))
      << table;
}

TEST(QuietTable, WithoutAdviceHasNoSectionForIt) {
  EXPECT_EQ(render_quiet_table({.cpus = {{.cpu = CpuId(3)}}}, "none").find("ADVICE"),
            std::string::npos);
}

TEST(DurationText, HasThreeDigits) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'000), "1.00 us");
  EXPECT_EQ(duration_text(12'345), "12.3 us");
  EXPECT_EQ(duration_text(123'456), "123 us");
  EXPECT_EQ(duration_text(999'600), "1.00 ms");
  EXPECT_EQ(duration_text(2'345'678'901), "2.35 s");
  EXPECT_EQ(duration_text(123'456'000'000), "123 s");
}

JitterResult measured() {
  JitterResult result{.cpu = CpuId(3),
                      .watched = std::chrono::seconds(10),
                      .threshold = std::chrono::microseconds(1),
                      .rounds = 312'456'789,
                      .shortest = 31};
  for (int count = 0; count < 2400; ++count) result.pauses.add(3'000);
  for (int count = 0; count < 90; ++count) result.pauses.add(12'000);
  result.pauses.add(4'100'000);
  return result;
}

TEST(JitterTable, HasBarsAndFitsATerminal) {
  expect_golden("jitter.txt", render_jitter_table(measured()));
}

TEST(JitterTable, WithoutPausesHasNoHistogram) {
  EXPECT_EQ(render_jitter_table({.cpu = CpuId(3),
                                 .watched = std::chrono::seconds(10),
                                 .threshold = std::chrono::microseconds(5),
                                 .rounds = 7,
                                 .shortest = 31}),
            "CPU      3\n"
            "watched  10.0 s, 7 rounds of 31 ns or more\n"
            "pauses   0 of 5.00 us or more\n");
}

TEST(JitterJson, HasAllFigures) {
  expect_golden("jitter.json", json_text(jitter_json(measured())));
}

}  // namespace
}  // namespace corehold
