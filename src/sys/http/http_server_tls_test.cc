// SPDX-License-Identifier: Apache-2.0
//
// The HTTP server over TCP with TLS. What both kinds of connection share is in
// http_server_test.cc.
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sys/http/http_server.h"
#include "sys/socket/socket_address.h"
#include "sys/socket/socket_testing.h"
#include "sys/socket/tls.h"

namespace corehold {
namespace {

using namespace std::chrono_literals;

const TestPki& pki() {
  static const TestPki kMade = test_pki();
  return kMade;
}

class HttpServerTls : public testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override {
    kept_.reset();
    server_.reset();
    loop_.restart();
    loop_.poll();
  }

  HttpServerOptions options() {
    auto tls = TlsContext::for_server(pki().server);
    EXPECT_TRUE(tls);
    return {.address = "127.0.0.1:0",
            .tls = std::make_shared<TlsContext>(*std::move(tls)),
            .limits = limits_,
            .gate = gate_,
            .handler = [this](const HttpExchangePtr& exchange) { handle(exchange); },
            .complaint =
                [](int status, const std::string& message) {
                  return HttpResponse{.status = status, .body = message};
                }};
  }

  void start() {
    server_.reset();
    auto server = HttpServer::listen(loop_, options());
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    port_ = parse_socket_address(server_->place())->port;
    ASSERT_NE(port_, 0);
  }

  void handle(const HttpExchangePtr& exchange) {
    const HttpRequest& request = exchange->request();
    if (request.target == "/stream") {
      exchange->begin(200, "text/plain");
      kept_ = exchange;
      exchange->on_gone([this] { ++gone_; });
      return;
    }
    exchange->answer(
        {.body = fmt::format("{} {} {} {}", request.method, request.target, request.body.size(),
                             request.over_tls ? "over TLS" : "plainly")});
  }

  RawClient client() { return {loop_, connect_tcp(port_), trust_}; }
  RawClient plain_client() { return {loop_, connect_tcp(port_)}; }
  void turn() {
    loop_.restart();
    loop_.run_for(1ms);
    loop_.restart();
    loop_.poll();
  }
  template <typename Condition>
  bool comes_true(Condition condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) turn();
    return condition();
  }

  boost::asio::io_context loop_;
  TlsContext trust_ = *TlsContext::for_client(pki().authority.certificate);
  HttpLimits limits_{.header_bytes = 1024, .body_bytes = 200'000, .stream_bytes = 100'000};
  std::function<HttpAdmission(const HttpRequest&)> gate_{};
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
  HttpExchangePtr kept_;
  int gone_ = 0;
};

