// SPDX-License-Identifier: Apache-2.0
//
// `corehold run` against an agent that grants, refuses, waits and goes away.
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/node/node_object.h"
#include "api/own/run_message.h"
#include "cli/client/agent_testing.h"
#include "cli/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;

std::string line_of(const RunLine& line) { return json::serialize(to_json(line)) + "\n"; }

const RunLine kGranted = RunGranted{.pod = "default/app", .cpus = "2-3"};
const RunLine kWaiting = RunWaiting{.message = "2 CPUs asked for, 1 free; held by db/pg-0"};
const ApiStatus kRefused{.reason = StatusReason::kExhausted,
                         .message = "2 CPUs asked for, 1 free; 2-5 held by db/pg-0"};

void grant(const HttpExchangePtr& exchange) {
  exchange->begin(200, "application/json");
  exchange->write(line_of(kGranted));
  exchange->end();
}

// Answers requests for CPUs as it is told, and says what kind of node it is.
class RunAgent : public FakeAgent {
 public:
  explicit RunAgent(const Handler& handler, const std::string& confinement = "cgroup v2")
      : FakeAgent([=](const HttpExchangePtr& exchange) {
          if (exchange->request().method != "GET") return handler(exchange);
          const json::object node = to_json(NodeView{.name = "box", .confinement = confinement});
          answer_with(exchange, 200, json::serialize(node_list_json(json::array{node}, 1)));
        }) {}
};

std::string arguments(const FakeAgent& agent, const std::string& rest) {
  return fmt::format("run {} {}", agent.option(), rest);
}

TEST(Run, EndsWithTheExitCodeOfTheCommand) {
  const RunAgent agent(grant);
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -- true")).code, 0);
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -- sh -c 'exit 7'")).code, 7);
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -- sh -c 'kill -TERM $$'")).code, 128 + SIGTERM);
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -- sh -c 'kill -KILL $$'")).code, 128 + SIGKILL);
}

TEST(Run, SaysThatASimulatedNodeConfinesNothing) {
  const RunAgent agent(grant, "simulated");
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -- echo hello 2>&1")).text,
            "corehold: simulated: runs unconfined on this machine\nhello\n");
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -v -- echo hello 2>&1")).text,
            "corehold: pod default/app has CPUs 2-3\n"
            "corehold: simulated: runs unconfined on this machine\nhello\n");
}

TEST(Run, SaysNothingOfItsOwn) {
  const RunAgent agent(grant);
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -- echo hello 2>&1")).text, "hello\n");
  EXPECT_EQ(run(arguments(agent, "--cpus 2 -v -- echo hello 2>&1")).text,
            "corehold: pod default/app runs on CPUs 2-3\nhello\n");
}

TEST(Run, GivesTheCommandEveryWordAsItIs) {
  const RunAgent agent(grant);
  EXPECT_EQ(
      run(arguments(agent, "--cpus 1 -- printf '<%s>' '[a,b]' '{}' '' -- -x --help get %%")).text,
      "<[a,b]><{}><><--><-x><--help><get><%%>");
  EXPECT_EQ(run(arguments(agent, "--cpus 1 echo without dashes")).text, "without dashes\n");
}

TEST(Run, PassesOnInputEnvironmentAndDirectory) {
  const RunAgent agent(grant);
  EXPECT_EQ(run(arguments(agent, "--cpus 1 -- cat"), "printf typed |").text, "typed");
  EXPECT_EQ(run(arguments(agent, "--cpus 1 -- sh -c 'echo $ODD; pwd'"), "ODD=1").text,
            "1\n" COREHOLD_SOURCE_DIR "\n");
}

TEST(Run, TellsTheAgentWhoWaits) {
  const RunAgent agent(grant);
  run(arguments(agent, "--cpus 2 --name app --memory 1Gi --wait -- sh -c 'exit 0' '\xff'"));
  const std::string asked = agent.requests();
  const std::string_view begin = "POST /apis/corehold.dev/v1alpha1/run ";
  ASSERT_TRUE(asked.starts_with(begin)) << asked;
  const std::string body = asked.substr(begin.size(), asked.find('\n') - begin.size());
  const auto request = run_request_from_json(json::parse(body));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->name, "app");
  EXPECT_EQ(request->cpus, 2);
  EXPECT_EQ(request->memory, "1Gi");
  EXPECT_TRUE(request->wait);
  EXPECT_GT(request->pid, 1);
  EXPECT_EQ(request->command, (std::vector<std::string>{"sh", "-c", "exit 0", "\\xff"}));
  EXPECT_EQ(request->working_directory, COREHOLD_SOURCE_DIR);
}

// The child may use any CPU and waits until it is let go.
TEST(Run, StartsNothingBeforeTheGrant) {
  const RunAgent agent([](const HttpExchangePtr& exchange) {
    const auto request = run_request_from_json(json::parse(exchange->request().body));
    std::ifstream file(fmt::format("/proc/{}/cmdline", request->pid));
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    const bool waits = words.find("corehold") != std::string::npos;
    exchange->begin(200, "application/json");
    exchange->write(line_of(RunGranted{.pod = waits ? "waits" : "runs", .cpus = "1"}));
    exchange->end();
  });
  EXPECT_EQ(run(arguments(agent, "--cpus 1 -v -- true 2>&1")).text,
            "corehold: pod waits runs on CPUs 1\n");
}

