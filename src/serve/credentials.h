// SPDX-License-Identifier: Apache-2.0
//
// What an agent proves itself with over TLS and what its clients must show: ca.crt, ca.key,
// server.crt, server.key and token in <root>/pki, for root alone (files 0600, directory
// 0700). Made at the first start and kept; what cannot be used any more is made anew, and
// the log says why. <root>/kubeconfig is all that kubectl needs.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "sys/log/log.h"
#include "sys/socket/tls.h"

namespace corehold {

struct CredentialSettings {
  std::string root{};
  std::string node_name{};
  std::string address{};       // where the agent is to listen: "0.0.0.0:10270"
  std::chrono::seconds now{};  // since the Unix epoch
};

struct Credentials {
  std::string authority{};  // PEM
  TlsIdentity server{};
  std::string token{};
};

// Reads them, and makes what is missing, damaged, for other names, or expires within 30 days; what
// was there is moved aside (move_aside.h).
// The authority stays as long as it can be used, since clients have it. Fails with kIo.
Result<Credentials> prepare_credentials(const CredentialSettings& settings, const Log& log);

// The names a client may use for this agent: its own machine's, the node's and the address,
// sorted.
TlsNames server_names(const CredentialSettings& settings);

// Writes <root>/kubeconfig (0600) for an agent that listens there; a file that says the same
// already is left. The log tells when copies of the old file are of no use any more. Fails with
// kIo.
Result<void> write_kubeconfig(const std::string& root, const std::string& place,
                              const Credentials& credentials, const Log& log);
Result<void> remove_kubeconfig(const std::string& root);

}  // namespace corehold
