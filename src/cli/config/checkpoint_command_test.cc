// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "base/code.h"
#include "cli/cli.h"
#include "store/checkpoint_file.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string out{};
  std::string err{};
};

class CheckpointCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-cli-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    file_ = directory_ + "/state";
    ASSERT_TRUE(save_checkpoint(file_, state_, {.version = CheckpointVersion::kV3}));
  }
  void TearDown() override { fs::remove_all(directory_); }

  static Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "checkpoint");
    std::reverse(arguments.begin(), arguments.end());
    Outcome outcome;
    CLI::App app;
    add_checkpoint(app, outcome.code);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      outcome.code = app.exit(error) == 0 ? kExitDone : kExitUsage;
    }
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }

  Outcome reserve(const std::string& list, const std::string& strictness,
                  const std::string& source) {
    return run(
        {"convert", file_, "--to", "v3", "--reserved", list, strictness, "--source", source});
  }

  void write(std::string_view bytes) { ASSERT_TRUE(write_file_atomically(file_, bytes)); }

  State state_{
      .policy = "static",
      .shared = *CpuSet::parse("0-1,8-15"),
      .pods = {{"db-uid",
                {{"main", {.assigned = *CpuSet::parse("2-5"), .promised = *CpuSet::parse("2-3")}}}},
               {"web",
                {{"gw", {.assigned = *CpuSet::parse("6-7"), .promised = *CpuSet::parse("6-7")}}}}}};
  std::string directory_;
  std::string file_;
};

using CheckpointShow = CheckpointCommand;
using CheckpointVerify = CheckpointCommand;
using CheckpointConvertCommand = CheckpointCommand;

TEST_F(CheckpointShow, PrintsAnAlignedTable) {
  const Outcome outcome = run({"show", file_});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "version   v3\n"
            "policy    static\n"
            "default   0-1,8-15  10 CPUs\n"
            "checksum  3409978054, matches\n"
            "\n"
            "POD     CONTAINER  ASSIGNED  PROMISED\n"
            "db-uid  main       2-5       2-3\n"
            "web     gw         6-7       6-7\n");
}

