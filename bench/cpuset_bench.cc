// SPDX-License-Identifier: Apache-2.0
//
// The kernel list format: 155 CPUs in five runs, read and written.
#include <string>

#include <benchmark/benchmark.h>

#include "cpuset/cpu_set.h"

namespace corehold {
namespace {

constexpr const char* kText = "0-3,8,10,12-40,64-127,200-255";

void parse(benchmark::State& state) {
  for (auto _ : state) {
    auto set = CpuSet::parse(kText);
    benchmark::DoNotOptimize(set);
  }
  state.SetLabel("kubelet 14033 ns");
}
BENCHMARK(parse)->Name("cpuset/parse");

void str(benchmark::State& state) {
  const CpuSet set = *CpuSet::parse(kText);
  for (auto _ : state) {
    std::string text = set.str();
    benchmark::DoNotOptimize(text);
  }
  state.SetLabel("kubelet 9472 ns");
}
BENCHMARK(str)->Name("cpuset/string");

}  // namespace
}  // namespace corehold
