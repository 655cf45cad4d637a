// SPDX-License-Identifier: Apache-2.0
//
// Says when a directory and the files in it, or one file, change, come or go. The adapter for
// inotify: nothing is asked periodically, and the path need not exist.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "base/result.h"

namespace corehold {

struct PathChange {
  bool everything = false;        // anything may be different, the path itself too
  std::set<std::string> names{};  // else: these entries of the directory have come, changed or gone
};

class PathWatch {
 public:
  using OnChange = std::function<void(const PathChange&)>;

  // Watches from now on: what is to be known of before is read after this call. `path` is
  // absolute. A file that is being written is a change when its writer closes it, not before;
  // a rename is one change of both names. A change of what a link in the directory points to is
  // not seen, nor is a link swapped further up than the path's own last part.
  //
  // Fails with kIo when the kernel has no more watches to give. When that happens later, there
  // is one last change of everything.
  static Result<std::unique_ptr<PathWatch>> begin(boost::asio::io_context& loop, std::string path,
                                                  OnChange on_change);

  PathWatch(const PathWatch&) = delete;
  PathWatch& operator=(const PathWatch&) = delete;
  ~PathWatch();

 private:
  struct Inner;

  explicit PathWatch(std::shared_ptr<Inner> inner);

  std::shared_ptr<Inner> inner_;  // shared with the handlers of the loop, which look if it lives
};

}  // namespace corehold
