// SPDX-License-Identifier: Apache-2.0
//
// Allocation on the scenarios the kubelet's own code was measured on: a machine of
// 2 sockets with SMT, caches of 8 cores, half full (every second core free); and 8
// NUMA nodes, full or unevenly used. Then the cost against the number of CPUs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "alloc/take.h"
#include "topology/testing.h"

namespace corehold {
namespace {

// N CPUs: 2 sockets, caches of 8 cores; thread t of core k is CPU k + t * cores.
Topology half_full_machine(int cpus) {
  const int caches = std::max(1, cpus / 4 / 8);
  return machine(fmt::format("2s{}l{}c2t", caches, cpus / 4 / caches), Numbering::kThreadsFar);
}

CpuSet even_numbers(const Topology& topology) {
  CpuSet even;
  for (const CpuId cpu : topology.cpus()) {
    if (cpu.value % 2 == 0) even.insert(cpu);
  }
  return even;
}

// Node j keeps all of its CPUs but the j highest.
CpuSet uneven(const Topology& topology) {
  CpuSet available = topology.cpus();
  int gone = 0;
  for (const auto& node : topology.nodes()) {
    CpuSet left = node.cpus;
    for (int i = 0; i < gone; ++i) left.erase(left.last());
    available -= node.cpus - left;
    ++gone;
  }
  return available;
}

void take(benchmark::State& state, const Topology& topology, const CpuSet& available, int count,
          const TakeOptions& options) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(take_by_topology(topology, available, count, options));
  }
}

void packed(benchmark::State& state, int cpus, int count, TakeOptions options, long kubelet_ns) {
  const Topology topology = half_full_machine(cpus);
  take(state, topology, even_numbers(topology), count, options);
  if (kubelet_ns > 0) state.SetLabel(fmt::format("kubelet {} ns", kubelet_ns));
}

void distributed(benchmark::State& state, const char* shape, bool full, int count, int group,
                 long kubelet_ns) {
  const Topology topology = machine(shape, Numbering::kThreadsFar);
  take(state, topology, full ? topology.cpus() : uneven(topology), count,
       {.across_numa = true, .group_size = group});
  state.SetLabel(fmt::format("kubelet {} ns", kubelet_ns));
}

constexpr TakeOptions kPlain{};
constexpr TakeOptions kUncore{.prefer_uncore = true};
constexpr TakeOptions kSpread{.order = CpuOrder::kSpread};

BENCHMARK_CAPTURE(packed, 128_n16, 128, 16, kPlain, 841'910);
BENCHMARK_CAPTURE(packed, 128_n3, 128, 3, kPlain, 981'363);
BENCHMARK_CAPTURE(packed, 128_n16_uncore, 128, 16, kUncore, 1'927'903);
BENCHMARK_CAPTURE(packed, 128_n16_spread, 128, 16, kSpread, 619'383);
BENCHMARK_CAPTURE(packed, 128_n64, 128, 64, kPlain, 1'309'218);
BENCHMARK_CAPTURE(packed, 256_n32, 256, 32, kPlain, 3'054'057);
BENCHMARK_CAPTURE(packed, 256_n3, 256, 3, kPlain, 3'771'679);
BENCHMARK_CAPTURE(packed, 256_n32_uncore, 256, 32, kUncore, 11'021'025);
BENCHMARK_CAPTURE(packed, 256_n32_spread, 256, 32, kSpread, 1'917'247);
BENCHMARK_CAPTURE(packed, 256_n128, 256, 128, kPlain, 6'080'780);
BENCHMARK_CAPTURE(packed, 512_n64, 512, 64, kPlain, 15'486'839);
BENCHMARK_CAPTURE(packed, 512_n3, 512, 3, kPlain, 14'509'402);
BENCHMARK_CAPTURE(packed, 512_n64_uncore, 512, 64, kUncore, 65'243'093);
BENCHMARK_CAPTURE(packed, 512_n64_spread, 512, 64, kSpread, 6'903'617);
BENCHMARK_CAPTURE(packed, 512_n256, 512, 256, kPlain, 17'597'959);

constexpr const char* kNuma8 = "2s4n8c2t";
constexpr const char* kBig512 = "2s4n32c2t";
BENCHMARK_CAPTURE(distributed, numa8_128_uneven_n76, kNuma8, false, 76, 1, 3'323'168);
BENCHMARK_CAPTURE(distributed, numa8_128_uneven_n10, kNuma8, false, 10, 1, 462'733);
BENCHMARK_CAPTURE(distributed, numa8_128_uneven_n64_g2, kNuma8, false, 64, 2, 3'005'849);
BENCHMARK_CAPTURE(distributed, numa8_512_uneven_n253, kBig512, false, 253, 1, 35'519'607);
BENCHMARK_CAPTURE(distributed, numa8_512_uneven_n40, kBig512, false, 40, 1, 3'578'226);
BENCHMARK_CAPTURE(distributed, numa8_512_uneven_n256_g2, kBig512, false, 256, 2, 35'222'809);
BENCHMARK_CAPTURE(distributed, numa8_128_full_n81, kNuma8, true, 81, 1, 7'832'132);
BENCHMARK_CAPTURE(distributed, numa8_128_full_n60_g2, kNuma8, true, 60, 2, 9'712'663);
BENCHMARK_CAPTURE(distributed, numa8_128_uneven_n80, kNuma8, false, 80, 1, 4'612'103);
BENCHMARK_CAPTURE(distributed, numa8_512_full_n321, kBig512, true, 321, 1, 37'731'174);

// Requests of all sizes, to find the worst of ours; the worst known of a kubelet is
// beside each.
void worst_distributed(benchmark::State& state, bool full, int group) {
  const Topology topology = machine(kBig512, Numbering::kThreadsFar);
  const CpuSet available = full ? topology.cpus() : uneven(topology);
  const auto count = static_cast<int>(state.range(0)) * group;
  take(state, topology, available, count, {.across_numa = true, .group_size = group});
  state.SetLabel("kubelet 35519607 ns");
}
BENCHMARK_CAPTURE(worst_distributed, numa8_512_uneven, false, 1)->DenseRange(1, 484, 23);
BENCHMARK_CAPTURE(worst_distributed, numa8_512_uneven_g2, false, 2)->DenseRange(1, 242, 23);
BENCHMARK_CAPTURE(worst_distributed, numa8_512_full, true, 1)->DenseRange(1, 512, 23);

// Cost against CPUs, half full, an eighth of the machine requested.
void cost(benchmark::State& state, TakeOptions options) {
  const auto cpus = static_cast<int>(state.range(0));
  const Topology topology = half_full_machine(cpus);
  take(state, topology, even_numbers(topology), cpus / 8, options);
  state.SetComplexityN(cpus);
}
constexpr TakeOptions kAcross{.across_numa = true};
BENCHMARK_CAPTURE(cost, packed, kPlain)->RangeMultiplier(2)->Range(64, 4096)->Complexity();
BENCHMARK_CAPTURE(cost, uncore, kUncore)->RangeMultiplier(2)->Range(64, 4096)->Complexity();
BENCHMARK_CAPTURE(cost, spread, kSpread)->RangeMultiplier(2)->Range(64, 4096)->Complexity();
BENCHMARK_CAPTURE(cost, distributed, kAcross)->RangeMultiplier(2)->Range(64, 4096)->Complexity();

}  // namespace
}  // namespace corehold
