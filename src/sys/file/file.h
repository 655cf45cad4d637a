// SPDX-License-Identifier: Apache-2.0
//
// Whole files: read one, replace one atomically. Errors are kIo (kNotFound when the
// file does not exist) and name the call, the path and the errno: "open /a/b: EACCES".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

// The name of an errno value: "EACCES"; the number when it has none.
std::string errno_name(int number);

// What a failed call of the kernel is: "fork: EAGAIN", with the errno as its number.
Error errno_error(std::string_view attempted, int number, Code code = Code::kIo);

// What a failed call on `path` is: "open /a/b: EACCES"; kNotFound for ENOENT, kIo otherwise.
Error file_error(std::string_view call, const std::string& path, int number);

// Writes all of it to an open descriptor: 0, or the errno of the write that failed.
int write_all(int fd, std::string_view content);

// The file's content. Refuses what is not a regular file, and with kInvalid one of
// more than `max_size` bytes.
Result<std::string> read_file(const std::string& path, std::size_t max_size);

// All that is left to read from an open descriptor, which may be a pipe; `name` says in
// messages what it is. Fails with kInvalid when it is more than `max_size` bytes.
Result<std::string> read_stream(int fd, const std::string& name, std::size_t max_size);

// Replaces `path` by a file with this content and mode 0600: temporary file in the
// same directory without a name, fsync, rename, fsync of the directory. What is there already must
// be a regular file. On failure the old file is untouched and no temporary file is left, except
// that when only the last fsync fails the new content is in place but may not survive a power cut.
// A process killed in the middle leaves nothing on most file systems; else, or if it was between
// naming the file and renaming it, path.tmp-PID.
Result<void> write_file_atomically(const std::string& path, std::string_view content);

// The same without the fsyncs: readers see the old content or the new, but a power cut may
// leave neither. For what means nothing after one.
Result<void> replace_file(const std::string& path, std::string_view content);

}  // namespace corehold
