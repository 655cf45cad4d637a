// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that systemd's units are allowed (AllowedCPUs), over D-Bus. systemd owns the cgroups of
// its units: what is written there directly it undoes at the next reload.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cpuset/cpu_set.h"

struct sd_bus;

namespace corehold {

// Tests have one without a bus.
class Units {
 public:
  virtual ~Units() = default;

  // A new round of questions: what failed in the last one is tried again.
  virtual void begin() = 0;

  // The unit's AllowedCPUs; empty: it has none of its own. kNotFound: there is no such unit.
  virtual Result<CpuSet> allowed_cpus(const std::string& unit) = 0;

  // Until the next boot. Empty: none of its own any more. systemd answers before it has written
  // the cgroup.
  virtual Result<void> set_allowed_cpus(const std::string& unit, const CpuSet& cpus) = 0;
};

// Whether systemd runs this machine.
bool is_systemd_there();

// systemd's own socket, which root may use without a bus, else the system's bus. A bus that does
// not answer within the time is an error, and for the rest of the round is not asked again.
class SystemdUnits final : public Units {
 public:
  struct Options {
    std::string own_socket = "/run/systemd/private";
    std::string bus_socket = "/run/dbus/system_bus_socket";
    std::chrono::milliseconds patience{3000};
  };
  explicit SystemdUnits(Options options) : options_(std::move(options)) {}
  SystemdUnits() : SystemdUnits(Options{}) {}

  void begin() override;
  Result<CpuSet> allowed_cpus(const std::string& unit) override;
  Result<void> set_allowed_cpus(const std::string& unit, const CpuSet& cpus) override;

 private:
  struct Close {
    void operator()(sd_bus* bus) const;
  };

  Result<void> connect();
  Result<void> open(const std::string& socket, bool is_bus);
  Error failed(std::string_view attempted, int number);

  Options options_;
  std::unique_ptr<sd_bus, Close> bus_{};
  std::optional<Error> failure_{};  // of this round
};

}  // namespace corehold