TEST_F(CheckpointShow, PrintsJson) {
  write(R"({"policyName":"static","defaultCpuSet":"0-63","checksum":1058907510})");
  const Outcome outcome = run({"show", file_, "-o", "json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            R"({"version":"v2","policyName":"static","defaultCpuSet":"0-63","containers":[],)"
            R"("checksum":1058907510,"checksumState":"matches"})"
            "\n");
}

TEST_F(CheckpointShow, EscapesWhatATerminalWouldInterpret) {
  write(R"({"policyName":"\u001b[2J","defaultCpuSet":"0","checksum":0})");
  const Outcome outcome = run({"show", file_});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find(R"(policy    "\x1b[2J")"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("not sound: checksum is 0"), std::string::npos);
}

TEST_F(CheckpointVerify, SaysWhatWasReadAsWhat) {
  const Outcome outcome = run({"verify", file_});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            file_ +
                ": sound checksum, sets and owners: read as v3, policy static, 2 containers, "
                "checksum 3409978054 matches; whether it suits a machine is not checked\n");
}

TEST_F(CheckpointVerify, SaysBothChecksumsAndWhatToDo) {
  write(R"({"policyName":"static","defaultCpuSet":"0-63","checksum":1058907511})");
  const Outcome outcome = run({"verify", file_});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "corehold: " + file_ +
                             ": checksum is 1058907511, content gives 1058907510; restore it "
                             "from a copy, or drain the node and delete it\n");
}

TEST_F(CheckpointVerify, ShowsNamesFromTheFileOnOneLineWithoutControlCharacters) {
  write(
      R"({"policyName":"static","defaultCpuSet":"0","entries":{"p\u009b":{"a\nb\u001b[2J\u007fé":)"
      R"("0"}},"checksum":0})");
  const Outcome outcome = run({"convert", file_, "--to", "v3"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "corehold: " + file_ +
                             R"(: container a\nb\x1b[2J\x7fé of pod p\u009b holds CPUs 0, which )"
                             "are also in the default set 0\n");
}

TEST_F(CheckpointVerify, NamesAPolicyItDoesNotKnow) {
  state_.policy = "dynamic";
  ASSERT_TRUE(save_checkpoint(file_, state_, {.version = CheckpointVersion::kV3}));
  const Outcome outcome = run({"verify", file_});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "corehold: " + file_ + ": policyName \"dynamic\" is neither none nor static\n");
}

TEST_F(CheckpointVerify, SurvivesBadInput) {
  const std::string good = *read_file(file_, 10'000);
  for (const std::string& bytes :
       {std::string(), std::string("\0\xff\x1b", 3), good.substr(0, good.size() / 2),
        std::string(10'000'000, 'x'), std::string(1'000'000, '['), std::string("null"),
        std::string(R"({"policyName":"static","defaultCpuSet":"5000","checksum":0})"),
        std::string(R"({"policyName":"static","defaultCpuSet":"3-1","checksum":0})")}) {
    write(bytes);
    for (const char* command : {"verify", "show"}) {
      const Outcome outcome = run({command, file_});
      EXPECT_FALSE(outcome.err.empty());
      EXPECT_LT(outcome.err.size(), 400U) << outcome.err;
    }
    EXPECT_EQ(run({"verify", file_}).code, 1);
    const Outcome outcome = run({"convert", file_, "--to", "v3", "--to-file", directory_ + "/new"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_FALSE(fs::exists(directory_ + "/new"));
  }
  EXPECT_EQ(run({"verify", directory_}).err, "corehold: read " + directory_ + ": EISDIR\n");
  EXPECT_EQ(run({"verify", directory_ + "/none"}).err,
            "corehold: open " + directory_ + "/none: ENOENT\n");
}

TEST_F(CheckpointConvertCommand, WritesWhatAStockKubeletReads) {
  const std::string new_file = directory_ + "/new";
  const Outcome outcome = run({"convert", file_, "--to", "v2", "--to-file", new_file});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "corehold: v2 cannot say what was promised: container main of pod db-uid keeps CPUs "
            "2-5, its promise of 2-3 is not written\n");
  const auto loaded = load_checkpoint(new_file);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->version, CheckpointVersion::kV2);
  EXPECT_EQ(loaded->entries, checkpoint_of(state_).entries);
}

TEST_F(CheckpointConvertCommand, WritesToStandardOutputByDefault) {
  const Outcome outcome = run({"convert", file_, "--to", "v4"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, encode_checkpoint(state_, {.version = CheckpointVersion::kV4}));
}

TEST_F(CheckpointConvertCommand, NeverOverwritesItsInput) {
  const std::string before = *read_file(file_, 10'000);
  const Outcome outcome =
      run({"convert", file_, "--to", "v2", "--to-file", directory_ + "/./state"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("is the file to convert"), std::string::npos) << outcome.err;
  EXPECT_EQ(*read_file(file_, 10'000), before);
}

TEST_F(CheckpointConvertCommand, RefusesToMoveAContainer) {
  const Outcome outcome = reserve("5", "--strict", "synthetic:pu:16");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "corehold: " + file_ +
                             ": cannot reserve CPUs 5: container main of pod db-uid holds CPUs 5 "
                             "and would have to move; stop it first\n");
  EXPECT_EQ(run({"convert", file_, "--to", "v3", "--policy", "none"}).code, 1);
}

TEST_F(CheckpointConvertCommand, TakesTheDefaultSetFromTheMachine) {
  const Outcome strict = reserve("0-1", "--strict", "synthetic:pu:18");
  EXPECT_EQ(strict.code, 0) << strict.err;
  EXPECT_EQ(decode_checkpoint(strict.out)->default_set, "8-17");
  write(strict.out);
  EXPECT_EQ(decode_checkpoint(reserve("8-9", "--strict", "synthetic:pu:18").out)->default_set,
            "0-1,10-17");
  EXPECT_EQ(decode_checkpoint(reserve("8-9", "--no-strict", "synthetic:pu:18").out)->default_set,
            "0-1,8-17");
}

TEST_F(CheckpointConvertCommand, RefusesWhatTheMachineLacks) {
  EXPECT_EQ(reserve("100", "--no-strict", "synthetic:pu:16").err,
            "corehold: " + file_ +
                ": cannot reserve CPUs 100: the machine lacks CPUs 100; it has CPUs 0-15\n");
  const Outcome smaller = reserve("0", "--no-strict", "synthetic:pu:12");
  EXPECT_EQ(smaller.code, 1);
  EXPECT_EQ(smaller.out, "");
  EXPECT_EQ(smaller.err, "corehold: " + file_ +
                             ": the default set holds CPUs 12-15, which the machine lacks; it has "
                             "CPUs 0-11\n");
  EXPECT_EQ(reserve("0", "--no-strict", "xml:" + directory_ + "/none").code, 1);
}

TEST_F(CheckpointConvertCommand, NeedsTheMachineToReserve) {
  const Outcome outcome = run({"convert", file_, "--to", "v3", "--reserved", "0-1", "--strict"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "corehold: --reserved needs --source, the machine that the checkpoint is for: host, "
            "xml:FILE or synthetic:TEXT\ncorehold: see corehold checkpoint convert --help\n");
  EXPECT_EQ(reserve("0-1", "--strict", "nowhere").code, 2);
  EXPECT_EQ(run({"convert", file_, "--to", "v3", "--source", "host"}).code, 2);
}

TEST_F(CheckpointConvertCommand, ReservesNothingForPolicyNone) {
  EXPECT_EQ(run({"convert", file_, "--to", "v3", "--policy", "none", "--reserved", "0", "--strict",
                 "--source", "synthetic:pu:16"})
                .err,
            "corehold: --reserved has no meaning with --policy none\n"
            "corehold: see corehold checkpoint convert --help\n");
  write(encode_checkpoint(State{.policy = "none"}, {}));
  const Outcome outcome = reserve("0", "--strict", "synthetic:pu:16");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "corehold: " + file_ + ": cannot reserve CPUs 0: policy none reserves none\n");
}

TEST_F(CheckpointConvertCommand, RefusesOverlappingSets) {
  write(R"({"policyName":"static","defaultCpuSet":"0-3","entries":{"p":{"c":"3"}},"checksum":0})");
  const Outcome outcome = run({"convert", file_, "--to", "v3"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "corehold: " + file_ +
                ": container c of pod p holds CPUs 3, which are also in the default set 0-3\n");
}

TEST_F(CheckpointConvertCommand, ResolvesTheIdsOfV1) {
  write(R"({"policyName":"static","defaultCpuSet":"0-1","entries":{"cid1":"2-3"},"checksum":0})");
  const std::string map = directory_ + "/map";
  const auto convert = [&](std::string_view text) {
    EXPECT_TRUE(write_file_atomically(map, text));
    return run({"convert", file_, "--to", "v2", "--container-map", map});
  };
  const Outcome good = convert(R"({"cid1":{"pod":"p","container":"c"}})");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(decode_checkpoint(good.out)->entries, (SetsByPod{{"p", {{"c", "2-3"}}}}));
  EXPECT_NE(convert("{}").err.find("container id cid1"), std::string::npos);
  EXPECT_EQ(convert("[]").err, "corehold: " + map + ": not a JSON object of container ids\n");
  EXPECT_EQ(convert(R"({"cid1":3})").code, 1);
  EXPECT_EQ(convert("junk").code, 1);
}

TEST_F(CheckpointConvertCommand, KnowsBadUsage) {
  EXPECT_EQ(run({"convert", file_}).code, 2);
  EXPECT_EQ(run({"convert", file_, "--to", "v1"}).code, 2);
  EXPECT_EQ(run({"convert", file_, "--to", "v3", "--reserved", "0"}).code, 2);
  EXPECT_EQ(run({"convert", file_, "--to", "v3", "--strict"}).code, 2);
  EXPECT_EQ(reserve("3-1", "--strict", "synthetic:pu:16").code, 2);
  EXPECT_EQ(
      run({"convert", file_, "--to", "v3", "--reserved", "0", "--strict", "--no-strict"}).code, 2);
  EXPECT_EQ(run({"convert", file_, "--to", "v3", "--policy", "dynamic"}).code, 2);
  EXPECT_EQ(run({"show"}).code, 2);
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"convert", "--help"}).code, 0);
}

}  // namespace
}  // namespace corehold
