// SPDX-License-Identifier: Apache-2.0
#include "pod/podinfo_request.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

TEST(PodInfoRequest, IsADirectoryOfTheContainer) {
  EXPECT_EQ(*podinfo_directory({}), std::nullopt);
  EXPECT_EQ(*podinfo_directory({{"corehold.dev/podinfo", "/etc/podinfo"}}), "/etc/podinfo");
  EXPECT_EQ(*parse_podinfo_directory("/a"), "/a");
  EXPECT_EQ(*parse_podinfo_directory("/a/..b/.c"), "/a/..b/.c");
}

TEST(PodInfoRequest, IsWrittenTheShortestWay) {
  for (const char* text : {"", "/", "//", "etc/podinfo", "/etc/", "/etc//podinfo", "/etc/../x",
                           "/etc/./x", "/..", "./x", "/a\nb", "/a\x7f"}) {
    EXPECT_FALSE(parse_podinfo_directory(text)) << text;
  }
  EXPECT_FALSE(parse_podinfo_directory("/" + std::string(4095, 'a')));
  EXPECT_EQ(parse_podinfo_directory("etc").error().message,
            "\"etc\" is not an absolute path below / without \".\", \"..\" and needless slashes, "
            "such as /etc/podinfo");
}

TEST(PodInfoRequest, HidesAndIsHiddenByAVolumeThereOrBelow) {
  EXPECT_TRUE(hides_podinfo("/etc/podinfo", "/etc/podinfo"));
  EXPECT_TRUE(hides_podinfo("/etc/podinfo/", "/etc/podinfo"));
  EXPECT_TRUE(hides_podinfo("/etc/podinfo/more", "/etc/podinfo"));
  EXPECT_TRUE(hides_podinfo("/etc//podinfo", "/etc/podinfo"));
  EXPECT_TRUE(hides_podinfo("/etc/./podinfo/x/..", "/etc/podinfo"));
  EXPECT_FALSE(hides_podinfo("/etc/podinfo/..", "/etc/podinfo"));
  EXPECT_FALSE(hides_podinfo("/etc/podinfos", "/etc/podinfo"));
  EXPECT_FALSE(hides_podinfo("/etc", "/etc/podinfo")) << "it is mounted first, and these inside";
  EXPECT_FALSE(hides_podinfo("/", "/etc/podinfo"));
}

}  // namespace
}  // namespace corehold
