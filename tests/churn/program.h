// SPDX-License-Identifier: Apache-2.0
//
// Starts programs from a process with threads. Sanitizers in them write what they find to files of
// their own, so that nothing of it is lost in a log.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace corehold::proof {

// Leaks are looked for in the agent alone: the checker forks while the program ends, and for the
// agent a child of a client is the command's.
enum class Leaks { kFind, kIgnore };

struct Program {
  std::vector<std::string> words{};
  std::string output{};   // appended to; standard error as well
  std::string reports{};  // of sanitizers: the beginning of the names of files
  Leaks leaks = Leaks::kIgnore;
};

// Its process id. It has a session of its own. That it cannot be started ends this program.
pid_t spawn(const Program& program);

}  // namespace corehold::proof
