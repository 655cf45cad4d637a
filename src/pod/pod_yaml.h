// SPDX-License-Identifier: Apache-2.0
//
// Pods as YAML, and manifests in either language. YAML is read into JSON first
// (yaml_document.h), so a pod means the same in both.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "pod/pod.h"

namespace corehold {

// The pods of all documents of a stream, each a Pod or a list of them. Shapes only, as
// parse_pods_json.
Result<std::vector<Pod>> parse_pods_yaml(std::string_view text);

// The pods of a file that a person hands over, JSON or YAML, with the API's defaults
// and validated. A text without any pod is an error: nobody asks for nothing.
Result<std::vector<Pod>> read_manifest(std::string_view text);

// The same for a list that a program printed, which may have no items; only a text with
// nothing in it is an error.
Result<std::vector<Pod>> read_pod_list(std::string_view text);

}  // namespace corehold
