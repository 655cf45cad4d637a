// SPDX-License-Identifier: Apache-2.0
//
// For tests of the configuration: documents from a few lines, remarks as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/read_config.h"

namespace corehold {

// Line 1 is apiVersion, line 2 kind; `fields` begins at line 3.
inline std::string kubelet(std::string_view fields) {
  return fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{}",
                     fields);
}

inline std::string corehold_document(std::string_view fields) {
  return fmt::format("apiVersion: corehold.dev/v1alpha1\nkind: CoreholdConfiguration\n{}", fields);
}

// "3: field: message"
inline std::vector<std::string> texts_of(const std::vector<ConfigRemark>& remarks) {
  std::vector<std::string> texts;
  texts.reserve(remarks.size());
  for (const ConfigRemark& remark : remarks) {
    texts.push_back(fmt::format("{}: {}{}{}", remark.line, remark.field,
                                remark.field.empty() ? "" : ": ", remark.message));
  }
  return texts;
}

inline std::vector<std::string> mistakes_in(std::string_view text) {
  return texts_of(read_config(text).mistakes);
}

}  // namespace corehold
