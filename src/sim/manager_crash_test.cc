// SPDX-License-Identifier: Apache-2.0
//
// A crash of the agent before and after every effect of a thousand random histories: a new
// agent brings the machine to rest with every promise kept, nothing that ran restarted,
// no pod and no CPU lost. At every third of these places also a power cut, which loses the records
// that were not synced.
#include <cstdio>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pod/restart_rules.h"
#include "sim/story.h"

namespace corehold {
namespace {

constexpr int kHistories = 1'000;
constexpr int kActs = 100;

struct Counts {
  std::uint64_t effects = 0;
  std::uint64_t crashes = 0;
  std::uint64_t recoveries = 0;  // of conditions of the machine that differ
  std::uint64_t adopted = 0;     // containers that ran at a crash
  std::uint64_t resizes = 0;     // of pods that were being resized at a crash, or waited for it
  std::uint64_t restarts = 0;    // of all containers of a pod, that were under way
  std::uint64_t commands = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t lost_records = 0;  // by power cuts
};

// Whether all containers of the pod are to start over, on record or not yet.
bool is_starting_over(const World& world, const PodRecord& record) {
  if (record.restart_all.under_way) return true;
  if (!world.rules().restart_all) return false;
  for (const auto& [ref, container] : world.machine().containers()) {
    if (ref.pod != record.pod.uid || container.running || !container.exit) continue;
    if (container.attempt < record.containers.at(ref.container).exits) continue;
    const Container& spec = *record.pod.find(ref.container);
    const auto action = restart_action(record.pod, spec, container.exit->code);
    if (action == RestartAction::kRestartAll) return true;
  }
  return false;
}

// What a new agent makes of the machine. Empty: all is well.
std::vector<std::string> recover(Story story, Counts& counts) {
  World& world = story.world();
  const auto before = world.machine().containers();
  const auto records = world.machine().records();
  const std::uint64_t commands = world.commands();
  std::set<std::string> starting_over;
  for (const auto& [uid, record] : records) {
    if (record.wish || is_resizing(record)) ++counts.resizes;
    if (is_starting_over(world, record)) starting_over.insert(uid);
  }
  counts.restarts += starting_over.size();
  world.crash();
  world.boot();
  std::vector<std::string> wrong = story.finish();
  counts.commands += world.commands() - commands;
  for (std::string& breach : world.breaches()) wrong.push_back(std::move(breach));
  for (const auto& [ref, container] : before) {
    if (!container.running) continue;
    ++counts.adopted;
    const auto record = records.find(ref.pod);
    if (record == records.end() || record->second.deleted_at != WallTime{}) continue;
    const Container* spec = record->second.pod.find(ref.container);
    if (spec->kind == Container::Kind::kSidecar) continue;
    if (starting_over.contains(ref.pod)) continue;
    // A resize may ask for a restart.
    const bool resizing = record->second.wish.has_value() || is_resizing(record->second);
    if (resizing && !spec->resize_policy.empty()) continue;
    const auto after = world.machine().containers().find(ref);
    if (after != world.machine().containers().end() && after->second.running &&
        after->second.attempt == container.attempt) {
      continue;
    }
    wrong.push_back(fmt::format("{}/{} did not outlive the agent", ref.pod, ref.container));
  }
  return wrong;
}

// The same after a power cut. Nothing has outlived it, but for what was synced.
std::vector<std::string> recover_from_power_cut(Story story, Counts& counts) {
  World& world = story.world();
  const std::uint64_t lost = world.machine().lost_records();
  world.crash();
  world.machine().reboot();
  world.boot();
  std::vector<std::string> wrong = story.finish();
  ++counts.power_cuts;
  counts.lost_records += world.machine().lost_records() - lost;
  for (std::string& breach : world.breaches()) wrong.push_back(std::move(breach));
  return wrong;
}

// Crashes here, unless a crash in this condition of the machine has been tried already.
void crash_here(const Story& story, std::uint64_t& tried, Counts& counts,
                const std::string& where) {
  ++counts.crashes;
  if (tried == story.world().machine().changes()) return;
  tried = story.world().machine().changes();
  ++counts.recoveries;
  const std::vector<std::string> wrong = recover(story, counts);
  ASSERT_TRUE(wrong.empty()) << "promise broken after a crash " << where << ": " << wrong.front();
  if (counts.recoveries % 3 != 0) return;
  const std::vector<std::string> dark = recover_from_power_cut(story, counts);
  ASSERT_TRUE(dark.empty()) << "promise broken by a power cut " << where << ": " << dark.front();
}

void tell(std::uint64_t seed, Counts& counts) {
  Dice dice(seed);
  const StoryNode node = random_node(dice, 10);
  Story story(node, seed, {.faults = 4, .drift = 1, .offline = 1, .crashes = 0});
  std::uint64_t tried = ~std::uint64_t{0};
  for (int act = 0; act < kActs; ++act) {
    const auto moves = story.world().moves();
    if (moves.empty() || story.dice().chance(20)) {
      story.happen();
      continue;
    }
    const auto which = story.dice().roll(0, static_cast<int>(moves.size()) - 1);
    const World::Move& move = moves[static_cast<std::size_t>(which)];
    if (move.arrives) {
      story.world().make(move, Fault::kNone);
      continue;
    }
    ++counts.effects;
    const std::string where = fmt::format("in history {}, act {}", seed, act);
    ASSERT_NO_FATAL_FAILURE(crash_here(story, tried, counts, "before an effect " + where));
    story.make(move);
    ASSERT_TRUE(story.world().is_sound())
        << "promise broken " << where << ": " << story.world().breaches().front();
    ASSERT_NO_FATAL_FAILURE(crash_here(story, tried, counts, "after an effect " + where));
  }
}

TEST(ManagerCrash, NothingIsLostBeforeOrAfterAnyEffect) {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    ASSERT_NO_FATAL_FAILURE(tell(seed, counts));
  }
  std::printf(
      "%s\n",
      fmt::format("{} histories, {} effects, {} crashes, {} different conditions recovered "
                  "by {} commands, {} running containers adopted, {} resizes and {} restarts of "
                  "all containers taken up again; {} power cuts, which lost {} records",
                  kHistories, counts.effects, counts.crashes, counts.recoveries, counts.commands,
                  counts.adopted, counts.resizes, counts.restarts, counts.power_cuts,
                  counts.lost_records)
          .c_str());
  EXPECT_GT(counts.resizes, 0U);
  EXPECT_GT(counts.restarts, 0U);
  EXPECT_GT(counts.lost_records, 0U);
}

}  // namespace
}  // namespace corehold