TEST_F(HttpServerTls, AnswersSeveralRequestsOnOneConnection) {
  RawClient peer = client();
  ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
  ASSERT_TRUE(peer.send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n")) << peer.trouble();
  const std::string answers = peer.receive("GET /2 0 over TLS");
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 200 OK\r\n")) << answers;
  EXPECT_NE(answers.find("GET /1 0 over TLS"), std::string::npos) << answers;
  ASSERT_TRUE(peer.send("GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n"));
  EXPECT_NE(peer.receive().find("GET /3"), std::string::npos);
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTls, TakesABodyOfManyRecords) {
  RawClient peer = client();
  ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
  ASSERT_TRUE(
      peer.send("POST /p HTTP/1.1\r\nContent-Length: 150000\r\n\r\n" + std::string(150'000, 'x')));
  EXPECT_NE(peer.receive("over TLS").find("POST /p 150000 over TLS"), std::string::npos);
}

TEST_F(HttpServerTls, ProvesWhoItIs) {
  const TestPki other = test_pki();
  const TlsContext distrust = *TlsContext::for_client(other.authority.certificate);
  RawClient peer(loop_, connect_tcp(port_), distrust);
  EXPECT_FALSE(peer.shake_hands());
  EXPECT_TRUE(peer.trouble().starts_with("its certificate cannot be trusted: ")) << peer.trouble();
}

TEST_F(HttpServerTls, TellsAClientThatForgetsTls) {
  for (const char* method : {"GET", "PATCH"}) {
    RawClient peer = plain_client();
    ASSERT_TRUE(
        peer.send(fmt::format("{} /api/v1/pods HTTP/1.1\r\nAuthorization: x\r\n\r\n", method)));
    const std::string answer = peer.receive();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << answer;
    const std::size_t body = answer.find("\r\n\r\n") + 4;
    EXPECT_EQ(answer.substr(body), "Client sent an HTTP request to an HTTPS server.\n");
    EXPECT_NE(answer.find(fmt::format("Content-Length: {}\r\n", answer.size() - body)),
              std::string::npos);
    EXPECT_TRUE(peer.closed());
  }
}

TEST_F(HttpServerTls, HangsUpOnWhatIsNeitherTlsNorHttp) {
  RawClient peer = plain_client();
  ASSERT_TRUE(peer.send(std::string(100, '\0')));
  peer.receive();
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTls, LetsGoOfAPeerThatDoesNotFinishItsHandshake) {
  limits_.header = 0s;
  start();
  RawClient silent = plain_client();
  RawClient half = plain_client();
  ASSERT_TRUE(half.send("\x16\x03\x01"));
  silent.receive();
  EXPECT_TRUE(silent.closed());
  half.receive();
  EXPECT_TRUE(half.closed());
}

TEST_F(HttpServerTls, LetsAHalfHandshakeGiveWay) {
  limits_.connections = 2;
  start();
  std::vector<std::unique_ptr<RawClient>> halves;
  for (int i = 0; i < 20; ++i) {
    halves.push_back(std::make_unique<RawClient>(loop_, connect_tcp(port_)));
    ASSERT_TRUE(halves.back()->send("\x16\x03\x01"));
    turn();
  }
  RawClient peer = client();
  ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
  ASSERT_TRUE(peer.send("GET /1 HTTP/1.1\r\n\r\n"));
  EXPECT_NE(peer.receive("over TLS").find("GET /1"), std::string::npos);
}

// Few connections: 20 of peers with a token, and 4 in each step of others.
class HttpServerTlsStrangers : public HttpServerTls {
 protected:
  void SetUp() override {
    limits_.connections = 32;
    limits_.unauthenticated = 4;
    limits_.all_bodies_bytes = 300'000;
    gate_ = [](const HttpRequest& request) -> HttpAdmission {
      if (request.authorization == "Bearer right") return {};
      if (request.target == "/healthz") return {.is_authenticated = false};
      return {.refusal = HttpResponse{.status = 401, .body = "who are you"},
              .is_authenticated = false};
    };
    start();
  }

  // A connection that says this, if TLS is wanted after the handshake.
  RawClient& stranger(std::string_view text) {
    strangers_.push_back(std::make_unique<RawClient>(loop_, connect_tcp(port_), trust_));
    RawClient& peer = *strangers_.back();
    EXPECT_TRUE(peer.shake_hands()) << peer.trouble();
    EXPECT_TRUE(peer.send(text)) << peer.trouble();
    turn();
    return peer;
  }
  RawClient& silent_stranger(std::string_view text) {
    strangers_.push_back(std::make_unique<RawClient>(loop_, connect_tcp(port_)));
    EXPECT_TRUE(strangers_.back()->send(text));
    turn();
    return *strangers_.back();
  }
  std::string ask(RawClient& peer, std::string_view line, std::string_view more = "") {
    if (!peer.send(fmt::format("{} HTTP/1.1\r\nAuthorization: Bearer right\r\n{}", line, more))) {
      return "";
    }
    return peer.receive("over TLS");
  }
  void expect_served() {
    RawClient peer = client();
    ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
    const std::string body = "Content-Length: 150000\r\n\r\n" + std::string(150'000, 'x');
    EXPECT_NE(ask(peer, "POST /p", body).find("POST /p 150000"), std::string::npos);
  }

  std::vector<std::unique_ptr<RawClient>> strangers_;
  std::vector<HttpExchangePtr> streams_;
};

TEST_F(HttpServerTlsStrangers, HaveNoBodyRead) {
  for (const char* more :
       {"Content-Length: 150000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nffff\r\n",
        "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"}) {
    for (const char* version : {"HTTP/1.1", "HTTP/1.0"}) {
      RawClient& peer = stranger(fmt::format("POST /healthz {}\r\n{}", version, more));
      const std::string answer = peer.receive("\r\n\r\n");
      EXPECT_NE(answer.find(" 401 "), std::string::npos) << answer;
      EXPECT_EQ(answer.find("100 Continue"), std::string::npos) << answer;
    }
  }
  RawClient& peer = stranger("GET /healthz HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(peer.receive("over TLS").find("GET /healthz 0"), std::string::npos);
}

TEST_F(HttpServerTlsStrangers, DoNotUseUpWhatBodiesMayTakeTogether) {
  for (int i = 0; i < 8; ++i) {
    stranger("POST /healthz HTTP/1.1\r\nContent-Length: 150000\r\n\r\n" +
             std::string(100'000, 'x'));
  }
  expect_served();
}

TEST_F(HttpServerTlsStrangers, KeepNobodyWithATokenOut) {
  RawClient first = client();
  ASSERT_TRUE(first.shake_hands()) << first.trouble();
  ASSERT_NE(ask(first, "GET /1", "\r\n").find("GET /1"), std::string::npos);
  RawClient streaming = client();
  ASSERT_TRUE(streaming.shake_hands()) << streaming.trouble();
  ASSERT_TRUE(streaming.send("GET /stream HTTP/1.1\r\nAuthorization: Bearer right\r\n\r\n"));
  ASSERT_TRUE(comes_true([this] { return kept_ != nullptr; }));
  for (int i = 0; i < 30; ++i) {
    silent_stranger("");
    silent_stranger("\x16\x03\x01");
    stranger("");
    stranger("GET /healthz HTTP/1.1\r\nX: ");
    stranger("GET /healthz HTTP/1.1\r\n\r\n");
    stranger("GET /pods HTTP/1.1\r\n\r\n");
    stranger("POST /healthz HTTP/1.1\r\nContent-Length: 10\r\n\r\n");
  }
  expect_served();
  EXPECT_NE(ask(first, "GET /2", "\r\n").find("GET /2"), std::string::npos)
      << "a quiet peer with a token was let go for strangers";
  EXPECT_EQ(gone_, 0);
  int open = 0;
  for (auto& peer : strangers_) {
    char byte = 0;
    const auto got = ::recv(peer->descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) ++open;
  }
  EXPECT_LE(open, 12) << "four in each step";
}

TEST_F(HttpServerTlsStrangers, DoNotPushEachOtherOutOfAnotherStep) {
  RawClient& polite = stranger("");
  for (int i = 0; i < 30; ++i) {
    silent_stranger("");
    silent_stranger("\x16\x03\x01");
  }
  ASSERT_TRUE(polite.send("GET /healthz HTTP/1.1\r\n\r\n"));
  EXPECT_NE(polite.receive("over TLS").find("GET /healthz"), std::string::npos);
}

TEST_F(HttpServerTlsStrangers, AreKeptForAShortTimeOnly) {
  limits_.header = 0s;
  limits_.idle = 600s;
  start();
  RawClient peer = client();
  // Whether the handshake is in time or not, nothing comes after it.
  static_cast<void>(peer.shake_hands());
  peer.receive();
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTlsStrangers, ShareNoLimitWithPeersThatHaveAToken) {
  std::vector<std::unique_ptr<RawClient>> known;
  for (int i = 0; i < 20; ++i) {
    known.push_back(std::make_unique<RawClient>(loop_, connect_tcp(port_), trust_));
    ASSERT_TRUE(known.back()->shake_hands());
    ASSERT_TRUE(known.back()->send("GET /stream HTTP/1.1\r\nAuthorization: Bearer right\r\n\r\n"));
    ASSERT_NE(known.back()->receive("\r\n\r\n").find(" 200 "), std::string::npos);
    streams_.push_back(std::exchange(kept_, nullptr));
  }
  RawClient one_more = client();
  ASSERT_TRUE(one_more.shake_hands()) << one_more.trouble();
  ASSERT_TRUE(one_more.send("GET /1 HTTP/1.1\r\nAuthorization: Bearer right\r\n\r\n"));
  EXPECT_NE(one_more.receive("may be").find(" 503 "), std::string::npos);
  RawClient& health = stranger("GET /healthz HTTP/1.1\r\n\r\n");
  EXPECT_NE(health.receive("over TLS").find("GET /healthz"), std::string::npos);
  streams_.clear();
}

TEST_F(HttpServerTls, StreamsAndTellsWhenAPeerGoes) {
  RawClient peer = client();
  ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.1\r\n\r\n"));
  peer.receive("\r\n\r\n");
  kept_->write("one\n");
  EXPECT_EQ(peer.receive("one\n\r\n"), "4\r\none\n\r\n");
  EXPECT_EQ(gone_, 0);
  peer.close();
  EXPECT_TRUE(comes_true([this] { return gone_ == 1; }));
}

TEST_F(HttpServerTls, TellsWhenTheNextPieceOfAStreamCanBeSent) {
  RawClient peer = client();
  ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(comes_true([this] { return kept_ != nullptr; }));
  int pieces = 0;
  kept_->on_sent([this, &pieces] {
    if (++pieces > 200) return kept_->end();
    kept_->write(std::string(90'000, 'x'));
  });
  kept_->write("begin\n");
  turn();
  EXPECT_LT(pieces, 200) << "nobody has read them";
  const std::string all = peer.receive();
  EXPECT_EQ(all.size() - all.find("begin\n"), 6 + 18'000'000U);
  EXPECT_TRUE(peer.closed());
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerTls, DropsAPeerThatDoesNotTakeItsStream) {
  RawClient peer = client();
  ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.1\r\n\r\n"));
  peer.receive("\r\n\r\n");
  for (int i = 0; i < 10'000 && gone_ == 0; ++i) {
    kept_->write(std::string(10'000, 'x'));
    loop_.restart();
    loop_.poll();
  }
  EXPECT_EQ(gone_, 1);
}

TEST_F(HttpServerTls, ShowsItsRefusalToAPeerThatStillSends) {
  RawClient peer = client();
  ASSERT_TRUE(peer.shake_hands()) << peer.trouble();
  ASSERT_TRUE(peer.send("POST / HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n"));
  const std::string piece(16'000, 'x');
  std::size_t sent = 0;
  while (sent < 100'000'000 && peer.send(piece)) {
    sent += piece.size();
    turn();
  }
  EXPECT_LT(sent, 10'000'000U) << "it is not all read";
  EXPECT_TRUE(peer.receive().starts_with("HTTP/1.1 413 "));
}

TEST_F(HttpServerTls, SaysThatThePortIsTaken) {
  HttpServerOptions second = options();
  second.address = server_->place();
  const auto server = HttpServer::listen(loop_, std::move(second));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kConflict);
  EXPECT_EQ(server.error().message,
            fmt::format("listen on {}: something else listens there", server_->place()));
}

TEST_F(HttpServerTls, ListensOnIpv6) {
  HttpServerOptions second = options();
  second.address = "[::1]:0";
  const auto server = HttpServer::listen(loop_, std::move(second));
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_TRUE((*server)->place().starts_with("[::1]:")) << (*server)->place();
  EXPECT_NE((*server)->place(), "[::1]:0");
}

}  // namespace
}  // namespace corehold
