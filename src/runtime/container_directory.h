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
// records that can be read, and has a digest (record_text.h), so that damage is noticed. Only
// exit.json is on the disk before it counts: a power cut may leave the others empty, and ends all
// containers.
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
  // How long the command may take until it runs, from when the monitor has let it go.
  std::chrono::milliseconds start_timeout{60'000};
};

struct StoredProcess {
  ProcessId process{};
  std::chrono::milliseconds started_at{};  // since the Unix epoch
  std::vector<ProcessId> unrelated{};      // of a client: what was its own before
};

struct StoredExit {
  ContainerExit exit{};
  std::optional<int> attempt{};  // no value: of a version that did not write it

  bool operator==(const StoredExit&) const = default;
};

class ContainerDirectory {
 public:
  explicit ContainerDirectory(std::string path) : path_(std::move(path)) {}
  static ContainerDirectory of(const std::string& root, const ContainerRef& container);

  // Every container there is a directory of. Fails with kCorrupt and the name of a link in the
  // place of a directory: what is behind it is not ours.
  static Result<std::vector<ContainerRef>> all(const std::string& root);

  // Renames whatever all() fails for, and says what it was called and is called now.
  static Result<std::vector<std::string>> put_links_aside(const std::string& root);

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
  Result<void> write_exit(const ContainerExit& exit, int attempt) const;
  std::optional<StoredExit> read_exit() const;

  // Whether the records can be believed: each that is there is what was written, launch.json is
  // there when another is, and keeper.json when main.json is. Fails with kCorrupt, and names the
  // file.
  Result<void> check() const;
  // Whether each record that is there is what was written.
  Result<void> check_content() const;
  // The same of exit.json alone.
  Result<void> check_exit() const;

  // Renames a record (move_aside.h); one that is not there is no error.
  Result<void> put_aside(const std::string& file) const;

 private:
  Result<void> take_away() const;
  bool has(const std::string& file) const;
  // No value: there is no such file. Fails with kCorrupt, and names the file.
  Result<std::optional<boost::json::object>> read(const std::string& file) const;

  std::string path_;
};

// How an end is written: in exit.json, and on the way from the monitor to the agent.
std::string exit_to_json(const ContainerExit& exit);
std::optional<ContainerExit> exit_from_json(std::string_view text);

// kInvalid unless both names can be names of directories.
Result<void> check_names(const ContainerRef& container);

}  // namespace corehold
