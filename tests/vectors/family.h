// SPDX-License-Identifier: Apache-2.0
//
// One family of vectors: how to run one line of it. The runner reads the files,
// counts and prints; a family only judges.
#pragma once

#include <map>
#include <string>

#include <boost/json.hpp>

#include "topology/topology.h"

namespace corehold::vectors {

// The machines of topologies.json by name.
using Machines = std::map<std::string, Topology>;

// How one line went.
struct Verdict {
  enum class Kind { kPassed, kFailed, kSkipped };

  Kind kind = Kind::kPassed;
  std::string skipped_as{};  // kSkipped: the name of the exception it falls under
  std::string expected{};    // kFailed
  std::string actual{};      // kFailed

  static Verdict passed() { return {}; }
  static Verdict failed(std::string expected, std::string actual) {
    return {.kind = Kind::kFailed, .expected = std::move(expected), .actual = std::move(actual)};
  }
  // For an exempt line; its own answer must have been run and found sound.
  static Verdict skipped(std::string exception) {
    return {.kind = Kind::kSkipped, .skipped_as = std::move(exception)};
  }
};

// Judges one line. A line that lacks a field it needs is an Error (bad vectors).
using Judge = Result<Verdict> (*)(const boost::json::object& line, const Machines& machines);

// Null for a family that is not supported yet.
Judge judge_of(std::string_view family);

Result<Verdict> judge_cpuset(const boost::json::object& line, const Machines& machines);
Result<Verdict> judge_allocate(const boost::json::object& line, const Machines& machines);
Result<Verdict> judge_static_policy(const boost::json::object& line, const Machines& machines);
Result<Verdict> judge_checkpoint(const boost::json::object& line, const Machines& machines);
Result<Verdict> judge_hints(const boost::json::object& line, const Machines& machines);
Result<Verdict> judge_merge(const boost::json::object& line, const Machines& machines);
Result<Verdict> judge_declared_features(const boost::json::object& line, const Machines& machines);
Result<Verdict> judge_quantity_qos(const boost::json::object& line, const Machines& machines);

}  // namespace corehold::vectors
