// SPDX-License-Identifier: Apache-2.0
//
// A process's own view of the file system: directories and files of the machine seen at
// other places as well, also at places that do not exist. Nothing is created on the machine
// for that: the nearest directory that does exist is covered, in this view only, by one in
// memory that shows the same entries and has room for the new one. Files made directly in
// such a directory are the view's own and go with it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace corehold {

struct ViewMount {
  std::string source{};
  std::string sub_path{};  // inside the source; a link cannot lead out of it
  std::string target{};
  bool read_only = false;
  bool may_create = false;  // missing directories inside the source may be made there
};

// Gives the calling process, which must have one thread, its own view. `scratch` is an
// existing directory of ours. Targets may lie inside each other. On failure the process is
// of no use any more: it has half a view.
Result<void> enter_view(const std::vector<ViewMount>& mounts, const std::string& scratch);

}  // namespace corehold
