// SPDX-License-Identifier: Apache-2.0
//
// The mistakes of one object, each with its field, collected in the order in which a
// Kubernetes API server names them, and the Status that tells all of them at once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/status.h"

namespace corehold {

// Where in an object: "spec.containers[0].resources.limits[cpu]".
class ErrorPath {
 public:
  // The root itself has no name.
  ErrorPath() = default;
  explicit ErrorPath(std::string text) : text_(std::move(text)) {}

  ErrorPath operator/(std::string_view name) const;
  ErrorPath operator/(std::size_t index) const;
  ErrorPath key(std::string_view key) const;

  const std::string& str() const { return text_; }

 private:
  std::string text_{};
};

class FieldErrors {
 public:
  // More than a person reads; what comes after them is left out.
  static constexpr std::size_t kMost = 1000;

  void required(const ErrorPath& path, std::string_view detail = {});
  // A text that is shown in quotes, and a number that is not.
  void invalid(const ErrorPath& path, std::string_view value, std::string_view detail);
  void invalid(const ErrorPath& path, std::int64_t value, std::string_view detail);
  // Any other value, shown as it is given here: "null".
  void invalid_bare(const ErrorPath& path, std::string_view value, std::string_view detail);
  void duplicate(const ErrorPath& path, std::string_view value);
  void not_found(const ErrorPath& path, std::string_view value);
  void forbidden(const ErrorPath& path, std::string_view detail);
  void not_supported(const ErrorPath& path, std::string_view value,
                     std::initializer_list<std::string_view> supported);
  void too_long(const ErrorPath& path, std::size_t most_bytes);
  void too_many(const ErrorPath& path, std::size_t count, std::size_t most);
  // An Invalid in words that are not those of Kubernetes.
  void refused(const ErrorPath& path, std::string text);

  // One Invalid for each text of `problems`.
  void add_all(const ErrorPath& path, std::string_view value,
               const std::vector<std::string>& problems);
  void append(FieldErrors others);

  bool empty() const { return causes_.empty(); }
  // No more is taken: whoever goes through a long list may stop.
  bool full() const { return causes_.size() >= kMost; }

  // 422: `Pod "x" is invalid: ...`, with a cause for each.
  ApiStatus status(std::string_view kind, std::string_view name) const;

 private:
  void add(std::string_view reason, const ErrorPath& path, std::string message);

  std::vector<StatusCause> causes_{};
};

}  // namespace corehold
