// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <err.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace corehold::proof {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> found;
  found.reserve(words.size() + 1);
  for (std::string& word : words) found.push_back(word.data());
  found.push_back(nullptr);
  return found;
}

std::vector<std::string> environment_of(const Program& program) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  environment.push_back(fmt::format("ASAN_OPTIONS=detect_leaks={}:exitcode=86:log_path={}",
                                    program.leaks == Leaks::kFind ? 1 : 0, program.reports));
  environment.push_back(
      fmt::format("UBSAN_OPTIONS=print_stacktrace=1:exitcode=86:log_path={}", program.reports));
  environment.emplace_back("COREHOLD_CHECK=1");  // an agent that breaks a promise ends at once
  return environment;
}

}  // namespace

pid_t spawn(const Program& program) {
  std::vector<std::string> words = program.words;
  std::vector<std::string> environment = environment_of(program);
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, program.output.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  errno = posix_spawnp(&pid, words[0].c_str(), &files, &attributes, pointers(words).data(),
                       pointers(environment).data());
  if (errno != 0) err(2, "%s", words[0].c_str());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return pid;
}

}  // namespace corehold::proof
