// SPDX-License-Identifier: Apache-2.0
//
// corehold agent. Here and not among the client commands, which know the agent only by
// its API.
#pragma once

namespace CLI {
class App;
}

namespace corehold {

// As the add_* functions of cli/cli.h.
void add_agent(CLI::App& root, int& exit_code);

}  // namespace corehold
