// SPDX-License-Identifier: Apache-2.0
#include "api/serve/list_options.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

// As good as for ever, and a time that can be added to any other.
constexpr std::chrono::seconds kLongestTimeout = std::chrono::hours{24 * 365};

ApiStatus bad_request(std::string message) {
  return {.reason = StatusReason::kBadRequest, .message = std::move(message)};
}

// 422 about one parameter.
ApiStatus invalid_options(std::string_view reason, std::string message) {
  constexpr std::string_view kMatchField = "resourceVersionMatch";
  return {.reason = StatusReason::kInvalid,
          .message =
              fmt::format("ListOptions.meta.k8s.io \"\" is invalid: {}: {}", kMatchField, message),
          .kind = "ListOptions",
          .group = "meta.k8s.io",
          .causes = {{.reason = std::string(reason),
                      .message = std::move(message),
                      .field = std::string(kMatchField)}}};
}

ApiStatus forbidden_match(std::string_view problem) {
  return invalid_options("FieldValueForbidden", fmt::format("Forbidden: {}", problem));
}

std::string given(const QueryParameters& query, const std::string& name) {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

// Present without a value is true, as is everything that is not "false" or "0".
std::optional<bool> given_flag(const QueryParameters& query, const std::string& name) {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  std::string value = found->second;
  std::transform(value.begin(), value.end(), value.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return value != "false" && value != "0";
}

std::string number_problem(std::string_view function, std::string_view text, std::errc problem) {
  return fmt::format(
      "strconv.{}: parsing {}: {}", function, go_quoted(text),
      problem == std::errc::result_out_of_range ? "value out of range" : "invalid syntax");
}

template <typename Number>
std::errc read_number(std::string_view text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return read.ec;
  return read.ptr == text.data() + text.size() ? std::errc() : std::errc::invalid_argument;
}

// No value for one that is not given.
ApiResult<std::optional<std::int64_t>> given_number(const QueryParameters& query,
                                                    const std::string& name) {
  const std::string text = given(query, name);
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t number = 0;
  const std::errc problem = read_number(text, number);
  if (problem != std::errc()) return bad_request(number_problem("ParseInt", text, problem));
  return std::optional<std::int64_t>(number);
}

ApiResult<Selector> given_selector(const QueryParameters& query, Resource resource) {
  auto labels = LabelSelector::parse(given(query, "labelSelector"));
  if (!labels) return bad_request(labels.error().message);
  auto fields = FieldSelector::parse(given(query, "fieldSelector"), resource);
  if (!fields) return bad_request(fields.error().message);
  return Selector{*std::move(labels), *std::move(fields)};
}

// The text of what is wrong with a resourceVersion; "" for nothing.
std::string version_problem(std::string_view text, std::uint64_t& version) {
  if (text.empty()) return "";
  const std::errc problem = read_number(text, version);
  if (problem == std::errc()) return "";
  return fmt::format("resourceVersion: Invalid value: {}: {}", go_quoted(text),
                     number_problem("ParseUint", text, problem));
}

bool is_known_match(std::string_view match) {
  return match == "Exact" || match == "NotOlderThan" || match.empty();
}

ApiStatus unknown_match(std::string_view match) {
  return invalid_options(
      "FieldValueNotSupported",
      fmt::format("Unsupported value: {}: supported values: \"Exact\", \"NotOlderThan\", \"\"",
                  go_quoted(match)));
}

// No value: nothing is wrong with it.
std::optional<ApiStatus> list_match_problem(const QueryParameters& query) {
  const std::string match = given(query, "resourceVersionMatch");
  const std::string version = given(query, "resourceVersion");
  if (!match.empty()) {
    if (version.empty()) {
      return forbidden_match(
          "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if (!given(query, "continue").empty()) {
      return forbidden_match("resourceVersionMatch is forbidden when continue is provided");
    }
    if (!is_known_match(match)) return unknown_match(match);
    if (match == "Exact" && version == "0") {
      return forbidden_match(
          "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
  }
  if (query.contains("sendInitialEvents")) {
    ApiStatus status = forbidden_match("sendInitialEvents is forbidden for list");
    status.message =
        "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
        "sendInitialEvents is forbidden for list";
    status.causes.front().field = "sendInitialEvents";
    return status;
  }
  return std::nullopt;
}

std::optional<ApiStatus> watch_match_problem(const QueryParameters& query) {
  const std::string match = given(query, "resourceVersionMatch");
  const bool initial = query.contains("sendInitialEvents");
  if (!match.empty() && !initial) {
    return forbidden_match(
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (initial && match != "NotOlderThan") {
    return forbidden_match(
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  return std::nullopt;
}

ListOptions::Match match_of(const QueryParameters& query, const ListOptions& options) {
  using Match = ListOptions::Match;
  const std::string text = given(query, "resourceVersion");
  if (text.empty()) return Match::kNewest;
  if (options.version == 0) return Match::kAnyAge;
  const std::string match = given(query, "resourceVersionMatch");
  // A page of a certain version was always meant exactly, before there was a way to say so.
  if (match == "Exact" || (match.empty() && options.limit > 0)) return Match::kExact;
  return Match::kNotOlderThan;
}

}  // namespace

bool asks_for_watch(const QueryParameters& query) {
  return given_flag(query, "watch").value_or(false);
}

ApiResult<ListOptions> list_options(const QueryParameters& query, Resource resource) {
  ListOptions options;
  options.selector = TRY(given_selector(query, resource));
  options.limit = std::max<std::int64_t>(0, TRY(given_number(query, "limit")).value_or(0));
  if (auto problem = list_match_problem(query)) return *std::move(problem);
  const std::string token = given(query, "continue");
  const std::string version = given(query, "resourceVersion");
  if (!token.empty()) {
    if (!version.empty() && version != "0") {
      return bad_request("specifying resource version is not allowed when using continue");
    }
    auto after = parse_continue_token(token);
    if (!after) return bad_request("invalid continue token: " + after.error().message);
    options.after = *std::move(after);
    return options;
  }
  const std::string problem = version_problem(version, options.version);
  if (!problem.empty()) return bad_request("invalid resource version: " + problem);
  options.match = match_of(query, options);
  return options;
}

ApiResult<WatchOptions> watch_options(const QueryParameters& query, Resource resource) {
  WatchOptions options;
  options.selector = TRY(given_selector(query, resource));
  const auto seconds = TRY(given_number(query, "timeoutSeconds"));
  if (seconds && *seconds > 0) {
    options.timeout = std::min(std::chrono::seconds(*seconds), kLongestTimeout);
  }
  if (auto problem = watch_match_problem(query)) return *std::move(problem);
  const std::string text = given(query, "resourceVersion");
  std::uint64_t version = 0;
  const std::string problem = version_problem(text, version);
  if (!problem.empty()) return ApiStatus{.reason = StatusReason::kNone, .message = problem};
  options.bookmarks = given_flag(query, "allowWatchBookmarks").value_or(false);
  const auto initial = given_flag(query, "sendInitialEvents");
  options.initial_events = initial.value_or(version == 0);
  // Who says nothing about versions is told where the beginning ends; who says 0 is not.
  options.initial_mark =
      options.bookmarks && (initial.value_or(false) || (!initial && text.empty()));
  if (version > 0) options.version = version;
  return options;
}

}  // namespace corehold
