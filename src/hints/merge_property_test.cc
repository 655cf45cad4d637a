// SPDX-License-Identifier: Apache-2.0
//
// merge() against the brute-force reference on small machines, and against properties of
// the answer on large ones.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "hints/family.h"
#include "hints/reference.h"
#include "hints/testing.h"

namespace corehold {
namespace {

constexpr int kCases = 100'000;
constexpr std::int64_t kMostCombinations = 20'000;

HintLists lists_of(const MergeCase& test) {
  HintLists lists;
  for (const ResourceHints& resource : test.resources) {
    lists.emplace_back();
    if (resource.family) lists.back() = reference_list(*resource.family, test.machine.nodes);
  }
  return lists;
}

// 1 to 6 nodes, 1 to 4 resources, every policy and option. Cases with too many combinations
// to walk are drawn again; how many of each size were walked is printed.
TEST(Merge, AgreesWithBruteForceOnRandomCases) {
  Dice dice(20'261'116);
  std::array<std::array<int, 5>, 7> walked{};
  int preferred = 0;
  int admitted = 0;
  std::int64_t combinations = 0;
  for (int done = 0; done < kCases;) {
    const int nodes = 1 + dice.roll(6);
    const int resources = 1 + dice.roll(4);
    const MergeCase test =
        random_case(dice, nodes, resources, dice.one_in(2) ? Distances::kAny : Distances::kBlocks,
                    Lists::kSome);
    const HintLists lists = lists_of(test);
    const std::int64_t product = count_combinations(lists, kMostCombinations);
    if (product == kMostCombinations) continue;
    const Merged expected = reference_merge(test.machine, lists, test.options);
    const Merged actual = merge(test.machine, test.resources, test.options);
    ASSERT_EQ(actual, expected) << "case " << done << "\n"
                                << describe(test) << "expected " << describe(expected)
                                << "\nactual   " << describe(actual);
    ++done;
    ++walked[static_cast<std::size_t>(nodes)][static_cast<std::size_t>(resources)];
    combinations += product;
    preferred += expected.hint.preferred ? 1 : 0;
    admitted += expected.admit ? 1 : 0;
  }
  for (std::size_t nodes = 1; nodes <= 6; ++nodes) {
    for (std::size_t resources = 1; resources <= 4; ++resources) {
      EXPECT_GT(walked[nodes][resources], kCases / 200) << nodes << " nodes, " << resources;
    }
  }
  EXPECT_GT(preferred, kCases / 10);
  EXPECT_GT(kCases - admitted, kCases / 10);
  std::printf("%d cases, %lld combinations, %d preferred, %d admitted\n", kCases,
              static_cast<long long>(combinations), preferred, admitted);
}

// More nodes than combinations can be walked for.
TEST(Merge, AgreesWithCollectedIntersectionsOnSevenToNineNodes) {
  Dice dice(7);
  for (int done = 0; done < 400; ++done) {
    const MergeCase test =
        random_case(dice, 7 + dice.roll(3), 2 + dice.roll(3),
                    dice.one_in(2) ? Distances::kAny : Distances::kBlocks, Lists::kSome);
    const Merged expected = reference_fold(test.machine, lists_of(test), test.options);
    const Merged actual = merge(test.machine, test.resources, test.options);
    ASSERT_EQ(actual, expected) << "case " << done << "\n"
                                << describe(test) << "expected " << describe(expected)
                                << "\nactual   " << describe(actual);
  }
}

// A hint of the family, picked at random: a listed one, or all nodes of the threshold but
// those that could be left out in some order, up to some point.
std::optional<Hint> random_hint(Dice& dice, const HintFamily& family) {
  const auto listed = static_cast<int>(family.listed.size());
  const bool open = family.threshold && contains(*family.threshold, family.threshold->within) &&
                    !family.threshold->within.empty();
  if (listed == 0 && !open) return std::nullopt;
  if (listed > 0 && (!open || dice.one_in(2))) {
    return family.listed[static_cast<std::size_t>(dice.roll(listed))];
  }
  NodeSet nodes = family.threshold->within;
  const int tries = dice.roll(3 * nodes.size());
  for (int i = 0; i < tries && nodes.size() > 1; ++i) {
    NodeSet fewer = nodes;
    fewer.erase(NodeId(dice.roll(64)));
    if (!fewer.empty() && contains(*family.threshold, fewer)) nodes = fewer;
  }
  return Hint{.nodes = nodes, .preferred = preference_for(family, nodes).value_or(false)};
}

// Whether `nodes` is the intersection of one hint of each family, found by handing each
// other node to some family that can do without it. No value: given up.
class Witness {
 public:
  Witness(const MergeCase& test, const NodeSet& nodes) : nodes_(nodes) {
    for (const ResourceHints& resource : test.resources) {
      if (resource.family && !is_empty(*resource.family)) families_.push_back(&*resource.family);
    }
    all_ = test.machine.nodes;
  }

  std::optional<bool> find() { return choose(0, all_); }

