// SPDX-License-Identifier: Apache-2.0
#include "sys/http/http_server.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sys/file/file.h"
#include "sys/socket/socket_testing.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "corehold-http-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    start();
  }
  void TearDown() override {
    kept_.reset();
    server_.reset();
    loop_.restart();
    loop_.poll();
    fs::remove_all(directory_);
  }

  void start() {
    server_.reset();
    auto server = HttpServer::listen(
        loop_, {.path = path(),
                .limits = limits_,
                .gate = gate_,
                .handler = [this](const HttpExchangePtr& exchange) { handle(exchange); },
                .complaint =
                    [](int status, const std::string& message) {
                      return HttpResponse{.status = status, .body = message};
                    }});
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }

  void handle(const HttpExchangePtr& exchange) {
    const HttpRequest& request = exchange->request();
    if (request.target == "/keep") {
      kept_ = exchange;
      exchange->on_gone([this] { ++gone_; });
      return;
    }
    if (request.target == "/stream") {
      exchange->begin(200, "text/plain");
      kept_ = exchange;
      exchange->on_gone([this] { ++gone_; });
      return;
    }
    if (request.target == "/unchanged") return exchange->answer({.status = 304});
    exchange->answer({.body = fmt::format("{} {} {} as {}", request.method, request.target,
                                          request.body, request.peer.pid)});
  }

  std::string path() const { return directory_ + "/socket"; }
  RawClient client() { return {loop_, connect_unix(path())}; }
  void turn() {
    loop_.restart();
    loop_.run_for(5ms);
    loop_.restart();
    loop_.poll();
  }

  boost::asio::io_context loop_;
  std::string directory_;
  HttpLimits limits_{.header_bytes = 1024, .body_bytes = 2000, .stream_bytes = 100'000};
  std::function<HttpAdmission(const HttpRequest&)> gate_;
  std::unique_ptr<HttpServer> server_;
  HttpExchangePtr kept_;
  int gone_ = 0;
};

TEST_F(HttpServerTest, AnswersAndKnowsThePeer) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string answer = peer.receive("as ");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find(fmt::format("GET /a?b=c  as {}", ::getpid())), std::string::npos) << answer;
}

TEST_F(HttpServerTest, TakesSeveralRequestsOnOneConnection) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n"));
  const std::string answer = peer.receive("GET /2");
  EXPECT_NE(answer.find("GET /1"), std::string::npos) << answer;
  EXPECT_NE(answer.find("GET /2"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, TakesARequestThatComesInPieces) {
  RawClient peer = client();
  for (const char c : std::string("POST /p HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")) {
    ASSERT_TRUE(peer.send(std::string(1, c)));
    loop_.restart();
    loop_.poll();
  }
  EXPECT_NE(peer.receive("abc").find("POST /p abc"), std::string::npos);
}

TEST_F(HttpServerTest, SaysContinueToThoseWhoAsk) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("POST /p HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"));
  EXPECT_TRUE(peer.receive("\r\n\r\n").starts_with("HTTP/1.1 100 Continue\r\n"));
  ASSERT_TRUE(peer.send("abc"));
  EXPECT_NE(peer.receive("abc").find("POST /p abc"), std::string::npos);
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttpAndHangsUp) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("\x16\x03\x01 hello\r\n\r\n"));
  const std::string answer = peer.receive();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTest, RefusesABodyBeyondTheLimit) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("POST / HTTP/1.1\r\nContent-Length: 2001\r\n\r\n"));
  const std::string answer = peer.receive();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
  EXPECT_NE(answer.find("the body is larger than 2000 bytes"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, RefusesAChunkedBodyBeyondTheLimit) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" +
                        std::string(2048, 'x') + "\r\n0\r\n\r\n"));
  EXPECT_TRUE(peer.receive().starts_with("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, RefusesAHeaderBeyondTheLimit) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nX: " + std::string(5000, 'x') + "\r\n\r\n"));
  EXPECT_TRUE(peer.receive().starts_with("HTTP/1.1 431 "));
}

