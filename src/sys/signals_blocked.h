// SPDX-License-Identifier: Apache-2.0
//
// SignalsBlocked: a thread that is started while it lives takes no signals. They are left to the
// thread of the loop, which waits for them.
#pragma once

#include <csignal>

namespace corehold {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace corehold
