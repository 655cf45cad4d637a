// SPDX-License-Identifier: Apache-2.0
//
// The manual page and completion, as made by the program and used by man and bash.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/shell/completion.h"
#include "cli/shell/manual.h"
#include "cli/testing.h"

namespace corehold {
namespace {

std::string shell(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char chunk[4096];
  for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof(chunk), pipe)) > 0;) {
    text.append(chunk, got);
  }
  ::pclose(pipe);
  return text;
}

std::set<std::string> lines(const std::string& text) {
  std::set<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) found.insert(line);
  return found;
}

// The first words of what complete says.
std::set<std::string> completions(const std::string& words) {
  std::set<std::string> found;
  for (const std::string& line : lines(run("complete -- " + words).text)) {
    found.insert(line.substr(0, line.find('\t')));
  }
  return found;
}

struct Help {
  std::string words{};  // "get pods "
  std::vector<std::string> options{};
};

// Every command there is, from the help texts alone.
void collect(const std::string& words, std::vector<Help>& all) {
  ASSERT_LT(all.size(), 100U) << "this does not end: " << words;
  const std::string text = run(words + "--help").text;
  Help help{.words = words};
  std::vector<std::string> commands;
  bool in_commands = false;
  static const std::regex kOption(R"(^  (-\S+?)(?:,(--\S+))?(?: .*)?$)");
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.front() != ' ') in_commands = line == "Subcommands:";
    if (line.starts_with("Examples:")) break;
    std::smatch match;
    if (in_commands && line.starts_with("  ") && line[2] != ' ') {
      commands.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
    } else if (!in_commands && std::regex_match(line, match, kOption)) {
      help.options.push_back(match[1]);
      if (match[2].matched) help.options.push_back(match[2]);
    }
  }
  all.push_back(std::move(help));
  for (const std::string& command : commands) collect(words + command + " ", all);
}

const std::vector<Help>& all_help() {
  static const std::vector<Help> kAll = [] {
    std::vector<Help> all;
    collect("", all);
    return all;
  }();
  return kAll;
}

// What is written once troff has had it, without breaks and overstrikes.
std::string rendered_manual() {
  return shell("'" COREHOLD_BINARY "' manual | LC_ALL=C.UTF-8 MANWIDTH=100 man -l -");
}

TEST(Manual, HasNothingThatManWarnsOf) {
  const std::string warnings =
      shell("'" COREHOLD_BINARY "' manual | LC_ALL=C.UTF-8 man --warnings=w -l - 2>&1 >/dev/null");
  EXPECT_EQ(warnings, "");
}

TEST(Manual, HasEveryCommandAndOption) {
  const std::string manual = rendered_manual();
  ASSERT_GT(all_help().size(), 15U);
  for (const Help& help : all_help()) {
    const std::string heading = fmt::format("\n   corehold {}[OPTIONS]", help.words);
    const std::size_t at = help.words.empty() ? manual.find("\nOPTIONS\n") : manual.find(heading);
    ASSERT_NE(at, std::string::npos) << help.words;
    const std::size_t end = std::min(manual.find("\n   corehold ", at + 1), manual.size());
    const std::string section = manual.substr(at, end - at);
    ASSERT_FALSE(help.options.empty()) << help.words;
    for (const std::string& option : help.options) {
      EXPECT_NE(section.find(option), std::string::npos) << help.words << option << section;
    }
  }
}

TEST(Manual, MakesTextHarmless) {
  CommandTree tree{.name = "corehold", .about = "a\\b"};
  tree.commands.push_back({.name = "x", .about = ".TH is text", .footer = "'quoted\n\n  x \\n"});
  const std::string page = manual_page(tree, "1");
  EXPECT_NE(page.find("a\\eb\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.TH is text.\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&'quoted\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\\fBx \\en\\fR\n"), std::string::npos) << page;
}

TEST(Completion, HasEveryCommandAndOption) {
  for (const Help& help : all_help()) {
    const std::set<std::string> options = completions(help.words + "-");
    for (const std::string& option : help.options) {
      EXPECT_TRUE(options.contains(option)) << help.words << option;
    }
    if (help.words.empty()) continue;
    const std::size_t last = help.words.rfind(' ', help.words.size() - 2);
    const std::size_t begin = last == std::string::npos ? 0 : last + 1;
    const std::string name = help.words.substr(begin, help.words.size() - begin - 1);
    EXPECT_TRUE(completions(help.words.substr(0, help.words.size() - 1)).contains(name))
        << help.words;
  }
}