// Beast throws for a field of 64 KiB, and the limit of headers is not that of trailers.
TEST_F(HttpServerTest, RefusesATrailerBeyondTheLimit) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n";
  for (const std::string& trailer :
       {"x: " + std::string(70'000, 'y') + "\r\n\r\n", std::string(70'000, 'y') + ": x\r\n\r\n",
        "x: " + std::string(3000, 'y')}) {
    RawClient peer = client();
    peer.send(head + trailer);
    EXPECT_TRUE(peer.receive().starts_with("HTTP/1.1 431 ")) << trailer.size();
  }
  RawClient peer = client();
  ASSERT_TRUE(peer.send(head + "x: y\r\n\r\n"));
  EXPECT_TRUE(peer.receive("ab").starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, RefusesTheHeadOfAChunkBeyondTheLimit) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;" +
                        std::string(3000, 'x')));
  EXPECT_TRUE(peer.receive().starts_with("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, RefusesATransferEncodingThatItDoesNotKnow) {
  for (const std::string encoding : {"xchunked", "gzip, chunked", "chunked, chunked", "identity"}) {
    RawClient peer = client();
    ASSERT_TRUE(peer.send("POST / HTTP/1.1\r\nTransfer-Encoding: " + encoding +
                          "\r\n\r\n2\r\nab\r\n0\r\n\r\n"));
    const std::string answer = peer.receive();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << encoding << ": " << answer;
    EXPECT_EQ(answer.find("HTTP/1.1 ", 1), std::string::npos) << "two answers to " << encoding;
  }
}

TEST_F(HttpServerTest, LetsGoOfAPeerThatSendsHalfARequest) {
  limits_.header = 0s;
  start();
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET / HT"));
  peer.receive();
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTest, LetsGoOfAPeerWhoseBodyDoesNotCome) {
  limits_.idle = 0s;
  start();
  RawClient peer = client();
  ASSERT_TRUE(peer.send("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"));
  peer.receive();
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTest, LetsGoOfAPeerThatSendsAHeaderForEver) {
  limits_.header = 1s;
  limits_.header_bytes = 1U << 20U;
  start();
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nX: "));
  // Every byte is progress, and does not help.
  int sent = 0;
  while (peer.send("x") && sent < 100'000) {
    ++sent;
    turn();
  }
  EXPECT_LT(sent, 100'000);
}

TEST_F(HttpServerTest, LetsGoOfTheOneThatHasAskedNothingForLongest) {
  limits_.connections = 3;
  start();
  RawClient busy = client();
  ASSERT_TRUE(busy.send("GET /keep HTTP/1.1\r\n\r\n"));
  turn();
  RawClient oldest = client();
  ASSERT_TRUE(oldest.send("GET /half"));
  turn();
  RawClient young = client();
  ASSERT_TRUE(young.send("GET /1 HTTP/1.1\r\n\r\n"));
  young.receive("as ");
  RawClient fresh = client();
  ASSERT_TRUE(fresh.send("GET /2 HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(fresh.receive("as ").starts_with("HTTP/1.1 200 "));
  oldest.receive();
  EXPECT_TRUE(oldest.closed());
  ASSERT_TRUE(young.send("GET /3 HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(young.receive("as ").starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerTest, BoundsAllBodiesTogether) {
  limits_.all_bodies_bytes = 2500;
  start();
  RawClient first = client();
  ASSERT_TRUE(
      first.send("POST /1 HTTP/1.1\r\nContent-Length: 1501\r\n\r\n" + std::string(1500, 'x')));
  turn();
  RawClient second = client();
  ASSERT_TRUE(
      second.send("POST /2 HTTP/1.1\r\nContent-Length: 1501\r\n\r\n" + std::string(1501, 'x')));
  EXPECT_TRUE(second.receive("at once").starts_with("HTTP/1.1 503 "));
  ASSERT_TRUE(first.send("x"));
  EXPECT_TRUE(first.receive("as ").starts_with("HTTP/1.1 200 "));
  RawClient third = client();
  ASSERT_TRUE(
      third.send("POST /3 HTTP/1.1\r\nContent-Length: 1501\r\n\r\n" + std::string(1501, 'x')));
  EXPECT_TRUE(third.receive("as ").starts_with("HTTP/1.1 200 ")) << "what has gone does not count";
}

TEST_F(HttpServerTest, ShowsItsRefusalToAPeerThatStillSends) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("POST / HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n"));
  const std::string piece(64'000, 'x');
  std::size_t sent = 0;
  while (sent < 100'000'000 && peer.send(piece)) {
    sent += piece.size();
    turn();
  }
  EXPECT_LT(sent, 10'000'000U) << "it is not all read";
  EXPECT_TRUE(peer.receive().starts_with("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, AsksTheGateBeforeItReadsTheBody) {
  gate_ = [](const HttpRequest& request) -> HttpAdmission {
    if (request.authorization == "Bearer right") return {};
    return {.refusal = HttpResponse{.status = 401, .body = "who are you"},
            .is_authenticated = false};
  };
  start();
  RawClient peer = client();
  ASSERT_TRUE(peer.send("POST /1 HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n"));
  const std::string answer = peer.receive("who are you");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  RawClient other = client();
  ASSERT_TRUE(other.send("GET /2 HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(other.receive("who are you").starts_with("HTTP/1.1 401 "));
  ASSERT_TRUE(other.send("GET /3 HTTP/1.1\r\nAuthorization: Bearer right\r\n\r\n"));
  EXPECT_NE(other.receive("as ").find("GET /3"), std::string::npos);
}

TEST_F(HttpServerTest, GoesOnWithAPeerThatWasWatched) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /keep HTTP/1.1\r\n\r\n"));
  turn();
  ASSERT_NE(kept_, nullptr);
  ASSERT_TRUE(peer.send("GET /next HTTP/1.1\r\n\r\n"));
  turn();
  kept_->answer({.body = "kept"});
  const std::string answer = peer.receive("as ");
  EXPECT_NE(answer.find("kept"), std::string::npos) << answer;
  EXPECT_NE(answer.find("GET /next"), std::string::npos) << answer;
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerTest, DropsAPeerThatTalksAndTalksWhileItWaits) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.1\r\n\r\n"));
  peer.receive("\r\n\r\n");
  static_cast<void>(peer.send(std::string(5000, 'x')));
  peer.receive();
  EXPECT_TRUE(peer.closed());
  EXPECT_EQ(gone_, 1);
}

TEST_F(HttpServerTest, HangsUpWhenNobodyIsLeftToAnswer) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /keep HTTP/1.1\r\n\r\n"));
  turn();
  kept_.reset();
  peer.receive();
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTest, LeavesFilesToOpenForOthers) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 316, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 21; ++i) {
    idle.push_back(std::make_unique<RawClient>(loop_, connect_unix(path())));
    turn();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  idle[0]->receive();
  EXPECT_TRUE(idle[0]->closed()) << "20 are a third of what is left";
  ASSERT_TRUE(idle[1]->send("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(idle[1]->receive("as ").starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, SaysNothingOfABodyThatCannotBe) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /unchanged HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\n"));
  const std::string answers = peer.receive("as ");
  EXPECT_TRUE(answers.starts_with("HTTP/1.1 304 ")) << answers;
  EXPECT_GT(answers.find("Content-Length"), answers.find("HTTP/1.1 200 ")) << answers;
}

TEST_F(HttpServerTest, RefusesMoreConnectionsThanAllowed) {
  limits_.connections = 1;
  start();
  RawClient first = client();
  ASSERT_TRUE(first.send("GET /keep HTTP/1.1\r\n\r\n"));
  turn();
  RawClient second = client();
  EXPECT_TRUE(second.receive("\r\n\r\n").starts_with("HTTP/1.1 503 "));
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("HEAD /a HTTP/1.1\r\nConnection: close\r\n\r\n"));
  const std::string answer = peer.receive();
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  EXPECT_TRUE(peer.closed());
}

TEST_F(HttpServerTest, StreamsInChunks) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.1\r\n\r\n"));
  const std::string head = peer.receive("\r\n\r\n");
  EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos) << head;
  kept_->write("one\n");
  EXPECT_EQ(peer.receive("one\n\r\n"), "4\r\none\n\r\n");
  kept_->write("two\n");
  kept_->end();
  EXPECT_EQ(peer.receive(), "4\r\ntwo\n\r\n0\r\n\r\n");
  EXPECT_TRUE(peer.closed());
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerTest, StreamsPlainlyToAnOldPeer) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.0\r\n\r\n"));
  peer.receive("\r\n\r\n");
  kept_->write("one\n");
  kept_->end();
  EXPECT_EQ(peer.receive(), "one\n");
}

TEST_F(HttpServerTest, TellsWhenAPeerGoesBeforeItsAnswer) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /keep HTTP/1.1\r\n\r\n"));
  turn();
  ASSERT_NE(kept_, nullptr);
  EXPECT_EQ(gone_, 0);
  peer.close();
  turn();
  EXPECT_EQ(gone_, 1);
  kept_->answer({.body = "too late"});
  turn();
  EXPECT_EQ(gone_, 1);
}

