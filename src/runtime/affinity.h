// SPDX-License-Identifier: Apache-2.0
//
// Confinement without cgroups: the affinity of every thread of every process that descends
// from the container's keeper. A process can undo it; the reconcile sees that and does it
// again. What was asked for is kept in the container's directory, in the file `affinity`.
#pragma once

#include "runtime/confinement.h"

namespace corehold {

class Affinity : public Confinement {
 public:
  explicit Affinity(std::string reason) : reason_(std::move(reason)) {}

  RuntimeAbilities abilities() const override;
  boost::json::object describe() const override;
  Result<void> confine(const Body& body, const Confines& confines) const override;
  Result<void> place(const Body& body, pid_t pid) const override;
  Result<Sight> look(const Body& body) const override;
  Result<std::size_t> kill(const Body& body) const override;
  Result<bool> remove(const Body& body) const override;

 private:
  std::string reason_;
};

}  // namespace corehold
