// SPDX-License-Identifier: Apache-2.0
#include "kernel/cgroup_watch.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "sys/file/directory.h"
#include "sys/file/path_watch.h"

namespace corehold {

struct CgroupWatch::Inner {
  Inner(boost::asio::io_context& loop, std::chrono::milliseconds between, OnCreated callback)
      : pause(between), on_created(std::move(callback)), timer(loop) {}

  static void tell_soon(const std::shared_ptr<Inner>& inner);

  std::chrono::milliseconds pause;
  OnCreated on_created;
  boost::asio::steady_timer timer;
  bool is_due = false;
  bool is_over = false;
  std::vector<std::unique_ptr<PathWatch>> watches{};
};

namespace {

// Whether one of the names is a cgroup at `path` that is not ours. The level has other files too,
// and what has gone keeps nobody.
template <typename Names>
bool has_foreign(const FenceLevel& level, const std::string& path, const Names& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    std::error_code ignored;
    return !level.ours.contains(name) &&
           std::filesystem::is_directory(fmt::format("{}/{}", path, name), ignored);
  });
}

bool has_foreign(const FenceLevel& level, const std::string& path, const PathChange& change) {
  if (!change.everything) return has_foreign(level, path, change.names);
  const auto entries = entries_of(path);
  return entries && has_foreign(level, path, *entries);
}

}  // namespace

void CgroupWatch::Inner::tell_soon(const std::shared_ptr<Inner>& inner) {
  if (std::exchange(inner->is_due, true)) return;
  inner->timer.expires_after(inner->pause);
  inner->timer.async_wait(
      [weak = std::weak_ptr<Inner>(inner)](const boost::system::error_code& error) {
        const auto alive = weak.lock();
        if (error || !alive || alive->is_over) return;
        alive->is_due = false;
        alive->on_created();
      });
}

Result<std::unique_ptr<CgroupWatch>> CgroupWatch::begin(boost::asio::io_context& loop,
                                                        const Options& options,
                                                        OnCreated on_created) {
  auto inner = std::make_shared<Inner>(loop, options.pause, std::move(on_created));
  if (options.places.version == FencePlaces::Version::kV2) {
    for (const FenceLevel& level : fence_levels(options.places)) {
      const std::string path = options.places.mount + level.cgroup;
      const auto changed = [weak = std::weak_ptr<Inner>(inner), level,
                            path](const PathChange& change) {
        const auto alive = weak.lock();
        if (alive && has_foreign(level, path, change)) Inner::tell_soon(alive);
      };
      inner->watches.push_back(TRY(PathWatch::begin(loop, path, changed)));
    }
  }
  return std::unique_ptr<CgroupWatch>(new CgroupWatch(std::move(inner)));
}

CgroupWatch::CgroupWatch(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}

CgroupWatch::~CgroupWatch() {
  // A handler that runs now may hold the rest a moment longer.
  inner_->is_over = true;
}

}  // namespace corehold
