// SPDX-License-Identifier: Apache-2.0
//
// Launch: one run of one container as a process of this machine, complete. The workspace
// makes it of a pod; the process runtime hands it to the container's monitor.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container/placement.h"
#include "pod/container_ref.h"

namespace corehold {

struct Mount {
  std::string source{};
  std::string target{};  // as the container sees it; need not exist on the machine
  bool read_only = false;
  std::string sub_path{};   // inside the source, and never outside it by a link
  bool may_create = false;  // the source is ours: what is missing inside it is made

  bool operator==(const Mount&) const = default;
};

// A hostPath volume of the pod, mounted by the container or not: all must be what the pod says.
struct HostPath {
  std::string volume{};  // for messages: "v of pod default/p"
  std::string path{};
  std::string type{};  // as in the pod; "": anything
  std::string root{};  // the agent's directory: nothing is made outside it

  bool operator==(const HostPath&) const = default;
};

struct Launch {
  ContainerRef container{};
  int attempt = 0;
  std::vector<std::string> command{};
  std::vector<std::pair<std::string, std::string>> environment{};
  std::string working_directory{};  // "": /
  std::optional<uid_t> user{};      // no value: the agent's
  std::optional<gid_t> group{};
  std::vector<gid_t> groups{};
  std::vector<Mount> mounts{};
  std::vector<HostPath> host_paths{};
  std::string log_path{};
  std::string manifest{};  // the pod as JSON, kept for a recovery without a store
  Placement placement{};
  // A process that waits to be let go (`corehold run`), and the client whose child it is:
  // it is taken in instead of a command being started. 0: none.
  pid_t attached = 0;
  pid_t attached_to = 0;
  bool no_new_privileges = false;  // no program it runs gets more rights than it has
};

}  // namespace corehold
