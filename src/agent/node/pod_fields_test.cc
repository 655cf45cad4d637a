// SPDX-License-Identifier: Apache-2.0
//
// Whether the process runtime has decided about every field that the API takes, and whether
// docs/node.md says so.
#include "runtime/workspace/pod_fields.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/object/core_types.h"

namespace corehold {
namespace {

// The type of what a field holds, itself or in a list; null: no fields.
const StructType* inner_type(const FieldType& type) {
  if (type.kind == FieldKind::kList) return inner_type(*type.element);
  return type.kind == FieldKind::kStruct ? type.fields : nullptr;
}

std::vector<const PodField*> rows_of(std::string_view type, std::string_view name) {
  std::vector<const PodField*> rows;
  for (const PodField& field : pod_fields()) {
    if (field.type == type && field.name == name) rows.push_back(&field);
  }
  return rows;
}

// Types in the order of their first row.
std::vector<std::string> types() {
  std::vector<std::string> names;
  for (const PodField& field : pod_fields()) {
    const std::string name(field.type);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

TEST(PodFields, HaveExactlyOneUseEach) {
  std::set<std::string> seen;
  std::vector<const StructType*> left{core_type("PodSpec")};
  while (!left.empty()) {
    const StructType* type = left.back();
    left.pop_back();
    ASSERT_NE(type, nullptr);
    if (!seen.insert(type->name).second) continue;
    for (const StructField& field : type->fields) {
      const auto rows = rows_of(type->name, field.name);
      ASSERT_EQ(rows.size(), 1U) << type->name << "." << field.name
                                 << " must be in the table of pod_fields.cc once";
      const StructType* inner = inner_type(field.type);
      const bool is_honoured = rows[0]->use == FieldUse::kHonoured;
      EXPECT_EQ(rows[0]->inner, is_honoured && inner != nullptr ? inner->name : "")
          << type->name << "." << field.name;
      EXPECT_EQ(rows[0]->why.empty(), rows[0]->use != FieldUse::kRefused)
          << type->name << "." << field.name;
      if (is_honoured && inner != nullptr) left.push_back(inner);
    }
  }
  for (const std::string& name : types()) {
    EXPECT_TRUE(seen.contains(name)) << "nothing that is honoured is a " << name;
  }
}

TEST(PodFields, AreAllFieldsOfTheApi) {
  for (const PodField& field : pod_fields()) {
    const StructType* type = core_type(field.type);
    ASSERT_NE(type, nullptr) << field.type;
    EXPECT_NE(type->find(field.name), nullptr) << field.type << "." << field.name;
  }
}

TEST(PodFields, AreInTheDocumentation) {
  std::ifstream file(COREHOLD_SOURCE_DIR "/docs/node.md");
  std::stringstream text;
  text << file.rdbuf();
  const auto listed = [](const std::string& type, FieldUse use) {
    std::vector<std::string> names;
    for (const PodField& field : pod_fields()) {
      if (field.type != type || field.use != use) continue;
      std::string name = fmt::format("`{}`", field.name);
      if (!field.allowed.empty()) {
        std::string allowed(field.allowed);
        for (std::size_t at = 0; (at = allowed.find('|', at)) != std::string::npos;) {
          allowed.replace(at, 1, "`, `");
        }
        name += fmt::format(" (but for `{}`)", allowed);
      }
      names.push_back(std::move(name));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  };
  std::string expected;
  for (const std::string& type : types()) {
    expected +=
        fmt::format("| {} | {} | {} | {} |\n", type, listed(type, FieldUse::kHonoured),
                    listed(type, FieldUse::kWithoutEffect), listed(type, FieldUse::kRefused));
  }
  EXPECT_THAT(text.str(), testing::HasSubstr(expected)) << "these rows belong there:\n" << expected;
}

}  // namespace
}  // namespace corehold
