// SPDX-License-Identifier: Apache-2.0
#include "kernel/testing.h"

#include <stdlib.h>

#include <cstddef>
#include <fstream>

#include "base/check.h"
#include "sys/file/directory.h"

namespace corehold {

MadeFiles::MadeFiles() {
  const char* const place = ::getenv("TMPDIR");
  std::string pattern = std::string(place == nullptr ? "/tmp" : place) + "/kernel-XXXXXX";
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  root_ = pattern;
}

MadeFiles::~MadeFiles() { static_cast<void>(remove_tree(root_)); }

void MadeFiles::write(const std::string& path, std::string_view content) {
  const std::string whole = root_ + "/" + path;
  CHECK(make_directories(whole.substr(0, whole.rfind('/')), 0755));
  std::ofstream file(whole, std::ios::trunc);
  file << content;
  CHECK(file.good());
}

}  // namespace corehold
