// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "alloc/reference.h"
#include "alloc/take.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr int kMostCpus = 64;

int chance(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

// A machine, what is free on it, and a request with options.
struct Case {
  Topology topology = random_machine(chance, kMostCpus);
  CpuSet available = random_subset(chance, topology, topology.cpus());
  int count = chance(0, available.size() + 1);
  TakeOptions options{};

  Case() {
    options.order = chance(0, 3) == 0 ? CpuOrder::kSpread : CpuOrder::kPacked;
    options.across_numa = chance(0, 1) == 1;
    options.group_size = chance(0, 1) == 1 ? topology.threads_per_core() : 1;
    options.align_by_socket = chance(0, 1) == 1;
    // A kubelet has no answer for distribution with uncore preference.
    options.prefer_uncore = !options.across_numa && chance(0, 1) == 1;
    RC_LOG() << "cpus " << topology.cpus().str() << " available " << available.str() << " count "
             << count << " spread " << (options.order == CpuOrder::kSpread) << " numa "
             << options.across_numa << " group " << options.group_size << " socket "
             << options.align_by_socket << " uncore " << options.prefer_uncore << '\n';
    for (const Core& core : topology.cores()) {
      RC_LOG() << "core of " << core.cpus.front().value << " node " << core.node << " socket "
               << core.socket << " uncore " << core.uncore << " size " << core.size() << '\n';
    }
  }
};

RC_GTEST_PROP(TakeProperty, GivesJustWhatIsAskedOutOfWhatIsAvailable, ()) {
  const Case test;
  const auto taken = take_by_topology(test.topology, test.available, test.count, test.options);
  RC_ASSERT(taken.has_value() == (test.count <= test.available.size()));
  if (!taken) return;
  RC_ASSERT(taken->size() == test.count);
  RC_ASSERT(taken->is_subset_of(test.available));
}

RC_GTEST_PROP(TakeProperty, SameInputSameAnswer, ()) {
  const Case test;
  const auto once = take_by_topology(test.topology, test.available, test.count, test.options);
  const auto again = take_by_topology(test.topology, test.available, test.count, test.options);
  RC_ASSERT(once.has_value() == again.has_value());
  if (once) RC_ASSERT(*once == *again);
}

RC_GTEST_PROP(TakeProperty, EqualsTheReferenceOnRegularMachines, ()) {
  const Case test;
  RC_PRE(test.topology.is_regular() && test.topology.nodes().size() <= 8);
  const auto expected = reference_take(test.topology, test.available, test.count, test.options);
  RC_PRE(expected.has_value());
  const auto taken = take_by_topology(test.topology, test.available, test.count, test.options);
  RC_ASSERT(taken.has_value());
  RC_ASSERT(taken->str() == expected->str());
}

RC_GTEST_PROP(TakeProperty, HasNoFewerWholeCoresThanTheReferenceOnOthers, ()) {
  const Case test;
  RC_PRE(!test.topology.is_regular() && test.topology.nodes().size() <= 8);
  RC_PRE(test.options.order == CpuOrder::kPacked || test.options.prefer_uncore);
  const auto expected = reference_take(test.topology, test.available, test.count, test.options);
  RC_PRE(expected.has_value());
  RC_PRE(expected->is_subset_of(test.available));
  RC_PRE(expected->size() == test.count);
  const auto taken = take_by_topology(test.topology, test.available, test.count, test.options);
  RC_ASSERT(taken.has_value());
  RC_ASSERT(test.topology.count_whole_cores(*taken) >= test.topology.count_whole_cores(*expected));
}

RC_GTEST_PROP(TakeProperty, KeepsWhatMustBeKept, ()) {
  const Case test;
  RC_PRE(test.count <= test.available.size());
  const CpuSet prefer = random_subset(chance, test.topology, test.available);
  CpuSet keep = random_subset(chance, test.topology, prefer);
  while (keep.size() > test.count) keep.erase(keep.last());
  const auto taken = take_by_topology(test.topology, test.available, test.count, test.options,
                                      {.keep = keep, .prefer = prefer});
  RC_ASSERT(taken.has_value());
  RC_ASSERT(taken->size() == test.count);
  RC_ASSERT(keep.is_subset_of(*taken));
  if (prefer.size() <= test.count) {
    RC_ASSERT(prefer.is_subset_of(*taken));
  } else {
    RC_ASSERT(taken->is_subset_of(prefer));
  }
}

RC_GTEST_PROP(TakeProperty, WholeCoresAreFoundExactlyWhenTheyAddUp, ()) {
  const Case test;
  const auto taken = take_whole_cores(test.topology, test.available, test.count);
  std::vector<bool> reachable(kMostCpus + 2, false);
  reachable[0] = true;
  for (const Core& core : test.topology.cores()) {
    const bool whole = std::all_of(core.cpus.begin(), core.cpus.end(),
                                   [&](CpuId cpu) { return test.available.contains(cpu); });
    if (!whole) continue;
    for (int sum = kMostCpus + 1; sum >= core.size(); --sum) {
      if (reachable[static_cast<std::size_t>(sum - core.size())])
        reachable[static_cast<std::size_t>(sum)] = true;
    }
  }
  RC_ASSERT(taken.has_value() == reachable[static_cast<std::size_t>(test.count)]);
  if (!taken) return;
  RC_ASSERT(taken->size() == test.count);
  RC_ASSERT(taken->is_subset_of(test.available));
  RC_ASSERT(test.topology.whole_cores_within(*taken) == *taken);
}

}  // namespace
}  // namespace corehold
