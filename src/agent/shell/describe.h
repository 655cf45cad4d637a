// SPDX-License-Identifier: Apache-2.0
//
// Commands and effects as fields of log lines. Their names and keys are stable: tests and
// people's scripts read them.
#pragma once

#include <string>
#include <string_view>

#include "manager/command.h"
#include "manager/effect.h"
#include "manager/node_state.h"
#include "sys/log/log.h"

namespace corehold {

// "PersistCheckpoint".
std::string_view name_of(const Effect& effect);
// "CheckpointSaved".
std::string_view name_of(const Command& command);

// effect=SetCpuset pod=db/pg-0 container=main cpus=2-3. The pod goes by its UID where the
// node does not know it.
LogFields fields_of(const Effect& effect, const NodeState& node);
// command=CpusetApplied ..., with error=... when something failed.
LogFields fields_of(const Command& command, const NodeState& node);

// pod=db/pg-0 container=main; only what there is.
LogFields fields_of(const ContainerRef& about, const NodeState& node);

// "db/pg-0", or the UID of an unknown one.
std::string shown_pod(const std::string& uid, const NodeState& node);

}  // namespace corehold