TEST(Completion, KnowsWhatAnOptionTakes) {
  using Words = std::set<std::string>;
  EXPECT_EQ(completions("get pods -o ''"), (Words{"table", "wide", "json", "yaml"}));
  EXPECT_EQ(completions("get pods --output=j"), (Words{"json"}));
  EXPECT_EQ(completions("get pods --output = j"), (Words{"json"})) << "as bash splits it";
  EXPECT_EQ(completions("get cpus -o s"), (Words{"svg"}));
  EXPECT_EQ(completions("apply -f ''"), (Words{":files"}));
  EXPECT_EQ(completions("get pods --root ''"), (Words{":directories"}));
  EXPECT_EQ(completions("run --cpus 2 -- ''"), (Words{":files"}));
  EXPECT_EQ(completions("de"), (Words{"describe", "delete"}));
  EXPECT_EQ(completions("get po"), (Words{"pods"}));
  EXPECT_EQ(completions("res"), (Words{"resize"}));
  EXPECT_EQ(completions("resize ''"), (Words{"pod"}));
  EXPECT_EQ(completions("resize pod web --t"), (Words{"--timeout"}));
  EXPECT_EQ(completions("get po --wa"), (Words{"--watch"})) << "an alias is the command";
  EXPECT_EQ(completions("logs web more ''"), (Words{})) << "one pod only";
}

TEST(Completion, IsSilentWithoutAnAgent) {
  const Outcome outcome = run("complete -- get pods --root /nonexistent '' 2>&1");
  EXPECT_EQ(outcome.text, "");
  EXPECT_EQ(outcome.code, 0);
}

class BashTest : public testing::Test {
 protected:
  BashTest() { std::ofstream(script_) << run("completion bash").text; }
  ~BashTest() override { std::remove(script_.c_str()); }

  // What bash has to offer for the last of these words.
  std::set<std::string> offers(const std::string& words, int cursor) const {
    return lines(shell(fmt::format(
        "cd '{}' && bash --norc -c 'source {}; complete -p corehold >/dev/null || exit 1; "
        "COMP_WORDS=({} {}); COMP_CWORD={}; _corehold; printf \"%s\\n\" \"${{COMPREPLY[@]}}\"'",
        COREHOLD_SOURCE_DIR, script_, COREHOLD_BINARY, words, cursor)));
  }

  std::string script_ = testing::TempDir() + fmt::format("completion-{}.bash", ::getpid());
};

TEST_F(BashTest, CompletesCommandsOptionsValuesAndFiles) {
  using Words = std::set<std::string>;
  EXPECT_EQ(offers("g", 1), (Words{"get"}));
  EXPECT_EQ(offers("get \"\"", 2), (Words{"cpus", "pods", "nodes", "events"}));
  EXPECT_EQ(offers("get pods --field", 3), (Words{"--field-selector"}));
  EXPECT_EQ(offers("get pods --output = js", 5), (Words{"json"}));
  EXPECT_EQ(offers("get pods --output =", 4), (Words{"table", "wide", "json", "yaml"}));
  EXPECT_EQ(offers("apply -f docs/examples/node-p", 3), (Words{"docs/examples/node-pods.yaml"}));
  EXPECT_EQ(offers("config check docs/examples/node-p", 3),
            (Words{"docs/examples/node-pods.yaml"}));
}

TEST(CompletionScript, IsThereForThreeShells) {
  for (const char* name : {"bash", "zsh", "fish"}) {
    const Outcome script = run(fmt::format("completion {}", name));
    EXPECT_EQ(script.code, 0);
    EXPECT_NE(script.text.find("complete -- "), std::string::npos) << script.text;
  }
  EXPECT_EQ(run("completion csh 2>/dev/null").code, 2);
  EXPECT_EQ(run("completion 2>/dev/null").code, 2);
}

}  // namespace
}  // namespace corehold