TEST_F(HttpServerTest, TellsWhenAPeerGoesInTheMiddleOfAStream) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.1\r\n\r\n"));
  peer.receive("\r\n\r\n");
  peer.close();
  turn();
  EXPECT_EQ(gone_, 1);
}

TEST_F(HttpServerTest, DropsAPeerThatDoesNotTakeItsStream) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.1\r\n\r\n"));
  peer.receive("\r\n\r\n");
  for (int i = 0; i < 1000 && gone_ == 0; ++i) {
    kept_->write(std::string(10'000, 'x'));
    loop_.restart();
    loop_.poll();
  }
  EXPECT_EQ(gone_, 1);
}

TEST_F(HttpServerTest, TellsWhenTheNextPieceOfAStreamCanBeSent) {
  RawClient peer = client();
  ASSERT_TRUE(peer.send("GET /stream HTTP/1.0\r\n\r\n"));
  turn();
  ASSERT_NE(kept_, nullptr);
  // Far more in all than may wait.
  int pieces = 0;
  kept_->on_sent([this, &pieces] {
    if (++pieces > 100) return kept_->end();
    kept_->write(std::string(90'000, 'x'));
  });
  kept_->write("begin\n");
  turn();
  EXPECT_LT(pieces, 100) << "nobody has read them";
  std::string all = peer.receive();
  EXPECT_EQ(all.size() - all.find("begin\n"), 6 + 9'000'000U);
  EXPECT_TRUE(peer.closed());
  EXPECT_EQ(gone_, 0);
}

TEST_F(HttpServerTest, TakesTheSocketOfADeadServerButNothingElse) {
  server_->close();
  EXPECT_FALSE(fs::exists(path()));
  ASSERT_TRUE(write_file_atomically(path(), "precious"));
  const auto server = HttpServer::listen(loop_, {.path = path()});
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().message, fmt::format("listen on {}: something else is there", path()));
}

TEST_F(HttpServerTest, IsOpenToItsOwnerOnly) {
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(HttpServerTest, RefusesAPathThatNoSocketCanHave) {
  const auto server = HttpServer::listen(loop_, {.path = directory_ + "/" + std::string(100, 'x')});
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("a socket's at most 107"), std::string::npos);
}

}  // namespace
}  // namespace corehold
