// SPDX-License-Identifier: Apache-2.0
//
// Damage of every record of every container at every start of random histories, with processes
// of this machine: what runs goes on and is known again, or is refused with the name of the file,
// and --recover makes the records anew. A few histories in ctest; the proof is
//
//   COREHOLD_HISTORIES=500 build/debug/src/runtime/runtime_host_test --gtest_filter='*Damage*'
//
// COREHOLD_SEED is the first history's seed, COREHOLD_KINDS the number of ways, drawn at random, in
// which each file is damaged (default: all seven).
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/process/process_containers_testing.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kAtOnce{1};
constexpr int kFewHistories = 2;

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

enum class Kind { kFlip, kTruncate, kEmpty, kRemove, kDirectory, kLink, kFifo };
constexpr std::array kKinds{Kind::kFlip,      Kind::kTruncate, Kind::kEmpty, Kind::kRemove,
                            Kind::kDirectory, Kind::kLink,     Kind::kFifo};
constexpr std::array kKindNames{"flip", "truncate", "empty", "remove", "directory", "link", "fifo"};

struct Counts {
  int damaged = 0;
  int harmless = 0;
  int refused = 0;
  int recovered = 0;
};

using Files = std::map<std::string, std::string>;  // content, by path below containers/

class DamagedRecordsOnHost : public ProcessContainers {
 protected:
  struct Live {
    Launch launch{};
    pid_t main = 0;
    std::optional<int> code{};  // it has ended so, and no agent has seen it
  };

  DamagedRecordsOnHost() { bench_.set_list_timeout(kAtOnce); }
  ~DamagedRecordsOnHost() override { end_all(); }

  int below(int end) { return static_cast<int>(dice_() % static_cast<unsigned>(end)); }
  std::string top() const { return bench_.root() + "/containers"; }

  void begin() {
    Live live{.launch =
                  bench_.shell(fmt::format("c{}", ++serial_),
                               "trap 'exit 3' TERM; echo main $$; while :; do sleep 1000 & wait; "
                               "done",
                               below(2) == 0 ? "0" : "1")};
    live.launch.attempt = below(3);
    live.launch.log_path += fmt::format(".{}", live.launch.attempt);
    if (below(2) == 0) live.launch.placement.owner = CpuOwner::kSharedPool;
    ASSERT_TRUE(bench_.start(live.launch));
    live.main = pid_after(live.launch, "main ");
    ASSERT_GT(live.main, 0);
    live_.push_back(std::move(live));
  }

  std::vector<std::size_t> some_kinds() {
    std::vector<std::size_t> kinds(kKinds.size());
    std::iota(kinds.begin(), kinds.end(), 0U);
    const int wanted = number_from("COREHOLD_KINDS", static_cast<int>(kinds.size()));
    while (kinds.size() > static_cast<std::size_t>(wanted)) {
      kinds.erase(kinds.begin() + below(static_cast<int>(kinds.size())));
    }
    return kinds;
  }

  // Ends while no agent is there.
  void end(Live& live) {
    const ContainerDirectory directory =
        ContainerDirectory::of(bench_.root(), live.launch.container);
    const auto supervisor = directory.read_supervisor();
    ASSERT_TRUE(supervisor);
    ::kill(live.main, SIGTERM);
    ASSERT_TRUE(bench_.eventually(
        [&] { return directory.read_exit().has_value() && !is_running(supervisor->process); }));
    live.code = directory.read_exit()->exit.code;
    EXPECT_EQ(live.code, 3);
  }

  void end_all() {
    for (const Live& live : live_) ::kill(live.main, SIGKILL);
    for (const Live& live : live_) is_gone(live.main);
    live_.clear();
    bench_.restart([](const ContainerRef&) { return KnownContainer{}; });
    bench_.eventually([&] {
      const auto seen = bench_.list();
      if (!seen) return false;
      for (const SeenContainer& each : *seen) {
        if (each.running || !bench_.remove(each.container)) return false;
      }
      return true;
    });
    fs::remove_all(top());
  }

