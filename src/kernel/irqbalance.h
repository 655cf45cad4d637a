// SPDX-License-Identifier: Apache-2.0
//
// Talks to a running irqbalance by its socket, so that it keeps off held CPUs without a restart: a
// connection for each message, credentials with it, as its own user interface does. irqbalance
// takes a new list with its next scan (10 seconds by default), and answers nobody while it scans.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "isolation/machine_view.h"
#include "sys/descriptor.h"
#include "sys/file/path_watch.h"

namespace corehold {

// The CPUs in its answer to "setup": "SLEEP 10 ... BANNED 00000030". Fails with kInvalid.
Result<CpuSet> parse_irqbalance_setup(std::string_view answer);

// Not for several threads at once.
class IrqBalance {
 public:
  struct Options {
    std::string directory = "/run/irqbalance";  // of sockets irqbalance<pid>.sock
    std::chrono::milliseconds patience{200};    // for one answer
  };

  struct Seen {
    std::vector<IrqBalanceView> running{};
    std::vector<Leftover> silent{};  // those that are there and do not answer
  };

  IrqBalance() = default;
  explicit IrqBalance(Options options) : options_(std::move(options)) {}

  // Every irqbalance that runs with a socket, and what it keeps off. For one that has been told
  // something and has not scanned since, that is what it has been told. Sockets that a dead one has
  // left are passed over. One without a directory to make its socket in has an abstract one, "@".
  Seen look();

  // Has it keep off these CPUs and no others; with none it decides by itself again. Returns when
  // the message is on its way: irqbalance does not confirm it. Fails with kNotFound when there is
  // nobody behind the socket any more.
  Result<void> ban(const std::string& socket, const CpuSet& cpus);

  // Calls `on_change` when an irqbalance may have begun or ended: its socket comes and goes.
  static Result<std::unique_ptr<PathWatch>> watch(boost::asio::io_context& loop,
                                                  const std::string& directory,
                                                  std::function<void()> on_change);

 private:
  struct Told {
    CpuSet cpus{};
    CpuSet before{};  // what it said it kept off when it was told
    std::chrono::steady_clock::time_point when{};
  };

  struct Question {
    Descriptor connection{-1};
    std::string answer{};  // as much of it as has come
  };

  Result<CpuSet> banned(const std::string& socket);

  Options options_{};
  std::map<std::string, CpuSet> said_{};  // its last answer
  std::map<std::string, Told> told_{};
  // Questions without an answer so far. They stay open: where nobody ignores SIGPIPE for it, an
  // irqbalance that answers to a closed connection dies.
  std::map<std::string, Question> unanswered_{};
};

}  // namespace corehold
