// SPDX-License-Identifier: Apache-2.0
//
// The test binary is the monitors' program too, and, called with "fork-for-ever", a program
// whose process is another one all the time.
#include <unistd.h>

#include <string_view>

#include <gtest/gtest.h>

#include "runtime/monitor/monitor.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "monitor") {
    ::_exit(corehold::run_monitor(argv[2]));
  }
  if (argc == 2 && std::string_view(argv[1]) == "fork-for-ever") {
    while (true) {
      if (::fork() > 0) ::_exit(0);
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