  Files copy() const {
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(top())) {
      if (!entry.is_regular_file()) continue;
      files[fs::relative(entry.path(), top()).string()] =
          *read_file(entry.path().string(), std::size_t{1} << 20U);
    }
    return files;
  }
  void bring_back(const Files& files) const {
    for (const auto& entry : fs::directory_iterator(top())) fs::remove_all(entry.path());
    for (const auto& [name, content] : files) {
      fs::create_directories((fs::path(top()) / name).parent_path());
      std::ofstream(top() + "/" + name) << content;
    }
  }

  void damage(const std::string& name, const std::string& content, Kind kind) {
    const std::string path = top() + "/" + name;
    const auto at = static_cast<std::size_t>(below(static_cast<int>(content.size())));
    std::string other = content;
    fs::remove(path);
    switch (kind) {
      case Kind::kFlip:
        other[at] = static_cast<char>(other[at] ^ (1 << below(8)));
        std::ofstream(path) << other;
        break;
      case Kind::kTruncate:
        std::ofstream(path) << content.substr(0, at);
        break;
      case Kind::kEmpty:
        std::ofstream(path) << "";
        break;
      case Kind::kRemove:
        break;
      case Kind::kDirectory:
        fs::create_directory(path);
        break;
      case Kind::kLink:
        fs::create_symlink("/nowhere/at/all", path);
        break;
      case Kind::kFifo:
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
        break;
    }
  }

  // Each container is what it is. Where its own records of a start that is over, or of its end,
  // are damaged, how it ended may be unknown.
  void expect_all(const std::vector<SeenContainer>& seen, const std::string& damaged) {
    for (const Live& live : live_) {
      SCOPED_TRACE(live.launch.container.container);
      EXPECT_FALSE(live.code ? false : has_ended(live.main)) << "it was killed";
      const auto found = std::find_if(seen.begin(), seen.end(), [&](const SeenContainer& each) {
        return each.container == live.launch.container;
      });
      ASSERT_NE(found, seen.end());
      EXPECT_EQ(found->running, !live.code);
      EXPECT_EQ(found->attempt, live.launch.attempt);
      if (!live.code) continue;
      const std::string record = fmt::format("{}/{}/exit.json", live.launch.container.pod,
                                             live.launch.container.container);
      ASSERT_TRUE(found->exit);
      if (damaged == record && found->exit->cause == ExitCause::kUnknown) continue;
      EXPECT_EQ(found->exit->code, *live.code);
    }
  }

  void start_on(const Files& left, const std::string& name, Kind kind, Counts& counts) {
    ++counts.damaged;
    bring_back(left);
    damage(name, left.at(name), kind);
    bench_.restart();
    const auto seen = bench_.list();
    if (seen) {
      ++counts.harmless;
      return expect_all(*seen, name);
    }
    ++counts.refused;
    EXPECT_THAT(seen.error().message, AllOf(HasSubstr(top() + "/" + name), HasSubstr("--recover")));
    for (const auto& [other, content] : left) {
      if (other == name) continue;
      EXPECT_EQ(*read_file(top() + "/" + other, std::size_t{1} << 20U), content)
          << other << " was changed by a refused start";
    }
    bench_.restart([&](const ContainerRef& container) {
      for (const Live& live : live_) {
        if (live.launch.container != container) continue;
        return KnownContainer{.attempt = live.launch.attempt, .manifest = live.launch.manifest};
      }
      return KnownContainer{};
    });
    const auto recovered = bench_.list();
    ASSERT_TRUE(recovered) << recovered.error().message;
    ++counts.recovered;
    expect_all(*recovered, name);
    if (kind != Kind::kRemove) {
      bool is_aside = false;
      const fs::path path = fs::path(top()) / name;
      for (const auto& entry : fs::directory_iterator(path.parent_path())) {
        is_aside |=
            entry.path().filename().string().starts_with(path.filename().string() + ".corrupt-");
      }
      EXPECT_TRUE(is_aside) << name << " was not moved aside";
    }
    bench_.restart();
    const auto again = bench_.list();
    ASSERT_TRUE(again) << again.error().message;
    expect_all(*again, name);
  }

  void tell(Counts& counts) {
    for (int lives = 1 + below(2); lives > 0; --lives) {
      for (int more = 1 + below(2); more > 0; --more) ASSERT_NO_FATAL_FAILURE(begin());
      bench_.restart();
      for (Live& live : live_) {
        if (live.code || below(3) > 0) continue;
        ASSERT_NO_FATAL_FAILURE(end(live));
      }
      const Files left = copy();
      for (const auto& [name, content] : left) {
        for (const std::size_t kind : some_kinds()) {
          SCOPED_TRACE(fmt::format("{} {}", kKindNames.at(kind), name));
          ASSERT_NO_FATAL_FAILURE(start_on(left, name, kKinds.at(kind), counts));
          if (HasFailure()) return;
        }
      }
      bring_back(left);
      bench_.restart();
      const auto seen = bench_.list();
      ASSERT_TRUE(seen) << seen.error().message;
      expect_all(*seen, "");
    }
    end_all();
  }

  std::mt19937 dice_{1};
  std::vector<Live> live_;
  int serial_ = 0;
};

