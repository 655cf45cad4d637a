// SPDX-License-Identifier: Apache-2.0
#include "agent/api/resource_path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "serve/http_target.h"

namespace corehold {
namespace {

// "resource namespace/name subresource", or "none".
std::string path(const std::string& text) {
  const auto found = resource_path(HttpTarget::parse(text)->path);
  if (!found) return "none";
  return fmt::format("{} {}/{} {}", info_of(found->resource).name, found->namespace_name,
                     found->name, found->subresource);
}

TEST(ResourcePath, NamesWhatIsServed) {
  EXPECT_EQ(path("/api/v1/pods"), "pods / ");
  EXPECT_EQ(path("/api/v1/namespaces/a/pods"), "pods a/ ");
  EXPECT_EQ(path("/api/v1/namespaces/a/pods/p"), "pods a/p ");
  EXPECT_EQ(path("/api/v1/namespaces/a/pods/p/log"), "pods a/p log");
  EXPECT_EQ(path("/api/v1/namespaces/a/events"), "events a/ ");
  EXPECT_EQ(path("/api/v1/nodes/n/status"), "nodes /n status");
  EXPECT_EQ(path("/api/v1/namespaces"), "namespaces / ");
  EXPECT_EQ(path("/api/v1/namespaces/pods"), "namespaces /pods ");
}

TEST(ResourcePath, IsNoneForEverythingElse) {
  for (const char* const text :
       {"/api/v1", "/api/v2/pods", "/api/v1/nopes", "/api/v1/pods/p", "/api/v1/namespaces/a/nodes",
        "/api/v1/namespaces/a/pods/p/nope", "/api/v1/namespaces/a/pods/p/log/x",
        "/api/v1/nodes/n/log", "/apis/v1/pods"}) {
    EXPECT_EQ(path(text), "none") << text;
  }
}

}  // namespace
}  // namespace corehold
