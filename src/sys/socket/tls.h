// SPDX-License-Identifier: Apache-2.0
//
// Certificates and TLS: an authority of one's own, what it vouches for, and channels that
// use it. The adapter for OpenSSL, whose types stay in here. Keys are EC P-256; TLS is 1.2
// or later; the protocol inside is HTTP/1.1.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/socket/channel.h"

struct ssl_ctx_st;

namespace corehold {

// A certificate and its key, both PEM.
struct TlsIdentity {
  std::string certificate{};
  std::string key{};
};

// Since the Unix epoch.
struct Validity {
  std::chrono::seconds from{};
  std::chrono::seconds until{};
};

// "127.0.0.1" and "::1" become addresses, all else DNS names.
using TlsNames = std::vector<std::string>;

struct CertificateFacts {
  Validity valid{};
  TlsNames names{};  // as they were given, sorted
};

// All fail with kIo when OpenSSL does.
Result<TlsIdentity> make_authority(const std::string& name, const Validity& valid);
// For a server of these names. Fails with kInvalid when the authority cannot be used.
Result<TlsIdentity> issue_server(const TlsIdentity& authority, const TlsNames& names,
                                 const Validity& valid);

// What the certificate says. Fails with kInvalid when it or the key cannot be read or they do
// not belong together.
Result<CertificateFacts> read_identity(const TlsIdentity& identity);

// Whether the authority can vouch for it: its own signature is right and it may sign. Both PEM.
bool is_issued_by(const std::string& certificate, const std::string& authority);

// Whether it may sign at all.
bool is_authority(const std::string& certificate);

// Random bytes fit for secrets, in hexadecimal.
Result<std::string> random_token(std::size_t bytes);

// Whether they are equal, in a time that does not depend on where they differ.
bool equal_in_constant_time(const std::string& one, const std::string& other);

// What all connections of a server, or to one, have in common.
class TlsContext {
 public:
  // Fails with kInvalid when the identity cannot be used.
  static Result<TlsContext> for_server(const TlsIdentity& identity);
  // Trusts this authority (PEM, one or more) and no other. Fails with kInvalid when it is none.
  static Result<TlsContext> for_client(const std::string& authority);

  TlsContext(TlsContext&&) noexcept = default;
  TlsContext& operator=(TlsContext&&) noexcept = default;
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext() = default;

  // The side of a server; may outlive the context.
  std::unique_ptr<Channel> accept(int fd) const;
  // The side of a client; handshake() is broken unless the server proves to be `host`.
  std::unique_ptr<Channel> connect(int fd, const std::string& host) const;

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace corehold
