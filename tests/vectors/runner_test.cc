// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

namespace corehold::vectors {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGood =
    R"({"id":"a","in":"0-1","ok":true,"string":"0-1","size":2,"list":[0,1]})";
constexpr const char* kWrong =
    R"({"id":"b","in":"0-1","ok":true,"string":"0","size":1,"list":[0]})";

// A directory of vectors that is gone after the test.
class VectorsRunner : public testing::Test {
 protected:
  VectorsRunner() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(testing::TempDir()) / (std::string("corehold-") + test->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~VectorsRunner() override { fs::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }
  void write_gz(const std::string& name, const std::string& text) {
    gzFile file = gzopen((directory_ / name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }
  std::string error_of_run() {
    const auto reports = run_directory(directory_, {});
    return reports ? "no error" : reports.error().message;
  }
  std::string path(const std::string& name) { return (directory_ / name).string(); }

  fs::path directory_;
};

TEST_F(VectorsRunner, CountsPassedAndFailedLinesAndShowsBothAnswers) {
  write("cpuset.jsonl", std::string(kGood) + "\n" + kWrong + "\n");
  const auto reports = run_directory(directory_, {});
  ASSERT_TRUE(reports) << reports.error().message;
  EXPECT_EQ(format_reports(*reports),
            "cpuset b\n"
            "  expected: \"0\", 1 CPUs, list \"0\"\n"
            "  actual:   \"0-1\", 2 CPUs, list \"0-1\"\n"
            "\n"
            "cpuset                  1 passed      1 failed      0 skipped\n"
            "1 passed, 1 failed, 0 skipped\n");
}

TEST_F(VectorsRunner, KeepsOnlyTheFirstFailuresButCountsAll) {
  write("cpuset.jsonl", std::string(kWrong) + "\n" + kWrong + "\n" + kWrong);
  const auto reports = run_directory(directory_, {.failures_kept = 1});
  ASSERT_TRUE(reports) << reports.error().message;
  EXPECT_EQ(reports->front().failed, 3);
  EXPECT_EQ(reports->front().failures.size(), 1U);
  EXPECT_NE(format_reports(*reports).find("cpuset: 2 more failures not shown"), std::string::npos);
}

TEST_F(VectorsRunner, ReadsGzipAndPlainAlike) {
  write_gz("cpuset.jsonl.gz", std::string(kGood) + "\n");
  write_gz("topologies.json.gz", "[]");
  const auto reports = run_directory(directory_, {});
  ASSERT_TRUE(reports) << reports.error().message;
  EXPECT_EQ(reports->front().passed, 1);
}

TEST_F(VectorsRunner, SkipsAnUnknownFamilyByName) {
  write("tea_leaves.jsonl", "{\"id\":\"x\"}\n{\"id\":\"y\"}\n");
  const auto reports = run_directory(directory_, {});
  ASSERT_TRUE(reports) << reports.error().message;
  EXPECT_EQ(format_reports(*reports),
            "tea_leaves              0 passed      0 failed      2 skipped: not supported yet: 2 "
            "lines\n"
            "0 passed, 0 failed, 2 skipped\n");
}

TEST_F(VectorsRunner, NamesFileAndLineOfBadJson) {
  write("cpuset.jsonl", std::string(kGood) + "\n{\"id\":");
  EXPECT_EQ(error_of_run(), path("cpuset.jsonl") + ":2: not JSON: incomplete JSON");
}

TEST_F(VectorsRunner, NamesTheLineThatLacksAField) {
  write("cpuset.jsonl", R"({"id":"c","ok":true})");
  EXPECT_TRUE(error_of_run().starts_with(path("cpuset.jsonl") + ":1: c: ")) << error_of_run();
}

TEST_F(VectorsRunner, RefusesALineWithoutAnId) {
  write("cpuset.jsonl", "[]\n");
  EXPECT_EQ(error_of_run(), path("cpuset.jsonl") + ":1: the line is not a JSON object");
  write("cpuset.jsonl", "{}\n");
  EXPECT_EQ(error_of_run(), path("cpuset.jsonl") + ":1: the line has no id");
}

TEST_F(VectorsRunner, NamesTheLineWithAnUnknownMachine) {
  write("cpuset.jsonl", R"({"id":"d","topo":"nowhere","in":""})");
  EXPECT_EQ(error_of_run(),
            path("cpuset.jsonl") + ":1: d: machine nowhere is not in topologies.json");
}

TEST_F(VectorsRunner, FailsLinesOnAMachineItCannotRepresent) {
  write("topologies.json",
        R"([{"name":"big","cpus":[{"cpu":5000,"core":0,"socket":0,"numa":0,"uncore":0}]}])");
  write("cpuset.jsonl", R"({"id":"e","topo":"big","in":""})");
  const auto reports = run_directory(directory_, {});
  ASSERT_TRUE(reports) << reports.error().message;
  ASSERT_EQ(reports->front().failures.size(), 1U);
  EXPECT_EQ(reports->front().failures[0].actual,
            "the machine is refused: CPU 5000 is outside 0 to 4095, the most this build can hold");
}

TEST_F(VectorsRunner, NamesTheMachineThatIsMalformed) {
  write("cpuset.jsonl", std::string(kGood));
  write("topologies.json", R"([{"name":"odd","cpus":[{"cpu":"zero"}]}])");
  EXPECT_EQ(error_of_run(),
            path("topologies.json") + ": machine odd: field cpu is not a small integer");
}

TEST_F(VectorsRunner, RefusesATruncatedArchive) {
  write_gz("cpuset.jsonl.gz", std::string(kGood) + "\n");
  fs::resize_file(directory_ / "cpuset.jsonl.gz", 40);
  EXPECT_TRUE(error_of_run().starts_with("read " + path("cpuset.jsonl.gz") + ": "))
      << error_of_run();
}

TEST_F(VectorsRunner, RefusesADirectoryWithoutVectors) {
  EXPECT_EQ(error_of_run(), directory_.string() + ": no vectors (*.jsonl, *.jsonl.gz)");
  fs::remove_all(directory_);
  EXPECT_EQ(error_of_run(), "read " + directory_.string() + ": No such file or directory");
}

TEST_F(VectorsRunner, RefusesAFamilyThatIsNotThere) {
  write("cpuset.jsonl", std::string(kGood));
  const auto reports = run_directory(directory_, {.family = "merge"});
  ASSERT_FALSE(reports);
  EXPECT_EQ(reports.error().message, directory_.string() + ": no family merge");
}

}  // namespace
}  // namespace corehold::vectors
