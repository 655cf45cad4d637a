// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/command_notes.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/process/container_mark.h"

namespace corehold {
namespace {

constexpr mode_t kDirectoryMode = 0755;
constexpr std::size_t kMostBytes = 100;

std::string directory_of(const std::string& root) { return root + "/run/commands"; }

// "run/12/345" as the name of a file, "run-12-345", and the other way round.
std::string with(std::string text, char old, char by) {
  std::replace(text.begin(), text.end(), old, by);
  return text;
}

std::string path_of(const std::string& root, const std::string& mark) {
  return fmt::format("{}/{}", directory_of(root), with(mark, '/', '-'));
}

}  // namespace

Result<void> note_command(const std::string& root, const ProcessId& client) {
  TRY(make_directories(directory_of(root), kDirectoryMode));
  return replace_file(path_of(root, run_mark(client)), boot_id());
}

void forget_command(const std::string& root, const std::string& mark) {
  if (!mark.empty()) ::unlink(path_of(root, mark).c_str());
}

std::set<std::string> noted_commands(const std::string& root) {
  std::set<std::string> marks;
  const auto names = entries_of(directory_of(root));
  if (!names) return marks;
  for (const std::string& name : *names) {
    const auto boot = read_file(fmt::format("{}/{}", directory_of(root), name), kMostBytes);
    if (boot && *boot == boot_id()) marks.insert(with(name, '-', '/'));
  }
  return marks;
}

void keep_notes_of(const std::string& root, const std::set<std::string>& marks) {
  const auto names = entries_of(directory_of(root));
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string mark = with(name, '-', '/');
    if (!marks.contains(mark)) forget_command(root, mark);
  }
}

}  // namespace corehold
