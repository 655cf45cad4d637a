// SPDX-License-Identifier: Apache-2.0
//
// Result<T>: a value, or an Error that says why there is none. Every function of
// Corehold that can fail returns one; nothing throws. TRY passes an error up:
//
//   const CpuSet set = TRY(CpuSet::parse(text));
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace corehold {

// What kind of failure it is. How each is shown to the outside (its name, admission
// reason) is in the table of base/code.h alone.
enum class Code {
  kInvalid,      // the request itself is wrong, whatever the state of the node
  kUnaligned,    // full-pcpus-only: the request does not fit whole cores
  kExhausted,    // right in principle, but too little is free now
  kNotFound,     // the thing named does not exist
  kConflict,     // what is there contradicts what was asked or configured
  kCorrupt,      // stored bytes do not verify
  kUnsupported,  // known, and deliberately not done
  kIo,           // the operating system said no
};

struct Error {
  Code code;
  std::string message;
  int number = 0;  // the errno of a call of the kernel that failed; 0: none did

  bool operator==(const Error&) const = default;
};

// The same error with `context` and ": " before its message.
inline Error wrap(std::string_view context, Error error) {
  error.message.insert(0, ": ").insert(0, context);
  return error;
}

template <typename T>
class [[nodiscard]] Result {
 public:
  using Value = T;

  // NOLINTNEXTLINE(google-explicit-constructor): a value is a Result
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): an error is a Result
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value().
  T& value() & {
    CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES: !has_value().
  const Error& error() const {
    CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using Value = void;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): an error is a Result
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  void value() const { CHECK(has_value()); }
  void operator*() const { value(); }

  const Error& error() const {
    CHECK(failed_);
    return error_;
  }

 private:
  Error error_{};
  bool failed_ = false;
};

}  // namespace corehold

// The value of a Result, or return its error from the calling function. May be nested.
#define TRY(expression) COREHOLD_TRY_NUMBERED(expression, __COUNTER__)
#define COREHOLD_TRY_NUMBERED(expression, number) COREHOLD_TRY_NAMED(expression, number)
#define COREHOLD_TRY_NAMED(expression, number) COREHOLD_TRY_IN(expression, try_result_##number)
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared takes none
#define COREHOLD_TRY_IN(expression, name)                  \
  __extension__({                                          \
    auto name = (expression);                              \
    if (!name.has_value()) return std::move(name).error(); \
    *std::move(name);                                      \
  })
// NOLINTEND(bugprone-macro-parentheses)
