// SPDX-License-Identifier: Apache-2.0
#include "sys/file/path_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::uint32_t kNames = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
constexpr std::uint32_t kContents = IN_CLOSE_WRITE | IN_ATTRIB;
constexpr std::uint32_t kSelf = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kLost = kSelf | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED;
constexpr int kTries = 16;  // of watching a path that comes and goes meanwhile
constexpr std::size_t kBuffer = 16384;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool is_directory(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// One that somebody has just made and is going to write. A link, or a second name, is
// complete from the start.
bool is_being_made(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 1;
}

}  // namespace

struct PathWatch::Inner {
  Inner(boost::asio::io_context& loop, std::string watched, OnChange callback)
      : path(std::move(watched)), on_change(std::move(callback)), events(loop) {}

  Result<void> arm();
  Result<bool> try_arm();
  void read();
  void take(const inotify_event& event, PathChange& change);
  static void wait(const std::shared_ptr<Inner>& inner);

  std::string path;
  OnChange on_change;
  boost::asio::posix::stream_descriptor events;
  int target = -1;        // the watch of the path itself, when it is a directory
  int holder = -1;        // of the nearest directory above it that exists
  std::string awaited{};  // the name in that directory that leads to the path
  std::string next{};     // the same with the directory
  bool must_arm = false;
  std::set<std::uint32_t> moving{};  // renames of which only the old name has been seen
};

// Watches the path, if it is a directory, and all above it: the nearest that exists for the name
// that leads to the path, the others only for being moved or removed. False: one has come
// meanwhile, so that it has to be done again.
Result<bool> PathWatch::Inner::try_arm() {
  boost::system::error_code ignored;
  events.close(ignored);
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return errno_error("inotify_init", errno);
  events.assign(fd);
  const auto watch = [fd](const std::string& directory, std::uint32_t mask) -> Result<int> {
    const int added = ::inotify_add_watch(fd, directory.c_str(), mask | IN_ONLYDIR | IN_MASK_ADD);
    if (added < 0 && (errno == ENOSPC || errno == ENOMEM)) {
      return errno_error(fmt::format("watch {}", directory), errno);
    }
    return added;
  };
  target = TRY(watch(path, kNames | kContents | kSelf));
  holder = -1;
  next.clear();
  for (std::string child = path; child != "/"; child = parent_of(child)) {
    const bool is_holder = holder < 0;
    const int added = TRY(watch(parent_of(child), is_holder ? kNames | kContents | kSelf : kSelf));
    if (!is_holder || added < 0) continue;
    holder = added;
    next = child;
  }
  awaited = next.substr(next.rfind('/') + 1);
  return target >= 0 || !is_directory(next);
}

Result<void> PathWatch::Inner::arm() {
  must_arm = false;
  moving.clear();
  for (int i = 0; i < kTries; ++i) {
    if (TRY(try_arm())) break;
  }
  return {};
}

void PathWatch::Inner::take(const inotify_event& event, PathChange& change) {
  const std::string name = event.len == 0 ? "" : event.name;
  if ((event.mask & kLost) != 0) {
    must_arm = true;
    change.everything = true;
    return;
  }
  if (event.wd == target) {
    if ((event.mask & IN_CREATE) != 0 && is_being_made(path + "/" + name)) return;
    if ((event.mask & IN_MOVED_FROM) != 0) moving.insert(event.cookie);
    if ((event.mask & IN_MOVED_TO) != 0) moving.erase(event.cookie);
    if (!name.empty()) change.names.insert(name);
    return;
  }
  if (event.wd != holder || name != awaited) return;
  // A file needs no watch of its own, and to begin anew would lose what happens to it now.
  if ((event.mask & kNames) != 0 && (target >= 0 || is_directory(next))) must_arm = true;
  if ((event.mask & kNames) == 0 && target >= 0) return;
  if ((event.mask & IN_CREATE) != 0 && is_being_made(path)) return;
  change.everything = true;
}

void PathWatch::Inner::read() {
  PathChange change;
  alignas(inotify_event) std::array<char, kBuffer> buffer{};
  while (true) {
    const ssize_t got = ::read(events.native_handle(), buffer.data(), buffer.size());
    if (got <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      take(*reinterpret_cast<const inotify_event*>(buffer.data() + at), change);
      at += sizeof event + event.len;
    }
  }
  // The new name of what was renamed may be on its way yet.
  if (!moving.empty()) change.everything = true;
  moving.clear();
  if (must_arm) {
    // What has happened until the new watches were there is not known.
    change.everything = true;
    if (!arm()) {
      boost::system::error_code ignored;
      events.close(ignored);
    }
  }
  if (change.everything) change.names.clear();
  if (change.everything || !change.names.empty()) on_change(change);
}

void PathWatch::Inner::wait(const std::shared_ptr<Inner>& inner) {
  if (!inner->events.is_open()) return;
  inner->events.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [weak = std::weak_ptr<Inner>(inner)](const boost::system::error_code& error) {
        const auto alive = weak.lock();
        if (error || !alive) return;
        alive->read();
        wait(alive);
      });
}

Result<std::unique_ptr<PathWatch>> PathWatch::begin(boost::asio::io_context& loop, std::string path,
                                                    OnChange on_change) {
  auto inner = std::make_shared<Inner>(loop, std::move(path), std::move(on_change));
  TRY(inner->arm());
  Inner::wait(inner);
  return std::unique_ptr<PathWatch>(new PathWatch(std::move(inner)));
}

PathWatch::PathWatch(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}

PathWatch::~PathWatch() {
  inner_->on_change = [](const PathChange&) {};
  boost::system::error_code ignored;
  inner_->events.close(ignored);
}

}  // namespace corehold