TEST(Run, SaysWhyTheCpusCannotBeHad) {
  const RunAgent agent([](const HttpExchangePtr& exchange) {
    answer_with(exchange, 409, json::serialize(to_json(kRefused)));
  });
  const Outcome plain = run(arguments(agent, "--cpus 2 -- echo no 2>&1"));
  EXPECT_EQ(plain.code, 1);
  EXPECT_EQ(plain.text,
            "corehold: 2 CPUs asked for, 1 free; 2-5 held by db/pg-0\n"
            "corehold: --wait waits until there is room\n");
}

TEST(Run, ARefusalThatWaitingCannotHelpHasNoHint) {
  const RunAgent agent([](const HttpExchangePtr& exchange) {
    const ApiStatus status{.reason = StatusReason::kInvalid, .message = "3 is not whole cores"};
    exchange->begin(200, "application/json");
    exchange->write(line_of(kWaiting));
    exchange->write(line_of(kWaiting));
    exchange->write(line_of(status));
    exchange->end();
  });
  const Outcome outcome = run(arguments(agent, "--cpus 3 --wait -- echo no 2>&1"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.text,
            "corehold: waiting: 2 CPUs asked for, 1 free; held by db/pg-0\n"
            "corehold: 3 is not whole cores\n");
}

TEST(Run, WaitsForTheGrant) {
  const RunAgent agent([](const HttpExchangePtr& exchange) {
    exchange->begin(200, "application/json");
    exchange->write(line_of(kWaiting));
    exchange->write(line_of(kGranted));
    exchange->end();
  });
  const Outcome outcome = run(arguments(agent, "--cpus 2 --wait -- echo yes 2>&1"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text, "corehold: waiting: 2 CPUs asked for, 1 free; held by db/pg-0\nyes\n");
}

TEST(Run, AnAgentThatGoesBeforeTheGrantIsAnError) {
  const RunAgent dying([](const HttpExchangePtr&) { ::_exit(0); });
  const Outcome gone = run(arguments(dying, "--cpus 2 -- echo no 2>&1"));
  EXPECT_EQ(gone.code, 1);
  EXPECT_NE(gone.text.find("has gone away"), std::string::npos) << gone.text;
  EXPECT_EQ(gone.text.find("no\n"), std::string::npos);
  const RunAgent ending([](const HttpExchangePtr& exchange) {
    exchange->begin(200, "application/json");
    exchange->end();
  });
  EXPECT_EQ(run(arguments(ending, "--cpus 2 -- echo no 2>&1")).text,
            "corehold: the agent has gone away before it gave CPUs to the command\n");
}

// Its stream stays open until somebody kills it: here the command does.
TEST(Run, AnAgentThatGoesAfterTheGrantIsNot) {
  const RunAgent agent([](const HttpExchangePtr& exchange) {
    exchange->begin(200, "application/json");
    exchange->write(
        fmt::format("{{\"state\":\"Granted\",\"pod\":\"{}\",\"cpus\":\"1\"}}\n", ::getpid()));
  });
  const std::string script =
      fmt::format("kill -9 $(cat {}/pid); echo on; exit 5", agent.directory());
  const Outcome outcome = run(arguments(agent, "--cpus 2 -- sh -c '" + script + "' 2>&1"));
  EXPECT_EQ(outcome.text, "on\n");
  EXPECT_EQ(outcome.code, 5);
}

TEST(Run, SpeaksLikeAShellOfWhatCannotBeStarted) {
  const RunAgent agent(grant);
  const Outcome missing = run(arguments(agent, "--cpus 1 -- no-such-command 2>&1"));
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.text, "corehold: no-such-command: command not found\n");
  EXPECT_EQ(run(arguments(agent, "--cpus 1 -- ./README.md 2>/dev/null")).code, 126);
  EXPECT_EQ(run(arguments(agent, "--cpus 1 -- /tmp 2>/dev/null")).code, 126);
  EXPECT_EQ(agent.requests(), "") << "nothing is asked for a command that is not there";
  const std::string script = agent.directory() + "/script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  EXPECT_EQ(run(arguments(agent, "--cpus 1 -- " + script + " 2>/dev/null")).code, 127);
}

TEST(Run, ExplainsBadUsage) {
  for (const char* rest :
       {"--cpus 0 -- true", "--cpus 1.5 -- true", "--cpus -- true", "--cpus 1", "-- true",
        "--cpus 1 --memory lots -- true", "--cpus 1 --server nowhere -- true"}) {
    EXPECT_EQ(run(std::string("run ") + rest + " 2>/dev/null").code, 2) << rest;
  }
  EXPECT_EQ(run("run --root /nonexistent --cpus 1 -- true 2>&1").text,
            "corehold: no agent is listening on /nonexistent/run/corehold.sock; start one with "
            "corehold agent\n");
}

// The client as a process of its own, with its output at the other end of a pipe.
class Client {
 public:
  Client(const FakeAgent& agent, const std::string& script) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(COREHOLD_BINARY, "corehold", "run", "--root", agent.directory().c_str(), "--cpus",
              "1", "--", "sh", "-c", script.c_str(), nullptr);
      ::_exit(99);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  ~Client() {
    ::close(output_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  pid_t pid() const { return pid_; }
  std::string line() const {
    std::string text;
    for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

TEST(RunSignals, ThatAreSentToItGoOnToTheCommand) {
  const RunAgent agent(grant);
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2}) {
    Client client(agent, fmt::format("trap 'exit 9' {}; echo ready; "
                                     "while :; do read line <{}/run || :; done",
                                     number, agent.directory()));
    EXPECT_EQ(client.line(), "ready");
    ::kill(client.pid(), number);
    EXPECT_EQ(client.wait(), 9) << number;
  }
}

TEST(RunSignals, ThatKillItKillTheCommand) {
  const RunAgent agent(grant);
  Client client(agent, "echo ready; exec sleep 1000");
  EXPECT_EQ(client.line(), "ready");
  ::kill(client.pid(), SIGKILL);
  EXPECT_EQ(client.wait(), -SIGKILL);
  // The pipe closes with the last process that has it.
  EXPECT_EQ(client.line(), "");
}

// A shell with job control, as small as it gets: runs the client in a process group of its
// own in front of a terminal, and says on `told` what it sees of it.
[[noreturn]] void be_a_shell(const FakeAgent& agent, const std::string& script, int told) {
  ::signal(SIGTTOU, SIG_IGN);
  const pid_t client = ::fork();
  if (client == 0) {
    ::setpgid(0, 0);
    ::tcsetpgrp(STDIN_FILENO, ::getpid());
    ::signal(SIGTTOU, SIG_DFL);
    ::execl(COREHOLD_BINARY, "corehold", "run", "--root", agent.directory().c_str(), "--cpus", "1",
            "--", "sh", "-c", script.c_str(), nullptr);
    ::_exit(99);
  }
  for (;;) {
    int status = 0;
    ::waitpid(client, &status, WUNTRACED);
    const std::string text = WIFSTOPPED(status)  ? "stopped\n"
                             : WIFEXITED(status) ? fmt::format("exit {}\n", WEXITSTATUS(status))
                                                 : "killed\n";
    static_cast<void>(!::write(told, text.data(), text.size()));
    if (!WIFSTOPPED(status)) ::_exit(0);
    ::kill(-client, SIGCONT);
  }
}

class RunOnATerminal : public testing::Test {
 protected:
  void start(const FakeAgent& agent, const std::string& script) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    shell_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    ASSERT_GE(shell_, 0);
    if (shell_ == 0) be_a_shell(agent, script, ends[1]);
    ::close(ends[1]);
    told_ = ends[0];
  }
  void TearDown() override {
    ::kill(shell_, SIGKILL);
    ::close(terminal_);
    ::close(told_);
    ::waitpid(shell_, nullptr, 0);
  }

  void press(char key) const { ASSERT_EQ(::write(terminal_, &key, 1), 1); }
  // Reads until the text has come.
  bool shows(std::string_view text) {
    while (seen_.find(text) == std::string::npos) {
      std::array<char, 256> piece{};
      const ssize_t got = ::read(terminal_, piece.data(), piece.size());
      if (got <= 0) return false;
      seen_.append(piece.data(), static_cast<std::size_t>(got));
    }
    return true;
  }
  std::string told() const {
    std::string text;
    for (char c = 0; ::read(told_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }

 private:
  pid_t shell_ = 0;
  int terminal_ = -1;
  int told_ = -1;
  std::string seen_{};
};

TEST_F(RunOnATerminal, InterruptsTheCommandAndEndsAsItDoes) {
  const RunAgent agent(grant);
  start(agent, "trap 'exit 3' INT; echo ready; while :; do read line; done");
  ASSERT_TRUE(shows("ready"));
  press('\x03');
  EXPECT_EQ(told(), "exit 3");
}

TEST_F(RunOnATerminal, ACommandThatDiesOfAnInterruptGives130) {
  const RunAgent agent(grant);
  start(agent, "echo ready; exec sleep 1000");
  ASSERT_TRUE(shows("ready"));
  press('\x03');
  EXPECT_EQ(told(), "exit 130");
}

TEST_F(RunOnATerminal, StopsWithTheCommandAndGoesOnWithIt) {
  const RunAgent agent(grant);
  start(agent, "trap 'echo again; exit 4' CONT; echo ready; while :; do read line; done");
  ASSERT_TRUE(shows("ready"));
  press('\x1a');
  EXPECT_EQ(told(), "stopped");
  EXPECT_TRUE(shows("again"));
  EXPECT_EQ(told(), "exit 4");
}

}  // namespace
}  // namespace corehold
