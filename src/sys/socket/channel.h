// SPDX-License-Identifier: Apache-2.0
//
// Bytes through a connected socket that does not block: as they are, or inside TLS. A
// channel never waits; it says what to wait for. It keeps no buffers while nothing moves,
// so that thousands of quiet ones cost little: Asio's own TLS stream keeps 68 KB each.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace corehold {

class Channel {
 public:
  enum class Outcome {
    kDone,         // what was asked, or a part of it
    kWaitToRead,   // nothing: again when the socket can be read
    kWaitToWrite,  // nothing: again when the socket can be written
    kEnd,          // the peer will send no more
    kBroken,       // nothing will ever move again; trouble() says why
  };
  struct Moved {
    Outcome outcome = Outcome::kDone;
    std::size_t bytes = 0;  // with kDone
  };

  virtual ~Channel() = default;

  // Until it is done nothing else may be asked for.
  virtual Moved handshake() = 0;
  virtual Moved read(char* into, std::size_t size) = 0;
  // What could not be written must be what is written next.
  virtual Moved write(std::string_view text) = 0;
  // Tells the peer that no more will come, if that is possible without waiting.
  virtual void end_writing() = 0;
  // Whether there is something to read() without the socket's being readable.
  virtual bool has_buffered() const = 0;
  // Why it is broken, for people.
  virtual std::string trouble() const = 0;
};

// The descriptor stays its owner's and must outlive the channel.
std::unique_ptr<Channel> plain_channel(int fd);

}  // namespace corehold
