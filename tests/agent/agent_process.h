// SPDX-License-Identifier: Apache-2.0
//
// `corehold agent` as a process of its own, with a root directory that goes with the test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "sys/http/http_client.h"

namespace corehold {

// How a process ended, and what it wrote to standard error.
struct Ended {
  int code = -1;  // -1: not by itself
  std::string errors{};
};

// Runs the program to its end; standard output is thrown away.
Ended run_corehold(const std::vector<std::string>& arguments);

// Asks until it is so, for ten seconds at the most.
bool comes_true(const std::function<bool()>& condition);

class AgentProcess {
 public:
  // Makes a root directory; nothing runs yet.
  AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;
  // Kills what runs and removes the root.
  ~AgentProcess();

  const std::string& root() const { return root_; }
  std::string socket() const { return root_ + "/run/corehold.sock"; }
  pid_t pid() const { return pid_; }

  // Starts `corehold agent --root ROOT --log-level debug ARGUMENTS...` and waits until it
  // is ready. False: it was not within ten seconds, or has ended.
  bool start(const std::vector<std::string>& arguments);
  // Sends a signal and waits for the end: its exit code, or -1 when the signal ended it.
  int end(int signal);
  // All that it has logged, of all its lives.
  std::string log() const;

  HttpAnswer ask(const HttpQuestion& question) const;
  // The JSON of an answer to a GET; null when there is none.
  boost::json::value get(const std::string& target) const;
  // What is at "/a/0/b" in it, as text; "" for nothing.
  std::string field(const std::string& target, const std::string& pointer) const;

 private:
  std::string root_;
  pid_t pid_ = 0;
};

// A pod with one container `main` that has so many CPUs of its own (0: it shares) and runs
// this command.
std::string pod_text(const std::string& name, int cpus, const std::string& command);

}  // namespace corehold
