// SPDX-License-Identifier: Apache-2.0
#include "agent/node/machine.h"

#include <sched.h>

#include <cerrno>
#include <memory>

#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr const char* kOnline = "/sys/devices/system/cpu/online";
constexpr std::size_t kMaxListText = 65536;

}  // namespace

Result<CpuSet> online_cpus() {
  std::string text = TRY(read_file(kOnline, kMaxListText));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto online = CpuSet::parse(text);
  if (!online) return wrap(kOnline, online.error());
  return *online;
}

Result<CpuSet> online_cpus(const Topology& topology) {
  return TRY(online_cpus()) & topology.cpus();
}

void keep_to(const CpuSet& cpus, const Log& log) {
  if (cpus.empty()) return;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
      CPU_ALLOC(kMaxCpus), [](cpu_set_t* set) { CPU_FREE(set); });
  const std::size_t size = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(size, mask.get());
  for (const CpuId cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu.value), size, mask.get());
  if (::sched_setaffinity(0, size, mask.get()) == 0) return;
  log.warning("the agent cannot keep to the reserved CPUs",
              {{"cpus", cpus.str()}, {"error", errno_name(errno)}});
}

}  // namespace corehold
