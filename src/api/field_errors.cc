// SPDX-License-Identifier: Apache-2.0
#include "api/field_errors.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

std::string with_detail(std::string_view what, std::string_view detail) {
  return detail.empty() ? std::string(what) : fmt::format("{}: {}", what, detail);
}

}  // namespace

ErrorPath ErrorPath::operator/(std::string_view name) const {
  return ErrorPath(text_.empty() ? std::string(name) : fmt::format("{}.{}", text_, name));
}
ErrorPath ErrorPath::operator/(std::size_t index) const { return key(fmt::to_string(index)); }
ErrorPath ErrorPath::key(std::string_view key) const {
  return ErrorPath(fmt::format("{}[{}]", text_, key));
}

void FieldErrors::add(std::string_view reason, const ErrorPath& path, std::string message) {
  if (causes_.size() >= kMost) return;
  causes_.push_back({.reason = fmt::format("FieldValue{}", reason),
                     .message = std::move(message),
                     .field = path.str()});
}

void FieldErrors::required(const ErrorPath& path, std::string_view detail) {
  add("Required", path, with_detail("Required value", detail));
}
void FieldErrors::invalid_bare(const ErrorPath& path, std::string_view value,
                               std::string_view detail) {
  add("Invalid", path, with_detail(fmt::format("Invalid value: {}", value), detail));
}
void FieldErrors::invalid(const ErrorPath& path, std::string_view value, std::string_view detail) {
  invalid_bare(path, go_quoted(value), detail);
}
void FieldErrors::invalid(const ErrorPath& path, std::int64_t value, std::string_view detail) {
  invalid_bare(path, fmt::to_string(value), detail);
}
void FieldErrors::duplicate(const ErrorPath& path, std::string_view value) {
  add("Duplicate", path, fmt::format("Duplicate value: {}", go_quoted(value)));
}
void FieldErrors::not_found(const ErrorPath& path, std::string_view value) {
  add("NotFound", path, fmt::format("Not found: {}", go_quoted(value)));
}
void FieldErrors::forbidden(const ErrorPath& path, std::string_view detail) {
  add("Forbidden", path, with_detail("Forbidden", detail));
}
void FieldErrors::not_supported(const ErrorPath& path, std::string_view value,
                                std::initializer_list<std::string_view> supported) {
  std::vector<std::string> words;
  words.reserve(supported.size());
  for (const std::string_view word : supported) words.push_back(go_quoted(word));
  add("NotSupported", path,
      fmt::format("Unsupported value: {}: supported values: {}", go_quoted(value),
                  fmt::join(words, ", ")));
}
void FieldErrors::too_long(const ErrorPath& path, std::size_t most_bytes) {
  add("TooLong", path, fmt::format("Too long: may not be more than {} bytes", most_bytes));
}

void FieldErrors::too_many(const ErrorPath& path, std::size_t count, std::size_t most) {
  add("TooMany", path, fmt::format("Too many: {}: must have at most {} items", count, most));
}

void FieldErrors::refused(const ErrorPath& path, std::string text) {
  add("Invalid", path, std::move(text));
}

void FieldErrors::add_all(const ErrorPath& path, std::string_view value,
                          const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) invalid(path, value, problem);
}

void FieldErrors::append(FieldErrors others) {
  const std::size_t room = std::min(others.causes_.size(), kMost - causes_.size());
  std::move(others.causes_.begin(), others.causes_.begin() + static_cast<std::ptrdiff_t>(room),
            std::back_inserter(causes_));
}

ApiStatus FieldErrors::status(std::string_view kind, std::string_view name) const {
  // The same mistake twice is told once, but is two causes.
  std::set<std::string> seen;
  std::vector<std::string> told;
  for (const StatusCause& cause : causes_) {
    std::string one = fmt::format("{}: {}", cause.field, cause.message);
    if (seen.insert(one).second) told.push_back(std::move(one));
  }
  const std::string all =
      told.size() == 1 ? told.front() : fmt::format("[{}]", fmt::join(told, ", "));
  return {.reason = StatusReason::kInvalid,
          .message = fmt::format("{} {} is invalid: {}", kind, go_quoted(name), all),
          .kind = std::string(kind),
          .name = std::string(name),
          .causes = causes_};
}

}  // namespace corehold
