// SPDX-License-Identifier: Apache-2.0
//
// For tests of HTTP: a client that sends what it likes, and a certificate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "sys/descriptor.h"
#include "sys/socket/channel.h"
#include "sys/socket/tls.h"

namespace corehold {

// Connected sockets that do not block; none when nobody listens.
Descriptor connect_unix(const std::string& path);
Descriptor connect_tcp(std::uint16_t port);

// An authority, and a server on this machine that it vouches for.
struct TestPki {
  TlsIdentity authority{};
  TlsIdentity server{};
};
TestPki test_pki();

// One side of a connection that speaks raw bytes; the loop runs while it listens.
class RawClient {
 public:
  RawClient(boost::asio::io_context& loop, Descriptor socket);
  // With TLS; the context must outlive it.
  RawClient(boost::asio::io_context& loop, Descriptor socket, const TlsContext& tls);

  bool connected() const { return socket_.is_open(); }
  // Whether TLS has begun.
  bool shake_hands();
  // False once the other side has hung up.
  bool send(std::string_view text);
  void close() { socket_.close(); }
  int descriptor() const { return socket_.get(); }

  // What comes until `enough`, if given, is in it or the other side closes.
  std::string receive(const std::string& enough = "");
  bool closed() const { return closed_; }
  std::string trouble() const { return channel_->trouble(); }

 private:
  void turn();

  boost::asio::io_context& loop_;
  Descriptor socket_;
  std::unique_ptr<Channel> channel_;
  bool closed_ = false;
};

}  // namespace corehold
