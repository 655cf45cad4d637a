// SPDX-License-Identifier: Apache-2.0
#include "cli/client/agent_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/check.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

[[noreturn]] void serve(const std::string& directory, const FakeAgent::Handler& handler,
                        int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  boost::asio::io_context loop;
  const int log = ::open((directory + "/requests").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  HttpServerOptions options{.path = directory + "/run/corehold.sock"};
  options.handler = [&](const HttpExchangePtr& exchange) {
    const HttpRequest& request = exchange->request();
    std::string line = request.method + " " + request.target;
    if (!request.body.empty()) line += " " + request.body;
    static_cast<void>(write_all(log, line + "\n"));
    handler(exchange);
  };
  options.complaint = [](int status, const std::string& message) {
    return HttpResponse{.status = status, .body = message};
  };
  const auto server = HttpServer::listen(loop, std::move(options));
  CHECK(server.has_value());
  static_cast<void>(write_all(ready, "r"));
  loop.run();
  ::_exit(0);
}

}  // namespace

FakeAgent::FakeAgent(const Handler& handler) {
  std::string pattern = testing::TempDir() + "agent-XXXXXX";
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
  CHECK(::mkdir((directory_ + "/run").c_str(), 0700) == 0);
  std::array<int, 2> ends{};
  CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) serve(directory_, handler, ends[1]);
  std::ofstream(directory_ + "/pid") << pid_;
  ::close(ends[1]);
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == 1);
  ::close(ends[0]);
}

FakeAgent::~FakeAgent() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  std::error_code ec;
  std::filesystem::remove_all(directory_, ec);
}

std::string FakeAgent::requests() const {
  std::ifstream file(directory_ + "/requests");
  return {std::istreambuf_iterator<char>(file), {}};
}

void answer_with(const HttpExchangePtr& exchange, int status, std::string body) {
  exchange->answer({.status = status, .body = std::move(body)});
}

}  // namespace corehold
