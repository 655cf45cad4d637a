// SPDX-License-Identifier: Apache-2.0
//
// The state diagrams of docs/architecture.md against the manager: every arrow that is drawn is
// taken in random histories, and every change of state that they see is drawn. The same holds for
// the table of the states that a container has in both halves at once.
//
// A diagram is a block of mermaid under `<!-- states: Stage -->`, with the name of the enum; each
// line with `-->` is an arrow. The table stands under `<!-- states: Stage and Presence -->`.
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/asking_story.h"
#include "sim/story.h"

namespace corehold {
namespace {

// So many that the rarest change is seen about ten times.
constexpr std::uint64_t kCommands = 60'000;
constexpr std::uint64_t kAskingCommands = 120'000;
constexpr int kActs = 600;  // of one story

const std::string& architecture() {
  static const std::string kText = [] {
    std::ifstream file(COREHOLD_SOURCE_DIR "/docs/architecture.md");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return kText;
}

// What follows the mark, up to the next mark or heading.
std::string section(const std::string& name) {
  const std::string mark = fmt::format("<!-- states: {} -->", name);
  const std::size_t start = architecture().find(mark);
  if (start == std::string::npos) return "";
  const std::size_t from = start + mark.size();
  const std::size_t end =
      std::min(architecture().find("<!-- states:", from), architecture().find("\n## ", from));
  return architecture().substr(from, end - from);
}

std::set<StateChange> drawn(const std::string& name) {
  const std::regex arrow(R"(^\s*(\[\*\]|\w+) --> (\[\*\]|\w+))");
  std::set<StateChange> arrows;
  std::istringstream lines(section(name));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, arrow)) arrows.insert({match[1], match[2]});
  }
  return arrows;
}

// "kRunning kRunning" for each row "| `kRunning` | `kRunning` | ...".
std::set<std::string> pairs_in_table() {
  const std::regex row(R"(^\| `?(\w+)`? \| `(\w+)` \|)");
  std::set<std::string> pairs;
  std::istringstream lines(section("Stage and Presence"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, row)) pairs.insert(match[1].str() + " " + match[2].str());
  }
  return pairs;
}

// Nodes that run their containers themselves.
void tell_stories(StateChanges& changes) {
  std::uint64_t commands = 0;
  for (std::uint64_t seed = 1; commands < kCommands; ++seed) {
    Dice dice(seed);
    const StoryNode node = random_node(dice, 12);
    Story story(node, seed, {});
    story.world().watch(changes);
    for (int act = 0; act < kActs; ++act) {
      if (!story.act()) ADD_FAILURE() << "promise broken, story " << seed;
    }
    story.finish();
    commands += story.world().commands();
  }
}

// Nodes on which somebody else runs the containers.
void tell_asking_stories(StateChanges& changes) {
  std::uint64_t commands = 0;
  for (std::uint64_t seed = 1; commands < kAskingCommands; ++seed) {
    Dice dice(seed);
    StoryNode node = random_node(dice, 12);
    let_somebody_else_run(node);
    AskingStory story(node, seed, {});
    story.watch(changes);
    for (int act = 0; act < kActs; ++act) {
      if (!story.act()) ADD_FAILURE() << "promise broken, asking story " << seed;
    }
    story.finish();
    commands += story.world().commands();
  }
}

// The same histories for all tests.
const StateChanges& changes() {
  static const StateChanges kAll = [] {
    StateChanges found;
    tell_stories(found);
    tell_asking_stories(found);
    return found;
  }();
  return kAll;
}

class StateDiagram : public testing::TestWithParam<const char*> {};

TEST_P(StateDiagram, ShowsTheChangesThatHappenAndNoOthers) {
  const std::set<StateChange> arrows = drawn(GetParam());
  const std::set<StateChange>& seen = changes().seen().at(GetParam());
  ASSERT_FALSE(arrows.empty()) << "docs/architecture.md has no diagram of " << GetParam();
  for (const StateChange& change : seen) {
    EXPECT_TRUE(arrows.contains(change))
        << GetParam() << " goes from " << change.from << " to " << change.to
        << ", which docs/architecture.md does not draw";
  }
  for (const StateChange& arrow : arrows) {
    EXPECT_TRUE(seen.contains(arrow))
        << "docs/architecture.md draws " << GetParam() << " going from " << arrow.from << " to "
        << arrow.to << ", which never happens";
  }
}

INSTANTIATE_TEST_SUITE_P(All, StateDiagram,
                         testing::Values("Stage", "Presence", "Standing", "Course"),
                         [](const auto& param) { return std::string(param.param); });

TEST(StateTable, ShowsTheStatesThatContainersHaveInBothHalves) {
  EXPECT_EQ(pairs_in_table(), changes().pairs());
}

}  // namespace
}  // namespace corehold
