// SPDX-License-Identifier: Apache-2.0
#include "agent_life.h"

#include <err.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "program.h"
#include "sys/http/http_client.h"

namespace corehold::proof {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLogKept = 1U << 22U;  // bytes; the guest's files are in memory
constexpr std::size_t kTail = 6000;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

bool AgentLife::start() {
  const std::string log = options_.folder + "/agent.log";
  std::error_code ignored;
  if (fs::file_size(log, ignored) > kLogKept && !ignored) fs::rename(log, log + ".old", ignored);
  fs::remove(socket(), ignored);
  pid_ = spawn(
      {.words = {options_.binary, "agent", "--config", options_.config, "--root", options_.root},
       .output = log,
       .reports = reports_path(),
       .leaks = Leaks::kFind});
  while (runs()) {
    const auto answer = ask(socket(), {.target = "/readyz"});
    if (answer && answer->status == 200) return true;
    usleep(100'000);
  }
  return false;
}

bool AgentLife::runs() {
  if (pid_ == 0) return false;
  if (waitpid(pid_, &status_, WNOHANG) != pid_) return true;
  pid_ = 0;
  return false;
}

int AgentLife::end(int signal) {
  if (!runs()) return -1;
  kill(pid_, signal);
  if (waitpid(pid_, &status_, 0) != pid_) err(2, "waitpid");
  pid_ = 0;
  if (signal == SIGKILL && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL) return 0;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

std::string AgentLife::ending() const {
  return WIFSIGNALED(status_) ? fmt::format("signal {}", WTERMSIG(status_))
                              : fmt::format("exit code {}", WEXITSTATUS(status_));
}

std::string AgentLife::log_tail() const {
  const std::string text = text_of(options_.folder + "/agent.log");
  return text.size() > kTail ? text.substr(text.size() - kTail) : text;
}

std::vector<std::string> AgentLife::reports() const {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(options_.folder)) {
    if (!entry.path().filename().string().starts_with("report")) continue;
    std::string text = text_of(entry.path());
    if (!text.empty()) found.push_back(std::move(text));
  }
  return found;
}

}  // namespace corehold::proof
