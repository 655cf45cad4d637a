// SPDX-License-Identifier: Apache-2.0
//
// Which commands of `corehold run` an agent has taken in and not seen end, beside the records of
// their containers: where no cgroup holds a command, nothing else would tell it from a process that
// pretends to be one when those records are lost. One file for each in ROOT/run/commands, where
// only the agent can write, with the name of this boot of the machine.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "sys/process/process.h"

namespace corehold {

Result<void> note_command(const std::string& root, const ProcessId& client);

// `mark` is run_mark() of the client. One that is not noted is no error.
void forget_command(const std::string& root, const std::string& mark);

// The marks of all that were noted since the machine was booted.
std::set<std::string> noted_commands(const std::string& root);

// Forgets all but these marks.
void keep_notes_of(const std::string& root, const std::set<std::string>& marks);

}  // namespace corehold
