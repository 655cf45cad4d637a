// SPDX-License-Identifier: Apache-2.0
//
// The file in which Kubernetes clients find their server, as far as an agent's needs:
// of the current context the server, the authority that vouches for it, and a token.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

struct Kubeconfig {
  std::string server{};     // "https://127.0.0.1:10270"
  std::string authority{};  // PEM
  std::string token{};
};

// Of this text; files that it names are looked up from `directory`. Fails with kInvalid for
// what is no kubeconfig or lacks any of these, and kIo or kNotFound for files.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& directory);

// The same of a file; messages begin with its name.
Result<Kubeconfig> read_kubeconfig(const std::string& path);

}  // namespace corehold
