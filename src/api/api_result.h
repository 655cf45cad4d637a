// SPDX-License-Identifier: Apache-2.0
//
// ApiResult<T>: a value, or the Status that the client of the API is to read. Where
// Result<T> has an Error, which says enough to people, this says it to programs too: which
// fields, and how. TRY passes a Status up as it passes an Error.
#pragma once

#include <utility>
#include <variant>

#include "api/status.h"
#include "base/check.h"

namespace corehold {

template <typename T>
class [[nodiscard]] ApiResult {
 public:
  using Value = T;

  // NOLINTNEXTLINE(google-explicit-constructor): a value is a result
  ApiResult(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a Status is a result
  ApiResult(ApiStatus status) : state_(std::in_place_index<1>, std::move(status)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value().
  T& operator*() & { return *value(); }
  const T& operator*() const& { return *value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }

  // REQUIRES: !has_value().
  const ApiStatus& error() const {
    CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  T* value() {
    CHECK(has_value());
    return std::get_if<0>(&state_);
  }
  const T* value() const {
    CHECK(has_value());
    return std::get_if<0>(&state_);
  }

  std::variant<T, ApiStatus> state_;
};

}  // namespace corehold
