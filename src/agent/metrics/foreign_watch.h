// SPDX-License-Identifier: Apache-2.0
//
// Looks again and again, beside the loop, at what the kernel counts of CPUs that containers hold,
// and tells what others did there between two looks. The cost of a look follows the tasks of the
// machine: the pause between two is at least fifty times the CPU time of a look.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "isolation/quiet_report.h"
#include "state/state.h"
#include "sys/worker.h"

namespace corehold {

// The containers of a node and the CPUs that each holds; tasks are known by their cgroups.
std::vector<QuietHolder> quiet_holders(const State& cpus);

class ForeignWatch {
 public:
  struct Parts {
    boost::asio::io_context& loop;
    Worker& worker;
    std::chrono::milliseconds period{};                   // between two looks, or longer
    std::function<std::vector<QuietHolder>()> holders{};  // on the loop
    std::function<void(const QuietReport&)> tell{};       // on the loop
    // On the worker.
    std::function<Result<MachineSnapshot>(const CpuSet&)> read{};
    std::function<Result<KernelFacts>()> read_kernel{};
  };

  explicit ForeignWatch(Parts parts);
  ForeignWatch(const ForeignWatch&) = delete;
  ForeignWatch& operator=(const ForeignWatch&) = delete;

  // Looks now, and from then on. Ends with the loop.
  void begin() { look(); }

 private:
  struct Look {
    std::vector<QuietHolder> holders{};
    std::optional<MachineSnapshot> machine{};  // none: it could not be read
  };

  void look();
  // What the worker does: no value without two looks at a CPU with the same holder.
  std::optional<QuietReport> compare(const std::vector<QuietHolder>& holders);
  void wait(std::chrono::nanoseconds took);

  Parts parts_;
  boost::asio::steady_timer timer_;
  Look last_{};  // the worker's while it works, else the loop's
};

}  // namespace corehold
