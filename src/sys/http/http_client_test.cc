// SPDX-License-Identifier: Apache-2.0
#include "sys/http/http_client.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "sys/file/file.h"
#include "sys/http/http_server.h"
#include "sys/socket/socket_address.h"
#include "sys/socket/socket_testing.h"
#include "sys/socket/tls.h"

namespace corehold {
namespace {

class HttpClient : public testing::Test {
 protected:
  HttpClient() {
    std::string pattern = testing::TempDir() + "client-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/socket";
  }
  ~HttpClient() override {
    end_server();
    std::error_code ec;
    std::filesystem::remove_all(directory_, ec);
  }

  void end_server() {
    if (server_ <= 0) return;
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
    server_ = 0;
  }

  // In a process of its own.
  void serve(const std::function<void(const HttpExchangePtr&)>& handler) {
    serve({.path = path_}, handler);
  }
  // The same over TLS; the endpoint to ask.
  HttpEndpoint serve_tls(const std::function<void(const HttpExchangePtr&)>& handler,
                         const TestPki& pki) {
    auto tls = TlsContext::for_server(pki.server);
    EXPECT_TRUE(tls);
    serve({.address = "127.0.0.1:0", .tls = std::make_shared<TlsContext>(*std::move(tls))},
          handler);
    return {.host = "127.0.0.1",
            .port = parse_socket_address(place_)->port,
            .authority = pki.authority.certificate,
            .token = "secret"};
  }
  void serve(HttpServerOptions options,
             const std::function<void(const HttpExchangePtr&)>& handler) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    end_server();
    server_ = ::fork();
    ASSERT_GE(server_, 0);
    if (server_ == 0) {
      boost::asio::io_context loop;
      options.handler = handler;
      options.complaint = [](int status, const std::string& message) {
        return HttpResponse{.status = status, .body = message};
      };
      const auto server = HttpServer::listen(loop, std::move(options));
      static_cast<void>(write_all(ends[1], (*server)->place() + "\n"));
      loop.run();
      ::_exit(0);
    }
    char byte = 0;
    place_.clear();
    while (::read(ends[0], &byte, 1) == 1 && byte != '\n') place_ += byte;
    ASSERT_FALSE(place_.empty());
    ::close(ends[0]);
    ::close(ends[1]);
  }

  // A server that sends these bytes, whatever it is asked, and hangs up.
  void serve_bytes(const std::string& bytes) {
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how the kernel wants it
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    server_ = ::fork();
    ASSERT_GE(server_, 0);
    if (server_ == 0) {
      const int peer = ::accept(listener, nullptr, nullptr);
      char request[4096];
      static_cast<void>(!::read(peer, request, sizeof(request)));
      static_cast<void>(write_all(peer, bytes));
      ::_exit(0);
    }
    ::close(listener);
  }

  std::string directory_{};
  std::string path_{};
  std::string place_{};  // where the server says it is
  pid_t server_ = 0;
};

TEST_F(HttpClient, AsksAndIsAnswered) {
  serve([](const HttpExchangePtr& exchange) {
    const HttpRequest& request = exchange->request();
    exchange->answer({.status = 201,
                      .body = request.method + " " + request.target + " " + request.content_type +
                              " " + request.body});
  });
  const auto answer = ask(path_, {.method = "POST", .target = "/a?b=c", .body = "{}"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "POST /a?b=c application/json {}");
}

TEST_F(HttpClient, ReadsAnswersOfAnySizeAndNone) {
  serve([](const HttpExchangePtr& exchange) {
    const bool large = exchange->request().target == "/large";
    exchange->answer({.status = 200, .body = large ? std::string(3'000'000, 'x') : ""});
  });
  EXPECT_EQ(ask(path_, {.target = "/large"})->body, std::string(3'000'000, 'x'));
  EXPECT_EQ(ask(path_, {})->body, "");
}

TEST_F(HttpClient, ReadsAStreamLineByLine) {
  serve([](const HttpExchangePtr& exchange) {
    exchange->begin(200, "text/plain");
    exchange->write("one\ntw");
    exchange->write("o\n\nlast");
    exchange->end();
  });
  auto stream = open_stream(path_, {});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(stream->status(), 200);
  for (const char* line : {"one", "two", "", "last"}) EXPECT_EQ(**stream->next_line(), line);
  EXPECT_EQ(*stream->next_line(), std::nullopt);
  EXPECT_EQ(*stream->next_line(), std::nullopt);
}

TEST_F(HttpClient, NoticesAServerThatGoesInTheMiddle) {
  serve_bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n");
  auto stream = open_stream(path_, {});
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(**stream->next_line(), "one");
  const auto next = stream->next_line();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Code::kIo);
}

TEST_F(HttpClient, RefusesWhatIsNoHttp) {
  serve_bytes("SSH-2.0-OpenSSH_9.2\r\n");
  const auto answer = ask(path_, {});
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().message.starts_with("the agent on " + path_ + " has gone away: "))
      << answer.error().message;
}

TEST_F(HttpClient, SaysThatNobodyListens) {
  const std::string expected =
      "no agent is listening on " + path_ + "; start one with corehold agent";
  EXPECT_EQ(ask(path_, {}).error().message, expected);
  // A socket that nobody serves any more.
  serve_bytes("");
  end_server();
  EXPECT_EQ(ask(path_, {}).error().message, expected);
  EXPECT_EQ(ask(path_, {}).error().code, Code::kNotFound);
}

