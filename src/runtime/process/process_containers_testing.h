// SPDX-License-Identifier: Apache-2.0
//
// What tests of containers on the real kernel have in common.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "runtime/process/testing.h"
#include "sys/process/process.h"

namespace corehold {

// A program of two threads that says its number and ends the first.
inline constexpr std::string_view kHeadless =
    "import ctypes,os,threading,time\n"
    "threading.Thread(target=time.sleep,args=(1000,)).start()\n"
    "print('headless',os.getpid(),flush=True)\n"
    "ctypes.CDLL(None).syscall(60,0)\n";

class ProcessContainers : public testing::Test {
 protected:
  explicit ProcessContainers(RuntimeBench::Kind kind = RuntimeBench::Kind::kCgroup)
      : bench_(kind) {}

  bool writes(const Launch& launch, const std::string& text) {
    return bench_.eventually([&] { return bench_.log_of(launch).find(text) != std::string::npos; });
  }
  // The number after KEY in what the container has written.
  pid_t pid_after(const Launch& launch, const std::string& key) {
    writes(launch, key);
    const std::string log = bench_.log_of(launch);
    const std::size_t at = log.find(key);
    return at == std::string::npos ? 0 : std::atoi(log.c_str() + at + key.size());
  }
  ProcessId supervisor_of(const Launch& launch) {
    const auto supervisor =
        ContainerDirectory::of(bench_.root(), launch.container).read_supervisor();
    return supervisor ? supervisor->process : ProcessId{};
  }
  bool is_gone(pid_t pid) {
    return bench_.eventually([&] { return has_ended(pid); });
  }

  RuntimeBench bench_;
};

}  // namespace corehold