 private:
  // Lists first, then thresholds.
  std::optional<bool> choose(std::size_t family, const NodeSet& common) {
    if (family == families_.size()) {
      const NodeSet others = common - nodes_;
      hands_.clear();
      for (const Threshold* threshold : open_) hands_.push_back(threshold->within);
      return hand_out(std::vector<NodeId>(others.begin(), others.end()), 0);
    }
    bool gave_up = false;
    for (const Hint& hint : families_[family]->listed) {
      if (hint.nodes && !nodes_.is_subset_of(*hint.nodes)) continue;
      const auto found = choose(family + 1, hint.nodes ? common & *hint.nodes : common);
      if (found.value_or(false)) return true;
      gave_up = gave_up || !found;
    }
    const auto& threshold = families_[family]->threshold;
    if (threshold && nodes_.is_subset_of(threshold->within) &&
        contains(*threshold, threshold->within)) {
      open_.push_back(&*threshold);
      const auto found = choose(family + 1, common & threshold->within);
      open_.pop_back();
      if (found.value_or(false)) return true;
      gave_up = gave_up || !found;
    }
    return gave_up ? std::nullopt : std::optional(false);
  }

  std::optional<bool> hand_out(const std::vector<NodeId>& others, std::size_t at) {
    if (at == others.size()) return true;
    if (++steps_ > 200'000) return std::nullopt;
    bool gave_up = false;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const std::size_t party = (i + at) % open_.size();
      const NodeSet before = hands_[party];
      hands_[party].erase(others[at]);
      if (contains(*open_[party], hands_[party])) {
        const auto found = hand_out(others, at + 1);
        if (found.value_or(false)) return true;
        gave_up = gave_up || !found;
      }
      hands_[party] = before;
      if (gave_up) return std::nullopt;
    }
    return gave_up ? std::nullopt : std::optional(false);
  }

  NodeSet nodes_;
  NodeSet all_;
  std::vector<const HintFamily*> families_{};
  std::vector<const Threshold*> open_{};
  std::vector<NodeSet> hands_{};
  int steps_ = 0;
};

int wanted_by(const MergeCase& test) {
  int wanted = 0;
  for (const ResourceHints& resource : test.resources) {
    if (!resource.family) continue;
    int fewest = 0;
    for (const Hint& hint : resource.family->listed) {
      if (hint.nodes && (fewest == 0 || hint.nodes->size() < fewest)) fewest = hint.nodes->size();
    }
    if (resource.family->threshold) {
      const int open = narrowest(*resource.family->threshold).value_or(0);
      if (open != 0 && (fewest == 0 || open < fewest)) fewest = open;
    }
    wanted = std::max(wanted, fewest);
  }
  return wanted;
}

// The answer is what the resources' hints really have in common, and no other
// intersection out of a random sample is better.
void check_answer(const MergeCase& test, const Merged& merged, Dice& dice, int& unwitnessed) {
  const Hint& answer = merged.hint;
  ASSERT_TRUE(answer.nodes);
  const bool satisfiable =
      std::all_of(test.resources.begin(), test.resources.end(), [](const ResourceHints& resource) {
        return !resource.family || !is_empty(*resource.family);
      });
  if (answer.preferred) {
    ASSERT_TRUE(satisfiable);
    for (const ResourceHints& resource : test.resources) {
      if (!resource.family) continue;
      ASSERT_EQ(preference_for(*resource.family, *answer.nodes), true);
    }
  } else {
    const auto found = Witness(test, *answer.nodes).find();
    if (!found) ++unwitnessed;
    // With nothing in common at all the answer is every node.
    ASSERT_TRUE(found.value_or(true) || *answer.nodes == test.machine.nodes);
  }
  const int wanted = wanted_by(test);
  for (int sample = 0; sample < 40; ++sample) {
    Hint other{.nodes = test.machine.nodes, .preferred = satisfiable};
    std::optional<NodeSet> same;
    for (const ResourceHints& resource : test.resources) {
      if (!resource.family) continue;
      const auto hint = random_hint(dice, *resource.family);
      if (!hint) continue;
      if (same && *same != *hint->nodes) other.preferred = false;
      other.preferred = other.preferred && hint->preferred;
      same = hint->nodes;
      *other.nodes &= *hint->nodes;
    }
    if (other.nodes->empty()) continue;
    ASSERT_FALSE(replaces(test.machine, wanted, test.options.prefer_closest_numa, answer, other))
        << "better: " << other.nodes->str() << (other.preferred ? " preferred" : "");
  }
}

TEST(Merge, IsTheBestIntersectionOnLargeMachines) {
  Dice dice(64);
  int inexact = 0;
  int unwitnessed = 0;
  int preferred = 0;
  constexpr int kLarge = 1500;
  for (int done = 0; done < kLarge; ++done) {
    const std::array<int, 5> sizes{12, 16, 24, 40, 64};
    const int nodes = sizes[static_cast<std::size_t>(dice.roll(5))];
    MergeCase test = random_case(dice, nodes, 1 + dice.roll(4), Distances::kBlocks, Lists::kNone);
    test.options.policy =
        dice.one_in(2) ? TopologyPolicy::kBestEffort : TopologyPolicy::kRestricted;
    const Merged merged = merge(test.machine, test.resources, test.options);
    if (merged.exact) {
      ASSERT_NO_FATAL_FAILURE(check_answer(test, merged, dice, unwitnessed))
          << "case " << done << "\n"
          << describe(test) << describe(merged);
    }
    inexact += merged.exact ? 0 : 1;
    preferred += merged.hint.preferred ? 1 : 0;
    ASSERT_EQ(merge(test.machine, test.resources, test.options), merged);
  }
  std::printf("%d cases: %d preferred, %d cut short, %d without a witness\n", kLarge, preferred,
              inexact, unwitnessed);
  EXPECT_LT(inexact, kLarge / 20);
  EXPECT_LT(unwitnessed, kLarge / 20);
}

}  // namespace
}  // namespace corehold