TEST_F(DamagedRecordsOnHost, AreHarmlessOrRefusedByNameAndMadeAnewOnRequest) {
  Counts counts;
  const int first = number_from("COREHOLD_SEED", 1);
  const int histories = number_from("COREHOLD_HISTORIES", kFewHistories);
  for (int seed = first; seed < first + histories && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    dice_.seed(static_cast<unsigned>(seed));
    tell(counts);
  }
  std::printf(
      "%d histories; %d starts with a damaged record: %d harmless, %d refused, %d recovered\n",
      histories, counts.damaged, counts.harmless, counts.refused, counts.recovered);
  EXPECT_GT(counts.refused, 0);
  EXPECT_GT(counts.harmless, 0);
}

// A container that is stopped is told so, though the record of its main process is missing.
TEST_F(DamagedRecordsOnHost, TheMainProcessIsFoundWithoutItsRecord) {
  ASSERT_NO_FATAL_FAILURE(begin());
  const ContainerRef container = live_[0].launch.container;
  fs::remove(ContainerDirectory::of(bench_.root(), container).path() + "/main.json");
  bench_.restart();
  ASSERT_TRUE(bench_.list());
  ASSERT_TRUE(bench_.stop(container, std::chrono::hours(1)));
  const auto exit = bench_.wait_for_exit();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit.code, 3);
}

// All records are those of an earlier attempt, as after a backup was restored.
TEST_F(DamagedRecordsOnHost, OfAnEarlierStartAreMadeAnewOnRequest) {
  ASSERT_NO_FATAL_FAILURE(begin());
  const Files before = copy();
  Launch next = live_[0].launch;
  ::kill(live_[0].main, SIGKILL);
  ASSERT_TRUE(bench_.wait_for_exit());
  next.attempt += 1;
  next.log_path += ".next";
  ASSERT_TRUE(bench_.start(next));
  live_[0] = {.launch = next, .main = pid_after(next, "main ")};
  bring_back(before);
  bench_.restart();
  const auto seen = bench_.list();
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message,
              AllOf(HasSubstr(ContainerDirectory::of(bench_.root(), next.container).path() +
                              " is of an earlier start"),
                    HasSubstr("--recover")));
  bench_.restart([&](const ContainerRef&) { return KnownContainer{.attempt = next.attempt}; });
  const auto recovered = bench_.list();
  ASSERT_TRUE(recovered) << recovered.error().message;
  expect_all(*recovered, "");
}

}  // namespace
}  // namespace corehold
