// SPDX-License-Identifier: Apache-2.0
#include "sys/file/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

Error kernel_failed(std::string_view call, const std::string& path, int number) {
  const bool is_gone = number == ENOENT || number == ENODEV || number == ESRCH;
  return errno_error(fmt::format("{} {}", call, path), number,
                     is_gone ? Code::kNotFound : Code::kIo);
}

}  // namespace

Result<std::string> read_kernel_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return kernel_failed("open", path, errno);
  std::string content;
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return kernel_failed("read", path, errno);
    if (got == 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  if (content.ends_with('\n')) content.pop_back();
  return content;
}

Result<void> write_kernel_file(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.is_open()) return kernel_failed("open", path, errno);
  ssize_t written = 0;
  do {
    written = ::write(file.get(), text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return kernel_failed("write", path, errno);
  return {};
}

}  // namespace corehold
