// SPDX-License-Identifier: Apache-2.0
#include "pod/pod_yaml.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "pod/pod_json.h"
#include "pod/yaml_document.h"

namespace corehold {
namespace {

Error no_pod() { return Error{Code::kInvalid, "no pod in the text"}; }

}  // namespace

Result<std::vector<Pod>> parse_pods_yaml(std::string_view text) {
  std::vector<boost::json::value> documents = TRY(parse_yaml(text));
  std::vector<Pod> pods;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    auto found = pods_from_json(std::move(documents[i]));
    if (!found && documents.size() == 1) return found.error();
    if (!found) return wrap(fmt::format("document {}", i + 1), found.error());
    pods.insert(pods.end(), std::make_move_iterator(found->begin()),
                std::make_move_iterator(found->end()));
  }
  return pods;
}

Result<std::vector<Pod>> read_pod_list(std::string_view text) {
  // YAML in braces is nearly always JSON, which is read faster and more strictly.
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return no_pod();
  std::vector<Pod> pods = TRY(text[start] == '{' ? parse_pods_json(text) : parse_pods_yaml(text));
  for (Pod& pod : pods) {
    set_defaults(pod);
    TRY(validate(pod));
  }
  return pods;
}

Result<std::vector<Pod>> read_manifest(std::string_view text) {
  std::vector<Pod> pods = TRY(read_pod_list(text));
  if (pods.empty()) return no_pod();
  return pods;
}

}  // namespace corehold
