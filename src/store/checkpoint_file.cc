// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint_file.h"

#include "state/checkpoint_check.h"
#include "sys/file/file.h"

namespace corehold {

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
  const auto written = write_file_atomically(path, encode_checkpoint(state, format));
  if (!written) return wrap("save checkpoint", written.error());
  return {};
}

}  // namespace corehold
