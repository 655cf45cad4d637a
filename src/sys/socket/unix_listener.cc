// SPDX-License-Identifier: Apache-2.0
#include "sys/socket/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

Error cannot(std::string_view call, const std::string& path) {
  return errno_error(fmt::format("{} {}", call, path), errno);
}

Result<void> remove_old_socket(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return cannot("stat", path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return Error{Code::kIo, fmt::format("listen on {}: something else is there", path)};
  }
  if (::unlink(path.c_str()) != 0) return cannot("unlink", path);
  return {};
}

// Leaves nothing behind when it fails.
Result<void> open_up(int fd, const UnixListenerOptions& options) {
  const char* const path = options.path.c_str();
  if (::chown(path, static_cast<uid_t>(-1), options.group) != 0) {
    return cannot("chown", options.path);
  }
  if (::chmod(path, options.mode) != 0) return cannot("chmod", options.path);
  if (::listen(fd, SOMAXCONN) != 0) return cannot("listen", options.path);
  return {};
}

}  // namespace

Result<Descriptor> listen_on_unix(const UnixListenerOptions& options) {
  const std::string& path = options.path;
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) {
    return Error{Code::kInvalid,
                 fmt::format("listen on {}: the path has {} bytes, a socket's at most {}; choose "
                             "a shorter root directory",
                             path, path.size(), sizeof address.sun_path - 1)};
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  TRY(remove_old_socket(path));
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.is_open()) return cannot("socket", path);
  // Nobody may connect before mode and group are as they should be.
  const mode_t before = ::umask(0777);
  const int bound = ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int number = errno;
  ::umask(before);
  errno = number;
  if (bound != 0) return cannot("bind", path);
  if (const auto opened = open_up(made.get(), options); !opened) {
    ::unlink(path.c_str());
    return opened.error();
  }
  return made;
}

}  // namespace corehold
