// SPDX-License-Identifier: Apache-2.0
//
// The scenario the kubelet's own code was measured on: 125 pods of two containers.
// The kubelet's figure stands beside ours as the label.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "state/checkpoint.h"

namespace corehold {
namespace {

CpuSet pair(int cpu) { return {CpuId(cpu), CpuId(cpu + 256)}; }

State scenario() {
  State state{.policy = "static", .shared = *CpuSet::parse("0-1,252-257,508-511")};
  for (std::uint32_t pod = 0; pod < 125; ++pod) {
    const std::string uid = fmt::format("{:08x}-0000-4000-8000-{:012x}", pod * 2654435761U, pod);
    const int cpu = 2 + 2 * static_cast<int>(pod);
    state.pods.set(uid, "app", {.assigned = pair(cpu), .promised = pair(cpu)});
    state.pods.set(uid, "sidecar", {.assigned = pair(cpu + 1), .promised = pair(cpu + 1)});
  }
  return state;
}

void encode(benchmark::State& bench, const CheckpointFormat& format, const char* label) {
  const State state = scenario();
  std::size_t size = 0;
  for (auto _ : bench) {
    const std::string bytes = encode_checkpoint(state, format);
    size = bytes.size();
    benchmark::DoNotOptimize(bytes.data());
  }
  bench.counters["bytes"] = static_cast<double>(size);
  bench.SetLabel(label);
}

void decode(benchmark::State& bench, const CheckpointFormat& format, const char* label) {
  const std::string bytes = encode_checkpoint(scenario(), format);
  for (auto _ : bench) {
    const auto checkpoint = decode_checkpoint(bytes);
    CHECK(checkpoint.has_value());
    const auto state = state_of(*checkpoint);
    CHECK(state.has_value());
    benchmark::DoNotOptimize(&*state);
  }
  bench.SetLabel(label);
}

constexpr CheckpointFormat kV3{.version = CheckpointVersion::kV3};
constexpr CheckpointFormat kV4{.version = CheckpointVersion::kV4, .without_baselines = true};
constexpr CheckpointFormat kV4Baselines{.version = CheckpointVersion::kV4};

BENCHMARK_CAPTURE(encode, v4, kV4, "kubelet 930 us");
BENCHMARK_CAPTURE(encode, v4_with_baselines, kV4Baselines, "kubelet: no figure");
BENCHMARK_CAPTURE(encode, v3, kV3, "kubelet: has no such format");
BENCHMARK_CAPTURE(decode, v4, kV4, "kubelet 1102 us with reading the file");
BENCHMARK_CAPTURE(decode, v3, kV3, "kubelet: has no such format");

}  // namespace
}  // namespace corehold
