// SPDX-License-Identifier: Apache-2.0
//
// One container as the process runtime has it in memory, for the files that ProcessRuntime
// is written in: process_runtime*.cc.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "runtime/process_runtime.h"

namespace corehold {

inline constexpr std::chrono::milliseconds kShortestPause{1};
inline constexpr std::chrono::milliseconds kLongestPause{500};

struct ProcessRuntime::Entry {
  enum class Phase { kStarting, kRunning, kEnding, kEnded };

  Entry(boost::asio::io_context& loop, ContainerRef ref, ContainerDirectory kept)
      : container(std::move(ref)),
        directory(std::move(kept)),
        pidfd(loop),
        main_pidfd(loop),
        channel(loop),
        timer(loop) {}

  ContainerRef container;
  ContainerDirectory directory;
  std::uint64_t generation = 0;  // tells this entry from a later one of the same container
  Phase phase = Phase::kStarting;
  int attempt = 0;
  std::string manifest{};
  std::shared_ptr<Confinement> confinement{};
  ProcessId keeper{};
  ProcessId main{};
  bool is_child = false;     // the keeper is ours to reap
  bool is_attached = false;  // the keeper is a client, and outlives the container
  std::chrono::milliseconds started_at{};
  std::chrono::milliseconds pause{kShortestPause};
  std::optional<RuntimeExit> exit{};
  std::string mark{};               // container_mark.h
  std::vector<ProcessId> spared{};  // of a client: what is its own
  std::optional<Launch> launch{};   // until it has begun
  std::optional<Error> failed{};    // a start, of which nothing is to be left
  bool is_unwanted = false;         // it was killed before it had begun
  bool is_told = false;             // the operator knows of its trouble
  Done<void> started{};             // who waits for the start
  bool ran = false;                 // the monitor said that it runs, or did
  std::string failure{};            // what the monitor said about a start that failed
  boost::asio::posix::stream_descriptor pidfd;
  boost::asio::posix::stream_descriptor main_pidfd;  // of a process that was attached
  boost::asio::posix::stream_descriptor channel;
  std::string heard{};
  std::vector<int> signals{};  // for when it has started
  boost::asio::steady_timer timer;
};

// A handler for the loop that runs only while the entry is still there.
template <typename Handler>
auto ProcessRuntime::guarded(const Entry& entry, Handler handler) {
  return [this, lives = lives_, container = entry.container, generation = entry.generation,
          handler = std::move(handler)](boost::system::error_code error, auto&&... rest) {
    if (!*lives || error == boost::asio::error::operation_aborted) return;
    Entry* current = find(container);
    if (current == nullptr || current->generation != generation) return;
    handler(*current, error, rest...);
  };
}

template <typename Handler>
void ProcessRuntime::later(Entry& entry, std::chrono::milliseconds after, Handler handler) {
  entry.timer.expires_after(after);
  entry.timer.async_wait(
      guarded(entry, [handler](Entry& current, boost::system::error_code) { handler(current); }));
}

// For messages: "container main (pod UID)".
std::string name_of(const ContainerRef& container);

// What a client of `corehold run` says about memory is for booking, and mostly it has not said
// anything: its command has no limit.
Confines confines_of_client(Confines confines);

std::chrono::milliseconds wall_millis();

}  // namespace corehold
