// SPDX-License-Identifier: Apache-2.0
//
// The binary as a shell sees it: exit codes, what goes where, trouble with output.
#include <string>

#include <gtest/gtest.h>

#include "cli/testing.h"

namespace corehold {
namespace {

Outcome errors_of(const std::string& arguments) { return run(arguments + " 2>&1 >/dev/null"); }

TEST(Cli, ShowsVersionAndHelp) {
  EXPECT_EQ(run("--version 2>&1").text, "corehold 0.1.0\n");
  for (const char* arguments : {"--help", "topology --help"}) {
    const Outcome help = run(arguments);
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.text.find("Usage: corehold"), std::string::npos) << help.text;
    EXPECT_NE(help.text.find("Examples:"), std::string::npos);
  }
}

TEST(Cli, HelpShowsValuesAndNoTypeNames) {
  const std::string convert = run("checkpoint convert --help").text;
  EXPECT_NE(convert.find("\n  FILE        "), std::string::npos) << convert;
  EXPECT_NE(convert.find("\n  --to v2|v3|v4        "), std::string::npos) << convert;
  EXPECT_NE(convert.find("; required\n"), std::string::npos) << convert;
  for (const char* arguments : {"--help",
                                "topology --help",
                                "checkpoint --help",
                                "checkpoint show --help",
                                "checkpoint convert --help",
                                "config --help",
                                "config check --help",
                                "run --help",
                                "apply --help",
                                "get --help",
                                "get cpus --help",
                                "get pods --help",
                                "get nodes --help",
                                "get events --help",
                                "describe --help",
                                "describe pod --help",
                                "describe node --help",
                                "logs --help",
                                "delete --help",
                                "delete pod --help",
                                "resize --help",
                                "resize pod --help",
                                "plan --help"}) {
    const std::string help = run(arguments).text;
    EXPECT_NE(help.find("Usage: corehold"), std::string::npos) << arguments;
    for (const char* noise : {" TEXT", "REQUIRED", "Excludes:", ":{"}) {
      EXPECT_EQ(help.find(noise), std::string::npos) << help;
    }
  }
  EXPECT_NE(run("--help").text.find("corehold checkpoint show"), std::string::npos);
}

TEST(Cli, AnswersBadUsageWithTwoAndAHint) {
  struct Case {
    const char* arguments;
    const char* message;
    const char* see;
  };
  const Case cases[] = {
      {"get", "no get command given; there are cpus, pods, nodes, events", "corehold get"},
      {"get pod a b -w", "-w goes with one name or with none; -l chooses several",
       "corehold get pods"},
      {"get pod a -l x=y", "names and selectors cannot be given together", "corehold get pods"},
      {"get pod a -A",
       "names and -A cannot be given together; NAMESPACE/NAME is a pod of any namespace",
       "corehold get pods"},
      {"get cpus -w -o svg", "-w and -o svg cannot be given together: a picture does not go on",
       "corehold get cpus"},
      {"get pods --wtach", "unknown option \"--wtach\"; did you mean --watch?",
       "corehold get pods"},
      {"describe", "no describe command given; there are pod, node", "corehold describe"},
      {"delete", "no delete command given; there is pod, and -f FILE", "corehold delete"},
      {"delete pod", "name the pods, or choose them with -l, --field-selector or --all",
       "corehold delete pod"},
      {"delete pod web --all", "--all goes with neither names nor selectors",
       "corehold delete pod"},
      {"delete -f x pod web", "-f and pod cannot be given together", "corehold delete"},
      {"resize", "no resize command given; there is pod", "corehold resize"},
      {"resize web --cpu 4", "unknown command \"resize web\"; there is pod", "corehold resize"},
      {"resize pod", "POD is required", "corehold resize pod"},
      {"resize pod web --cpus 2", "unknown option \"--cpus\"; did you mean --cpu?",
       "corehold resize pod"},
      {"apply", "--filename is required", "corehold apply"},
      {"logs", "POD is required", "corehold logs"},
      {"run --cpus 1", "COMMAND... is required", "corehold run"},
      {"run --cpus 1 --wiat -- true",
       "unknown option \"--wiat\"; options of the command come after --", "corehold run"},
      {"run --cpus 1 ls -l", "unknown option \"-l\"; options of the command come after --",
       "corehold run"},
      {"run -- echo x", "--cpus is required", "corehold run"},
      {"run echo x", "--cpus is required", "corehold run"},
      {"run --cpu 2 -- true", "unknown option \"--cpu\"; did you mean --cpus?", "corehold run"},
      {"--root /tmp get cpus",
       "option \"--root\" comes after the whole command, as in corehold get cpus --root ...",
       "corehold get cpus"},
      {"get --root /tmp cpus",
       "option \"--root\" comes after the whole command, as in corehold get cpus --root ...",
       "corehold get cpus"},
      {"--bogus", "unknown option \"--bogus\"", "corehold"},
      {"topology --sorce x", "unknown option \"--sorce\"; did you mean --source?",
       "corehold topology"},
      {"topology --sorce=x", "unknown option \"--sorce\"; did you mean --source?",
       "corehold topology"},
      {"topology -x", "unknown option \"-x\"", "corehold topology"},
      {"topology here", "unexpected argument \"here\"", "corehold topology"},
      {"topology -- here", "unexpected argument \"here\"", "corehold topology"},
      {"topology -o", "--output needs a value: one of table, json, svg", "corehold topology"},
      {"topology --source", "--source needs a value", "corehold topology"},
      {"topology -o json -o svg", "--output may be given only once", "corehold topology"},
      {"topology -o xml", "--output: xml not in {table,json,svg}", "corehold topology"},
      {"topology --source nope",
       "\"nope\" is not a topology source: use host, xml:FILE or synthetic:DESCRIPTION",
       "corehold topology"},
      {"checkpoint", "no checkpoint command given; there are show, verify, convert",
       "corehold checkpoint"},
      {"checkpoint shw x", "unknown command \"checkpoint shw\"; there are show, verify, convert",
       "corehold checkpoint"},
      {"checkpoint show", "FILE is required", "corehold checkpoint show"},
      {"checkpoint convert F", "--to is required", "corehold checkpoint convert"},
      {"checkpoint convert F --too v2", "unknown option \"--too\"; did you mean --to?",
       "corehold checkpoint convert"},
      {"checkpoint convert F --to", "--to needs a value: one of v2, v3, v4",
       "corehold checkpoint convert"}};
  for (const auto& [arguments, message, see] : cases) {
    const Outcome outcome = errors_of(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_EQ(outcome.text,
              std::string("corehold: ") + message + "\ncorehold: see " + see + " --help\n")
        << arguments;
  }
}

TEST(Cli, NamesTheCommandsThereAre) {
  for (const char* arguments : {"", "topolgy"}) {
    const Outcome outcome = errors_of(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.text.find("; there are "), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find(", plan, features, topology, checkpoint, config, isolation\n"),
              std::string::npos)
        << outcome.text;
  }
}

TEST(Cli, FailsWithOneAndSaysNothingOnStandardOutput) {
  const std::string arguments = "topology --source synthetic:pu:1000000000";
  EXPECT_EQ(run(arguments + " 2>/dev/null").text, "");
  const Outcome outcome = errors_of(arguments);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(
      outcome.text,
      "corehold: synthetic description: \"pu:1000000000\": that makes more than 4096 CPUs, the "
      "most supported\n");
  EXPECT_EQ(run("topology --source xml:/nonexistent 2>&1").code, 1);
}

TEST(Cli, NoticesThatTheAnswerCannotBeWritten) {
  const std::string arguments = "topology --source synthetic:pu:2 ";
  const Outcome full = run(arguments + "2>&1 >/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.text, "corehold: write to standard output: No space left on device\n");
  const Outcome closed = run(arguments + "2>&1 >&-");
  EXPECT_EQ(closed.code, 1);
}

TEST(Cli, PrintsATable) {
  const Outcome table = run("topology --source 'synthetic:package:2 numa:1 core:4 pu:2'");
  EXPECT_EQ(table.code, 0);
  EXPECT_TRUE(table.text.starts_with("machine    2 sockets, 2 NUMA nodes, 8 cores, 16 CPUs\n"))
      << table.text;
}

}  // namespace
}  // namespace corehold
