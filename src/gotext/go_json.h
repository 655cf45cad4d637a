// SPDX-License-Identifier: Apache-2.0
//
// JSON the way Go's encoding/json reads it, because what a checkpoint says and its
// checksum depend on it. Reading (Boost.JSON's parser underneath) keeps
// duplicate keys in order and turns invalid UTF-8 and lone surrogates into
// U+FFFD; what a duplicate means is up to the reader of the tree.
#pragma once

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

}  // namespace corehold
