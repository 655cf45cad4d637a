// SPDX-License-Identifier: Apache-2.0
//
// Reads the marks of many processes (container_mark.h) and waits for none for ever: the kernel
// reads the environment of a process in its memory, and there whoever asks waits for a page fault
// of that process which hangs, on a file system that does not answer or that another user has
// made for the purpose.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace corehold {

class MarkReader {
 public:
  struct Patience {
    std::chrono::milliseconds with_one{100};  // until the next process is asked beside it
    std::chrono::milliseconds with_last{1000};
    std::size_t hanging = 64;  // with more the rest is not asked
  };
  struct Marks {
    std::map<pid_t, std::string> found{};  // of those that have one
    std::vector<pid_t> unread{};           // sorted: nobody knows whether they have one
  };
  using Read = std::function<std::optional<std::string>(pid_t)>;

  MarkReader();  // reads with mark_of()
  MarkReader(Read read, const Patience& patience);

  // From any thread. A thread that hangs stays until it is answered, and its process counts as not
  // read until then, without another thread.
  Marks read(const std::vector<pid_t>& pids) const;

 private:
  struct State;
  struct Batch;

  std::shared_ptr<State> state_;  // shared with threads that hang, which may outlive the reader
};

}  // namespace corehold
