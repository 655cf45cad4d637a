// SPDX-License-Identifier: Apache-2.0
//
// JSON the way Go's encoding/json reads and writes it, because a checkpoint's
// bytes and checksum depend on it. Reading (Boost.JSON's parser underneath) keeps
// duplicate keys in order and turns invalid UTF-8 and lone surrogates into
// U+FFFD; what a duplicate means is up to the reader of the tree.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace corehold {

struct JsonMember;

struct JsonValue {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string text{};               // kString: decoded; kNumber: as written
  std::vector<JsonMember> members;  // kObject: in order, duplicates kept; empty for kArray
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// Objects and arrays nested deeper than this are refused (Go allows 10,000).
inline constexpr int kMaxJsonDepth = 256;

// The items of an array are checked for syntax, but not kept: no checkpoint has
// any. Fails with kCorrupt: "unexpected end of JSON input", or where the fault is.
Result<JsonValue> parse_go_json(std::string_view bytes);

// "string", "number": the word Go's decoder uses for the kind.
std::string_view name_of(JsonValue::Kind kind);

// Whether Go would store the member `key` in the struct field named `field`:
// letters match in either case, U+017F as an "s" and U+212A as a "k".
bool is_go_field(std::string_view key, std::string_view field);

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
