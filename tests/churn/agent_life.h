// SPDX-License-Identifier: Apache-2.0
//
// An agent that is started, killed, stopped and started again.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace corehold::proof {

struct AgentOptions {
  std::string binary{};
  std::string config{};
  std::string root{};
  std::string folder{};  // of its log, and of what sanitizers say
};

class AgentLife {
 public:
  explicit AgentLife(AgentOptions options) : options_(std::move(options)) {}

  // Where sanitizers write: files whose names begin so.
  std::string reports_path() const { return options_.folder + "/report"; }
  std::string socket() const { return options_.root + "/run/corehold.sock"; }

  // Starts it and waits until it is ready. False: it has ended before that.
  bool start();
  // Whether it still runs; ending() says how it ended otherwise.
  bool runs();
  // Sends the signal and waits for the end. 0 for one that SIGKILL ended as it should.
  int end(int signal);
  // "exit code 1", "signal 6", of one that has ended.
  std::string ending() const;

  // The last lines of its log.
  std::string log_tail() const;
  // What sanitizers have written, of the agent or any of its clients; empty: nothing.
  std::vector<std::string> reports() const;

 private:
  AgentOptions options_;
  pid_t pid_ = 0;
  int status_ = 0;
};

}  // namespace corehold::proof
