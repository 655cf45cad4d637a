// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(Manifest, IsReadBackAsThePod) {
  const KeptPod kept =
      read_kept_pod(R"({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main"}]}})");
  ASSERT_NE(kept.pod, nullptr) << kept.error;
  EXPECT_EQ(kept.pod->name, "a");
  EXPECT_NE(kept.pod->find("main"), nullptr);
}

TEST(Manifest, ThatIsBrokenSaysWhy) {
  for (const char* text : {"broken", "[]", R"({"spec": 1})"}) {
    const KeptPod kept = read_kept_pod(text);
    EXPECT_EQ(kept.pod, nullptr) << text;
    EXPECT_NE(kept.error, "") << text;
  }
}

TEST(Manifest, ThatWasNotKeptIsNoError) {
  EXPECT_EQ(read_kept_pod("").pod, nullptr);
  EXPECT_EQ(read_kept_pod("").error, "");
}

}  // namespace
}  // namespace corehold