TEST_F(HttpClient, GivesUpOnAServerThatDoesNotAnswer) {
  serve([](const HttpExchangePtr&) {});
  ::kill(server_, SIGSTOP);
  const std::string expected = "the agent at " + path_ + " does not answer";
  const std::chrono::milliseconds patience(50);
  EXPECT_EQ(ask(path_, {.patience = patience}).error().message, expected);
  // More than the socket takes while nobody reads.
  EXPECT_EQ(
      ask(path_, {.method = "POST", .body = std::string(4'000'000, 'x'), .patience = patience})
          .error()
          .message,
      expected);
}

TEST_F(HttpClient, GivesUpOnAServerThatTakesNoConnection) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how the kernel wants it
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  const int waiting = ::socket(AF_UNIX, SOCK_STREAM, 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how the kernel wants it
  ASSERT_EQ(::connect(waiting, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(ask(path_, {.patience = std::chrono::milliseconds(50)}).error().message,
            "the agent at " + path_ + " does not answer");
  ::close(waiting);
  ::close(listener);
}

TEST_F(HttpClient, TellsAUserWhoMayNotHowToBeAllowed) {
  serve([](const HttpExchangePtr& exchange) { exchange->answer({}); });
  if (::geteuid() == 0) {
    ASSERT_EQ(::seteuid(65534), 0);
  } else {
    ASSERT_EQ(::chmod(path_.c_str(), 0), 0);
  }
  const auto answer = ask(path_, {});
  static_cast<void>(::seteuid(::getuid()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message,
            "this user may not use " + path_ +
                " (EACCES): run this as root, or let a group of this user use it with `listen: "
                "{socketGroup: GROUP}` in the CoreholdConfiguration of the agent's --config file");
}

TEST_F(HttpClient, AsksOverTlsWithItsToken) {
  const HttpEndpoint endpoint = serve_tls(
      [](const HttpExchangePtr& exchange) {
        const HttpRequest& request = exchange->request();
        exchange->answer({.body = request.authorization + " " + request.accept + " " +
                                  std::to_string(request.body.size())});
      },
      test_pki());
  const auto answer =
      ask(endpoint,
          {.method = "POST", .body = std::string(1'000'000, 'x'), .accept = "application/yaml"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "Bearer secret application/yaml 1000000");
}

TEST_F(HttpClient, ReadsAStreamOverTls) {
  const HttpEndpoint endpoint = serve_tls(
      [](const HttpExchangePtr& exchange) {
        exchange->begin(200, "text/plain");
        exchange->write("one\ntw");
        exchange->write("o\n");
        exchange->write(std::string(900'000, 'x'));
        exchange->end();
      },
      test_pki());
  auto stream = open_stream(endpoint, {});
  ASSERT_TRUE(stream) << stream.error().message;
  for (const char* line : {"one", "two"}) EXPECT_EQ(**stream->next_line(), line);
  EXPECT_EQ(**stream->next_line(), std::string(900'000, 'x'));
  EXPECT_EQ(*stream->next_line(), std::nullopt);
}

TEST_F(HttpClient, TrustsNobodyElse) {
  HttpEndpoint endpoint =
      serve_tls([](const HttpExchangePtr& exchange) { exchange->answer({}); }, test_pki());
  const std::string right = std::exchange(endpoint.authority, test_pki().authority.certificate);
  const auto stranger = ask(endpoint, {});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Code::kIo);
  EXPECT_TRUE(stranger.error().message.starts_with("speak TLS with " + endpoint.text() +
                                                   ": its certificate cannot be trusted: "))
      << stranger.error().message;
  endpoint.authority = "";
  EXPECT_EQ(ask(endpoint, {}).error().code, Code::kInvalid);
  endpoint.authority = right;
  endpoint.host = "localhost";
  EXPECT_TRUE(ask(endpoint, {}));
}

TEST_F(HttpClient, SaysThatNobodyListensOnThatPort) {
  HttpEndpoint endpoint =
      serve_tls([](const HttpExchangePtr& exchange) { exchange->answer({}); }, test_pki());
  end_server();
  const auto answer = ask(endpoint, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_EQ(answer.error().message,
            "no agent is listening on " + endpoint.text() + "; start one with corehold agent");
}

TEST_F(HttpClient, GivesUpOnAServerThatDoesNotFinishItsHandshake) {
  const HttpEndpoint endpoint =
      serve_tls([](const HttpExchangePtr& exchange) { exchange->answer({}); }, test_pki());
  ::kill(server_, SIGSTOP);
  EXPECT_EQ(ask(endpoint, {.patience = std::chrono::milliseconds(50)}).error().message,
            "the agent at " + endpoint.text() + " does not answer");
}

TEST_F(HttpClient, SeesTheRefusalOfABodyThatIsTooLarge) {
  serve([](const HttpExchangePtr& exchange) { exchange->answer({}); });
  const std::string body(std::size_t{20} << 20U, 'x');
  const auto answer = ask(path_, {.method = "POST", .body = body});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
  const HttpEndpoint endpoint =
      serve_tls([](const HttpExchangePtr& exchange) { exchange->answer({}); }, test_pki());
  const auto other = ask(endpoint, {.method = "POST", .body = body});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->status, 413);
}

TEST_F(HttpClient, SaysThatThePathIsTooLong) {
  EXPECT_EQ(ask(std::string(200, 'x'), {}).error().code, Code::kInvalid);
}

TEST(UrlEscape, KeepsNamesAndEscapesTheRest) {
  EXPECT_EQ(url_escape("pg-0.a_b~C"), "pg-0.a_b~C");
  EXPECT_EQ(url_escape("a b/../?&=\xff%"), "a%20b%2F..%2F%3F%26%3D%FF%25");
}

}  // namespace
}  // namespace corehold
