// SPDX-License-Identifier: Apache-2.0
//
// What the runtime keeps of a container on disk, in <root>/containers/<pod uid>/<name>/:
//
//   launch.json   what was to be started, how it is confined, and the pod's manifest
//   keeper.json   the monitor (or the client of `corehold run`), from before it may start
//   main.json     the container's main process, from before its command is run
//   exit.json     how it ended; written once nothing of the container runs any more
//
// Each file is replaced whole, so that an agent or a monitor killed at any moment leaves
// records that can be read.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "container/container_exit.h"
#include "runtime/container_launch.h"
#include "sys/process/process.h"

namespace corehold {

struct StoredLaunch {
  Launch launch{};
  boost::json::object confinement{};  // Confinement::describe()
  std::string cgroup{};               // container_cgroup.h; "": from before that was on record
};

struct StoredProcess {
  ProcessId process{};
  std::chrono::milliseconds started_at{};  // since the Unix epoch
  std::vector<ProcessId> unrelated{};      // of a client: what was its own before
};

class ContainerDirectory {
 public:
  explicit ContainerDirectory(std::string path) : path_(std::move(path)) {}
  static ContainerDirectory of(const std::string& root, const ContainerRef& container);

  // Every container there is a directory of.
  static Result<std::vector<ContainerRef>> all(const std::string& root);

  // Removes what remove() and make() had put aside when they were interrupted, and directories of
  // pods without containers. What cannot be removed stays.
  static void sweep(const std::string& root);

  const std::string& path() const { return path_; }

  // Makes an empty directory, in the place of an earlier attempt's.
  Result<void> make() const;
  // Removes it, and its pod's when it was the last.
  Result<void> remove() const;

  Result<void> write_launch(const StoredLaunch& stored) const;
  Result<StoredLaunch> read_launch() const;

  Result<void> write_supervisor(const StoredProcess& supervisor) const;
  Result<void> write_main(const StoredProcess& main) const;
  // No value: none was written, it cannot be read, or it was before the machine was booted.
  std::optional<StoredProcess> read_supervisor() const;
  std::optional<StoredProcess> read_main() const;
  // Whether a main process was recorded, in this boot or before; without one nothing of the
  // container has ever run.
  bool has_main() const;

  // Survives a power cut.
  Result<void> write_exit(const ContainerExit& exit) const;
  std::optional<ContainerExit> read_exit() const;

 private:
  Result<void> take_away() const;

  std::string path_;
};

// How an end is written: in exit.json, and on the way from the monitor to the agent.
std::string exit_to_json(const ContainerExit& exit);
std::optional<ContainerExit> exit_from_json(std::string_view text);

// kInvalid unless both names can be names of directories.
Result<void> check_names(const ContainerRef& container);

}  // namespace corehold
