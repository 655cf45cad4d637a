// SPDX-License-Identifier: Apache-2.0
#include "sys/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "sys/descriptor.h"
#include "sys/file.h"

namespace corehold {
namespace {

Error failed(std::string_view call, const std::string& path, int number) {
  const bool is_gone = number == ENOENT || number == ENODEV || number == ESRCH;
  return {is_gone ? Code::kNotFound : Code::kIo,
          fmt::format("{} {}: {}", call, path, errno_name(number))};
}

}  // namespace

Result<std::string> read_kernel_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return failed("open", path, errno);
  std::string content;
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path, errno);
    if (got == 0) break;
    content.append(buffer, static_cast<std::size_t>(got));
  }
  if (content.ends_with('\n')) content.pop_back();
  return content;
}

Result<void> write_kernel_file(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.is_open()) return failed("open", path, errno);
  ssize_t written = 0;
  do {
    written = ::write(file.get(), text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return failed("write", path, errno);
  return {};
}

}  // namespace corehold
