// SPDX-License-Identifier: Apache-2.0
#include "recorded.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace corehold {
namespace {

namespace json = boost::json;

std::filesystem::path folder_path(std::string_view name) {
  return std::filesystem::path(COREHOLD_SOURCE_DIR) / "tests" / "recorded" / name;
}

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

enum class Strictness { kAgrees, kContains };

// "" when they agree, else where they do not.
std::string difference(const json::value& recorded, const json::value& ours,
                       const std::string& path, Strictness how) {
  const auto differ = [&] {
    return fmt::format("{}: recorded {}, ours {}", path, json::serialize(recorded).substr(0, 300),
                       json::serialize(ours).substr(0, 300));
  };
  if (recorded.is_object() && ours.is_object()) {
    const json::object& left = recorded.get_object();
    const json::object& right = ours.get_object();
    const bool cut = left.contains("cut");
    if (left.contains("type") && left.contains("name") && right.contains("object")) {
      const json::value& metadata = right.at("object").at("metadata");
      const bool same = left.at("type") == right.at("type") &&
                        left.at("name") == metadata.at("name") &&
                        (!left.contains("rv") || left.at("rv") == metadata.at("resourceVersion"));
      return same ? "" : differ();
    }
    for (const auto& field : left) {
      if (field.key() == "cut") continue;
      const json::value* other = right.if_contains(field.key());
      if (other == nullptr) {
        if (field.value().is_null() && how == Strictness::kContains) continue;
        return fmt::format("{}.{}: recorded, and not ours", path, std::string(field.key()));
      }
      std::string below =
          difference(field.value(), *other, fmt::format("{}.{}", path, std::string(field.key())),
                     cut ? Strictness::kContains : how);
      if (!below.empty()) return below;
    }
    if (cut || how == Strictness::kContains) return "";
    for (const auto& field : right) {
      if (!left.contains(field.key())) {
        return fmt::format("{}.{}: ours, and not recorded", path, std::string(field.key()));
      }
    }
    return "";
  }
  if (recorded.is_array() && ours.is_array()) {
    const json::array& left = recorded.get_array();
    const json::array& right = ours.get_array();
    if (left.size() != right.size()) return differ();
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::string below = difference(left[i], right[i], fmt::format("{}[{}]", path, i), how);
      if (!below.empty()) return below;
    }
    return "";
  }
  return recorded == ours ? "" : differ();
}

testing::AssertionResult result_of(const std::string& problem) {
  return problem.empty() ? testing::AssertionSuccess() : testing::AssertionFailure() << problem;
}

}  // namespace

json::value read_recorded(std::string_view name) {
  std::ifstream file(folder_path(name));
  std::stringstream text;
  text << file.rdbuf();
  boost::system::error_code failed;
  json::value value = json::parse(text.str(), failed);
  EXPECT_FALSE(failed) << name;
  return value;
}

std::vector<std::string> recorded_files(std::string_view folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_path(folder))) {
    names.push_back(fmt::format("{}/{}", folder, entry.path().filename().string()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<RecordedCase> recorded_cases(std::string_view name) {
  const json::value file = read_recorded(name);
  std::vector<RecordedCase> cases;
  const auto add = [&](const json::value& exchange) {
    const json::object& object = exchange.as_object();
    cases.push_back(
        {fmt::format("{}: {}", name, std::string(object.at("about").as_string())), object});
  };
  if (file.is_array()) {
    for (const json::value& exchange : file.get_array()) add(exchange);
  } else if (const json::value* pages = file.as_object().if_contains("pages")) {
    for (const json::value& exchange : pages->as_array()) add(exchange);
  } else {
    add(file);
  }
  return cases;
}

std::string RecordedCase::path() const {
  const std::string whole(exchange.at("request").at("path").as_string());
  return decoded(whole.substr(0, whole.find('?')));
}

std::map<std::string, std::string> RecordedCase::query() const {
  std::map<std::string, std::string> parameters;
  const std::string whole(exchange.at("request").at("path").as_string());
  const std::size_t mark = whole.find('?');
  std::stringstream parts(mark == std::string::npos ? "" : whole.substr(mark + 1));
  for (std::string part; std::getline(parts, part, '&');) {
    const std::size_t equals = part.find('=');
    parameters[decoded(part.substr(0, equals))] =
        equals == std::string::npos ? "" : decoded(part.substr(equals + 1));
  }
  return parameters;
}

std::string RecordedCase::accept() const {
  const json::object& request = exchange.at("request").as_object();
  const json::value* headers = request.if_contains("headers");
  const json::value* accept =
      headers == nullptr ? nullptr : headers->as_object().if_contains("Accept");
  return accept == nullptr ? "" : std::string(accept->as_string());
}

int RecordedCase::code() const {
  return static_cast<int>(exchange.at("response").at("code").as_int64());
}

const json::value& RecordedCase::body() const { return exchange.at("response").at("body"); }

testing::AssertionResult agrees(const json::value& recorded, const json::value& ours) {
  return result_of(difference(recorded, ours, "body", Strictness::kAgrees));
}

testing::AssertionResult contains(const json::value& recorded, const json::value& ours) {
  return result_of(difference(recorded, ours, "body", Strictness::kContains));
}

}  // namespace corehold
