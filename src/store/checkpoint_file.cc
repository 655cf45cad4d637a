// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "state/checkpoint_check.h"
#include "sys/descriptor.h"
#include "sys/file/disk_full.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr off_t kSmallestSpare = off_t{64} << 10U;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Overwrites the spare file, which has its blocks, and lets it change places with the checkpoint.
Result<void> save_in_spare(const std::string& path, const std::string& bytes) {
  const std::string spare = checkpoint_spare_path(path);
  const Descriptor directory(
      ::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return file_error("open", directory_of(path), errno);
  // O_NONBLOCK, here and below: a FIFO in its place is not waited for.
  const Descriptor file(::open(spare.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) return file_error("open", spare, errno);
  if (const int error = write_all(file.get(), bytes); error != 0) {
    return file_error("write", spare, error);
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes.size())) != 0) {
    return file_error("truncate", spare, errno);
  }
  if (::fsync(file.get()) != 0) return file_error("fsync", spare, errno);
  const auto rename_with = [&](unsigned flags) {
    return ::renameat2(AT_FDCWD, spare.c_str(), AT_FDCWD, path.c_str(), flags) == 0;
  };
  // Without a checkpoint, and on file systems that cannot exchange names.
  if (!rename_with(RENAME_EXCHANGE) && !rename_with(0)) {
    return file_error("rename to", path, errno);
  }
  if (::fsync(directory.get()) != 0) return file_error("fsync", directory_of(path), errno);
  return {};
}

}  // namespace

Result<std::string> read_checkpoint_file(const std::string& path) {
  return read_file(path, kMaxCheckpointSize);
}

Result<Checkpoint> load_checkpoint(const std::string& path, const CheckpointGates& gates) {
  const std::string bytes = TRY(read_checkpoint_file(path));
  auto checkpoint = decode_checkpoint(bytes, gates);
  if (checkpoint) return checkpoint;
  const Error& error = checkpoint.error();
  return Error{error.code, path + ": " + explain_failure(bytes, error)};
}

Result<void> save_checkpoint(const std::string& path, const State& state,
                             const CheckpointFormat& format) {
  const std::string bytes = encode_checkpoint(state, format);
  auto written = write_file_atomically(path, bytes);
  if (!written && is_disk_full(written.error()) && save_in_spare(path, bytes)) return {};
  if (!written) return wrap("save checkpoint", written.error());
  return {};
}

void keep_checkpoint_spare(const std::string& path) {
  struct stat checkpoint {};
  if (::stat(path.c_str(), &checkpoint) != 0) checkpoint.st_size = 0;
  const Descriptor file(::open(checkpoint_spare_path(path).c_str(),
                               O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat spare {};
  if (!file.is_open() || ::fstat(file.get(), &spare) != 0) return;
  const off_t wanted = std::max(kSmallestSpare, 2 * checkpoint.st_size);
  if (spare.st_blocks * 512 >= wanted) return;
  static_cast<void>(::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, wanted));
}

}  // namespace corehold
