// SPDX-License-Identifier: Apache-2.0
#include "cli/apply/manifest_files.h"

#include <unistd.h>

#include <fmt/format.h>

#include "api/json/json_look.h"
#include "pod/pod_yaml.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxManifestBytes = std::size_t{4} << 20U;

Result<std::vector<Pod>> read_pods(const std::string& file) {
  const bool is_stdin = file == "-";
  const std::string name = is_stdin ? "standard input" : file;
  const std::string text = is_stdin ? TRY(read_stream(STDIN_FILENO, name, kMaxManifestBytes))
                                    : TRY(read_file(file, kMaxManifestBytes));
  auto pods = read_manifest(text);
  if (!pods) return wrap(name, pods.error());
  return pods;
}

}  // namespace

Result<std::vector<Pod>> read_manifests(const ManifestFiles& manifests) {
  std::vector<Pod> all;
  for (const std::string& file : manifests.files) {
    for (Pod& pod : TRY(read_pods(file))) {
      if (!manifests.namespace_name.empty()) {
        // The one that the pod itself names, as read_manifest() has filled in the usual one.
        const std::string_view own = look_text(pod.raw, {"metadata", "namespace"});
        if (!own.empty() && own != manifests.namespace_name) {
          return Error{Code::kConflict, fmt::format("{}: pod {} is not in namespace {} of -n", file,
                                                    display_name(pod), manifests.namespace_name)};
        }
        pod.namespace_name = manifests.namespace_name;
      }
      all.push_back(std::move(pod));
    }
  }
  return all;
}

}  // namespace corehold
