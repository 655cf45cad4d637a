// SPDX-License-Identifier: Apache-2.0
//
// Says when somebody makes a cgroup v2 beside those of containers, so that what comes into it need
// not wait for the next reconcile to be kept off held CPUs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "kernel/fence_reader.h"

namespace corehold {

class CgroupWatch {
 public:
  struct Options {
    FencePlaces places{};
    // From the first cgroup until it is told, in which its owner gives it CPUs of its own. All that
    // are made meanwhile are told together: somebody who makes cgroups all the time is told of as
    // often as this, and not more.
    std::chrono::milliseconds pause{250};
  };
  using OnCreated = std::function<void()>;

  // Watches every level that the fence looks at, from now on. A cgroup below one that is beside
  // those of containers is not told: the kernel lets it have no more CPUs than that one. With
  // cgroup v1 nothing is watched: a new cpuset is somebody's own, and only named. `loop` must
  // outlive it.
  //
  // Fails with kIo when the kernel has no more watches to give.
  static Result<std::unique_ptr<CgroupWatch>> begin(boost::asio::io_context& loop,
                                                    const Options& options, OnCreated on_created);

  CgroupWatch(const CgroupWatch&) = delete;
  CgroupWatch& operator=(const CgroupWatch&) = delete;
  ~CgroupWatch();

 private:
  struct Inner;

  explicit CgroupWatch(std::shared_ptr<Inner> inner);

  std::shared_ptr<Inner> inner_;  // shared with the handlers of the loop, which look if it lives
};

}  // namespace corehold
