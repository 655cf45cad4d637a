// SPDX-License-Identifier: Apache-2.0
//
// Every configuration that the documents show is one that `corehold config check` takes:
// fenced blocks of README.md and docs/*.md, and the files of docs/examples.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/config/config_render.h"
#include "config/read_config.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSize = std::size_t{4} << 20U;

bool is_config(std::string_view text) {
  return text.find("kind: KubeletConfiguration") != std::string_view::npos ||
         text.find("kind: CoreholdConfiguration") != std::string_view::npos;
}

// The fenced blocks of a Markdown text that are marked yaml, by the line they begin at.
std::map<int, std::string> yaml_blocks(std::string_view text) {
  std::map<int, std::string> blocks;
  bool is_inside = false;
  bool is_yaml = false;
  int line_number = 0;
  int first = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    ++line_number;
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      is_yaml = is_inside && (line.starts_with("```yaml") || line.starts_with("```yml"));
      first = line_number + 1;
    } else if (is_yaml) {
      blocks[first] += line;
    }
  }
  return blocks;
}

// All configurations of the repository's documents, by where they are.
std::map<std::string, std::string> examples() {
  const fs::path root(COREHOLD_SOURCE_DIR);
  std::vector<fs::path> pages{root / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::map<std::string, std::string> found;
  for (const fs::path& page : pages) {
    const auto text = read_file(page.string(), kMaxSize);
    EXPECT_TRUE(text) << page;
    if (!text) continue;
    for (const auto& [line, block] : yaml_blocks(*text)) {
      const std::string where = fmt::format("{}:{}", fs::relative(page, root).string(), line);
      if (is_config(block)) found[where] = block;
    }
  }
  for (const auto& entry : fs::directory_iterator(root / "docs" / "examples")) {
    const auto text = read_file(entry.path().string(), kMaxSize);
    EXPECT_TRUE(text) << entry.path();
    if (text && is_config(*text)) found[fs::relative(entry.path(), root).string()] = *text;
  }
  return found;
}

TEST(ConfigExamples, AreAllWithoutMistakes) {
  const auto found = examples();
  EXPECT_GE(found.size(), 4U) << "the examples are not where they were";
  for (const auto& [where, text] : found) {
    for (const ConfigRemark& mistake : read_config(text).mistakes) {
      ADD_FAILURE() << render_remark(where, mistake);
    }
  }
}

TEST(ConfigExamples, AreFoundInFencedBlocks) {
  const auto blocks = yaml_blocks("a\n```yaml\nx: 1\n```\n```\ny: 2\n```\n```yaml\nz: 3");
  EXPECT_EQ(blocks, (std::map<int, std::string>{{3, "x: 1\n"}, {9, "z: 3"}}));
}

}  // namespace
}  // namespace corehold
