// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest.h"

#include <utility>

#include "pod/pod_json.h"

namespace corehold {
namespace {

Result<Pod> parse_manifest(std::string_view text) {
  boost::json::value document = TRY(parse_json(text));
  if (!document.is_object()) return Error{Code::kInvalid, "not an object"};
  return pod_from_json(std::move(document.get_object()));
}

}  // namespace

KeptPod read_kept_pod(std::string_view text) {
  if (text.empty()) return {};
  auto pod = parse_manifest(text);
  if (!pod) return {.error = pod.error().message};
  return {.pod = std::make_shared<const Pod>(*std::move(pod))};
}

}  // namespace corehold
