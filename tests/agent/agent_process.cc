// SPDX-License-Identifier: Apache-2.0
#include "agent/agent_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;

constexpr std::size_t kMaxLog = std::size_t{256} << 20U;

std::string new_directory() {
  std::string pattern = (fs::temp_directory_path() / "corehold-agent-XXXXXX").string();
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  return pattern;
}

pid_t spawn(const std::vector<std::string>& arguments, const std::string& errors) {
  std::vector<std::string> words{COREHOLD_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  CHECK(pid >= 0);
  if (pid > 0) return pid;
  const int nothing = ::open("/dev/null", O_RDWR);
  const int log = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(pointers.front(), pointers.data());
  ::_exit(127);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

}  // namespace

bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + 300s;  // a hang
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

Ended run_corehold(const std::vector<std::string>& arguments) {
  const std::string directory = new_directory();
  const std::string errors = directory + "/errors";
  const pid_t pid = spawn(arguments, errors);
  int status = 0;
  CHECK(::waitpid(pid, &status, 0) == pid);
  const auto text = read_file(errors, kMaxLog);
  fs::remove_all(directory);
  return {.code = code_of(status), .errors = text ? *text : ""};
}

AgentProcess::AgentProcess() : root_(new_directory()) {}

AgentProcess::~AgentProcess() {
  if (pid_ != 0) end(SIGKILL);
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

bool AgentProcess::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"agent", "--root", root_, "--log-level", "debug"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  pid_ = spawn(words, root_ + "/log");
  bool has_ended = false;
  const bool is_ready = comes_true([&] {
    const auto answer = corehold::ask(socket(), {.target = "/readyz"});
    if (answer && answer->status == 200) return true;
    has_ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    return has_ended;
  });
  if (has_ended) pid_ = 0;
  return is_ready && !has_ended;
}

int AgentProcess::end(int signal) {
  CHECK(pid_ != 0);
  ::kill(pid_, signal);
  int status = 0;
  CHECK(::waitpid(pid_, &status, 0) == pid_);
  pid_ = 0;
  return code_of(status);
}

std::string AgentProcess::log() const {
  const auto text = read_file(root_ + "/log", kMaxLog);
  return text ? *text : text.error().message;
}

HttpAnswer AgentProcess::ask(const HttpQuestion& question) const {
  auto answer = corehold::ask(socket(), question);
  return answer ? *std::move(answer) : HttpAnswer{.status = 0, .body = answer.error().message};
}

json::value AgentProcess::get(const std::string& target) const {
  json::error_code error;
  json::value value = json::parse(ask({.target = target}).body, error);
  return error ? json::value() : value;
}

std::string AgentProcess::field(const std::string& target, const std::string& pointer) const {
  const json::value value = get(target);
  json::error_code error;
  const json::value* found = value.find_pointer(pointer, error);
  if (found == nullptr) return "";
  return found->is_string() ? std::string(found->get_string()) : json::serialize(*found);
}

std::string pod_text(const std::string& name, int cpus, const std::string& command) {
  const std::string resources =
      cpus == 0 ? "{}" : fmt::format(R"({{"limits": {{"cpu": "{}", "memory": "64Mi"}}}})", cpus);
  return fmt::format(
      R"({{"kind": "Pod", "metadata": {{"name": "{}"}}, "spec": {{"restartPolicy": "Never",
          "terminationGracePeriodSeconds": 1,
          "containers": [{{"name": "main", "command": ["/bin/sh", "-c", {}],
                           "resources": {}}}]}}}})",
      name, json::serialize(json::value(command)), resources);
}

}  // namespace corehold
