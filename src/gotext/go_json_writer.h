// SPDX-License-Identifier: Apache-2.0
//
// JSON the way Go's encoding/json writes it, byte for byte, because a checkpoint's
// checksum depends on it.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace corehold {

// Builds JSON text in one growing buffer.
class GoJsonWriter {
 public:
  explicit GoJsonWriter(std::size_t size_hint) { grow(size_hint, 0); }

  // As it stands: punctuation, numbers, what is JSON already.
  void raw(std::string_view json) {
    std::memcpy(room(used_, json.size()), json.data(), json.size());
    used_ += json.size();
  }
  // `text` with its quotes, escaped as Go does: < > & and U+2028, U+2029 too; an
  // invalid byte becomes \ufffd.
  void text(std::string_view text);
  // The same for a text that is JSON written by a GoJsonWriter: nothing in it needs an
  // escape but quotes and backslashes.
  void json_as_text(std::string_view json);

  // What was written so far; valid until more is.
  std::string_view view() const { return {buffer_.get(), used_}; }
  std::string str() const { return std::string(view()); }

 private:
  // Where to write next, with room for at least `size` bytes after `used`.
  char* room(std::size_t used, std::size_t size) {
    if (capacity_ < used + size) grow(used + size, used);
    return buffer_.get() + used;
  }
  // Makes room for `size` bytes and keeps the first `keep`.
  void grow(std::size_t size, std::size_t keep);

  std::unique_ptr<char[]> buffer_;  // not a string, which would be filled with zeros first
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

// `text` as Go's %q shows it.
std::string go_quoted(std::string_view text);

}  // namespace corehold
