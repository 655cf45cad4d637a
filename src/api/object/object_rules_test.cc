// SPDX-License-Identifier: Apache-2.0
#include "api/object/object_rules.h"

#include <string>

#include <gtest/gtest.h>

namespace corehold {
namespace {

bool is_dns_label(std::string_view text) { return dns_label_problems(text).empty(); }
bool is_dns_subdomain(std::string_view text) { return dns_subdomain_problems(text).empty(); }

TEST(DnsNames, AreWhatKubernetesTakes) {
  for (const char* name : {"a", "a-b", "0", "pg-0"}) EXPECT_TRUE(is_dns_label(name)) << name;
  for (const char* name : {"", "-a", "a-", "A", "a.b", "a/b", "..", "a_b"}) {
    EXPECT_FALSE(is_dns_label(name)) << name;
  }
  EXPECT_TRUE(is_dns_label(std::string(63, 'a')));
  EXPECT_FALSE(is_dns_label(std::string(64, 'a')));
  EXPECT_TRUE(is_dns_subdomain("a.b-c.d"));
  for (const char* name : {"", ".", "a..b", "a.", "../a"}) {
    EXPECT_FALSE(is_dns_subdomain(name)) << name;
  }
}

}  // namespace
}  // namespace corehold
