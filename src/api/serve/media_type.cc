// SPDX-License-Identifier: Apache-2.0
#include "api/serve/media_type.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

namespace corehold {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kYamlType = "application/yaml";
constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// More would only keep us busy.
constexpr std::size_t kMostClauses = 64;

struct MediaClause {
  std::string type{};  // "application/json", in lower case
  std::map<std::string, std::string, std::less<>> parameters{};
  int quality = 1000;  // of 1000

  std::string_view parameter(std::string_view name) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string_view() : found->second;
  }
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// At each `separator` that is in no quotes.
std::vector<std::string_view> split_unquoted(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size() && parts.size() < kMostClauses; ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] != separator || quoted) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// "0.85" as 850; what is no such number is 1.
int quality_of(std::string_view text) {
  double quality = 1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), quality);
  if (read.ec != std::errc() || !(quality >= 0 && quality <= 1)) return 1000;
  return static_cast<int>(quality * 1000);
}

MediaClause media_clause(std::string_view text) {
  MediaClause clause;
  const auto parts = split_unquoted(text, ';');
  clause.type = lowered(trimmed(parts.front()));
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
    const std::size_t equals = part->find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name = lowered(trimmed(part->substr(0, equals)));
    std::string_view value = trimmed(part->substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    if (name == "q") {
      clause.quality = quality_of(value);
    } else {
      clause.parameters.insert_or_assign(name, std::string(value));
    }
  }
  return clause;
}

// How exactly a clause names a type; of equal quality the more exact goes first.
int exactness(const MediaClause& clause) {
  if (clause.type == "*/*") return 0;
  return clause.type.ends_with("/*") ? 1 : 2;
}

std::optional<AcceptedForm> resource_form(const MediaClause& clause) {
  const std::string_view as = clause.parameter("as");
  if (as.empty()) return AcceptedForm{};
  const std::string_view version = clause.parameter("v");
  if (clause.parameter("g") != "meta.k8s.io") return std::nullopt;
  if (version != "v1" && version != "v1beta1") return std::nullopt;
  AcceptedForm form{.version = std::string(version)};
  if (as == "Table") {
    form.form = AnswerForm::kTable;
  } else if (as == "PartialObjectMetadata") {
    form.form = AnswerForm::kPartialMetadata;
  } else if (as == "PartialObjectMetadataList") {
    form.form = AnswerForm::kPartialMetadataList;
  } else {
    return std::nullopt;
  }
  return form;
}

std::optional<AcceptedForm> discovery_form(const MediaClause& clause) {
  const std::string_view as = clause.parameter("as");
  if (as.empty()) return AcceptedForm{};
  const std::string version(clause.parameter("v"));
  const bool known = as == "APIGroupDiscoveryList" &&
                     clause.parameter("g") == "apidiscovery.k8s.io" &&
                     (version == "v2" || version == "v2beta1");
  if (!known) return std::nullopt;
  return AcceptedForm{
      AnswerForm::kAggregatedDiscovery, version,
      "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList"};
}

std::optional<AcceptedForm> form_of(const MediaClause& clause, Endpoint endpoint) {
  const bool ours = clause.type == kJsonType || clause.type == kYamlType ||
                    clause.type == kProtobufType || clause.type == "*/*" ||
                    clause.type == "application/*";
  if (!ours || clause.quality == 0) return std::nullopt;
  auto form = endpoint == Endpoint::kResource ? resource_form(clause) : discovery_form(clause);
  if (form && clause.type == kYamlType && form->form != AnswerForm::kAggregatedDiscovery) {
    form->content_type = kYamlType;
  }
  return form;
}

}  // namespace

Result<AcceptedForm> negotiate(std::string_view accept, Endpoint endpoint) {
  if (trimmed(accept).empty()) return AcceptedForm{};
  std::vector<MediaClause> clauses;
  for (const std::string_view part : split_unquoted(accept, ',')) {
    clauses.push_back(media_clause(part));
  }
  std::stable_sort(clauses.begin(), clauses.end(), [](const auto& left, const auto& right) {
    if (left.quality != right.quality) return left.quality > right.quality;
    return exactness(left) > exactness(right);
  });
  for (const MediaClause& clause : clauses) {
    if (auto form = form_of(clause, endpoint)) return *std::move(form);
  }
  return Error{Code::kInvalid,
               "406: Not Acceptable\n\nAvailable representations: application/json, "
               "application/yaml, application/vnd.kubernetes.protobuf, "
               "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"};
}

Result<BodyFormat> object_body_format(std::string_view content_type) {
  const std::string type = media_clause(content_type).type;
  if (type.empty() || type == kJsonType) return BodyFormat::kJson;
  if (type == kYamlType) return BodyFormat::kYaml;
  return Error{Code::kInvalid,
               "the body of the request was in an unknown format - accepted media types include: "
               "application/json, application/yaml"};
}

}  // namespace corehold
