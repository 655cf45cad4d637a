// SPDX-License-Identifier: Apache-2.0
#include "config/read_config.h"

#include <array>
#include <optional>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "config/draft.h"
#include "config/reading.h"
#include "config/words.h"

namespace corehold {
namespace {

struct Kind {
  std::string_view name;
  std::string_view api_version;
  void (*read)(const Node& document, Draft& draft, Reading& reading);
};

constexpr std::array<Kind, 2> kKinds{{
    {"KubeletConfiguration", "kubelet.config.k8s.io/v1beta1", read_kubelet_fields},
    {"CoreholdConfiguration", "corehold.dev/v1alpha1", read_corehold_fields},
}};

// The member of that name, unless it is absent.
std::optional<Node> member_of(const Node& document, std::string_view name) {
  for (const auto& [key, member] : document.members()) {
    if (key == name && !member.is_absent()) return member;
  }
  return std::nullopt;
}

// Null: the document is of no known kind, which is reported.
const Kind* kind_of(const Node& document, Reading& reading) {
  constexpr std::array<std::string_view, 2> kNames{kKinds[0].name, kKinds[1].name};
  const auto node = member_of(document, "kind");
  if (!node) {
    reading.mistake(document,
                    fmt::format("kind is missing; there are {}", fmt::join(kNames, ", ")));
    return nullptr;
  }
  const auto position = choice_of(*node, kNames, reading);
  return position ? &kKinds[*position] : nullptr;
}

void check_api_version(const Node& document, const Kind& kind, Reading& reading) {
  const auto node = member_of(document, "apiVersion");
  if (!node) {
    return reading.mistake(
        document, fmt::format("apiVersion is missing; {} has {}", kind.name, kind.api_version));
  }
  const auto text = text_of(*node, reading);
  if (!text || *text == kind.api_version) return;
  reading.mistake(*node, fmt::format("{:?} is not known; {} has {}", clipped(*text), kind.name,
                                     kind.api_version));
}

}  // namespace

CheckedConfig read_config(std::string_view text) {
  Reading reading;
  if (text.size() > kMaxConfigBytes) {
    reading.problem({.message = fmt::format("{} bytes are more than the limit of {}", text.size(),
                                            kMaxConfigBytes)});
    return std::move(reading).finish({});
  }
  const YamlStream stream = parse_yaml_with_lines(text);
  for (const YamlProblem& problem : stream.problems) reading.problem(problem);
  if (stream.documents.empty() && stream.problems.empty()) {
    reading.problem({.line = 1,
                     .message = fmt::format("there is no configuration here; it begins with kind: "
                                            "{} or {}",
                                            kKinds[0].name, kKinds[1].name)});
  }
  Draft draft;
  std::array<int, kKinds.size()> first_lines{};
  for (const YamlDocument& document : stream.documents) {
    const Node node(document);
    if (!expect_object(node, reading)) continue;
    const Kind* kind = kind_of(node, reading);
    if (kind == nullptr) continue;
    int& first_line = first_lines[static_cast<std::size_t>(kind - kKinds.data())];
    if (first_line != 0) {
      reading.mistake(node, fmt::format("{} is there already, at line {}; put both into one",
                                        kind->name, first_line));
      continue;
    }
    first_line = node.line();
    check_api_version(node, *kind, reading);
    kind->read(node, draft, reading);
  }
  apply_rules(draft, reading);
  return std::move(reading).finish(std::move(draft.config));
}

}  // namespace corehold
