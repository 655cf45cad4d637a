// SPDX-License-Identifier: Apache-2.0
#include "sys/socket/tls.h"

#include <sys/socket.h>

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sys/clock.h"
#include "sys/descriptor.h"
#include "sys/socket/socket_address.h"
#include "sys/socket/socket_testing.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::chrono::seconds now() { return std::chrono::duration_cast<std::chrono::seconds>(wall_now()); }
Validity an_hour() { return {.from = now() - 1h, .until = now() + 1h}; }

// Both sides of a handshake, until both are done or one is broken: why the client's is.
std::string meet(const TlsContext& server, const TlsContext& client, const std::string& host) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor one(ends[0]);
  const Descriptor other(ends[1]);
  const auto accepting = server.accept(one.get());
  const auto connecting = client.connect(other.get(), host);
  for (int i = 0; i < 20; ++i) {
    const auto outcome = connecting->handshake().outcome;
    if (outcome == Channel::Outcome::kBroken) return connecting->trouble();
    const auto accepted = accepting->handshake().outcome;
    if (outcome == Channel::Outcome::kDone && accepted == Channel::Outcome::kDone) return "";
  }
  return "no end";
}

TEST(Certificate, SaysWhatItWasMadeFor) {
  const auto authority = make_authority("corehold-ca", an_hour());
  ASSERT_TRUE(authority) << authority.error().message;
  EXPECT_TRUE(is_authority(authority->certificate));
  const Validity valid{.from = 1'700'000'000s, .until = 4'000'000'000s};
  const auto server = issue_server(*authority, {"127.0.0.1", "::1", "localhost", "node-1"}, valid);
  ASSERT_TRUE(server) << server.error().message;
  const auto facts = read_identity(*server);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->valid.from, valid.from);
  EXPECT_EQ(facts->valid.until, valid.until);
  EXPECT_THAT(facts->names, ElementsAre("127.0.0.1", "::1", "localhost", "node-1"));
  EXPECT_FALSE(is_authority(server->certificate));
  EXPECT_TRUE(is_issued_by(server->certificate, authority->certificate));
}

TEST(Certificate, KnowsItsAuthorityFromAnotherOfThatName) {
  const TestPki first = test_pki();
  const TestPki second = test_pki();
  EXPECT_FALSE(is_issued_by(first.server.certificate, second.authority.certificate));
  EXPECT_FALSE(is_issued_by("", second.authority.certificate));
}

TEST(Certificate, RefusesWhatCannotBeRead) {
  const TestPki pki = test_pki();
  EXPECT_EQ(read_identity({}).error().code, Code::kInvalid);
  EXPECT_THAT(read_identity({.certificate = "x", .key = pki.server.key}).error().message,
              HasSubstr("read the certificate"));
  EXPECT_THAT(read_identity({.certificate = pki.server.certificate, .key = "x"}).error().message,
              HasSubstr("read the key"));
  EXPECT_EQ(read_identity({.certificate = pki.server.certificate, .key = pki.authority.key})
                .error()
                .message,
            "the key is not that of the certificate");
  EXPECT_EQ(issue_server({}, {"a"}, an_hour()).error().code, Code::kInvalid);
  EXPECT_EQ(TlsContext::for_server({}).error().code, Code::kInvalid);
  EXPECT_EQ(TlsContext::for_client("nothing").error().code, Code::kInvalid);
}

TEST(TlsHandshake, SucceedsForTheNamesOfTheCertificateOnly) {
  const TestPki pki = test_pki();
  const TlsContext server = *TlsContext::for_server(pki.server);
  const TlsContext client = *TlsContext::for_client(pki.authority.certificate);
  EXPECT_EQ(meet(server, client, "localhost"), "");
  EXPECT_EQ(meet(server, client, "127.0.0.1"), "");
  EXPECT_EQ(meet(server, client, "::1"), "");
  EXPECT_EQ(meet(server, client, "elsewhere"),
            "its certificate cannot be trusted: hostname mismatch");
  EXPECT_EQ(meet(server, client, "127.0.0.2"),
            "its certificate cannot be trusted: IP address mismatch");
}

// In the secret half of the key too, which the certificate does not tell anything about.
TEST(TlsHandshake, SucceedsWithEveryDamagedKeyThatIsNotRefused) {
  const TestPki pki = test_pki();
  const TlsContext client = *TlsContext::for_client(pki.authority.certificate);
  int refused = 0;
  for (std::size_t at = 0; at < pki.server.key.size(); ++at) {
    TlsIdentity damaged = pki.server;
    damaged.key[at] = static_cast<char>(damaged.key[at] ^ 1);
    if (!read_identity(damaged)) {
      ++refused;
      continue;
    }
    const auto server = TlsContext::for_server(damaged);
    ASSERT_TRUE(server) << at << ": " << server.error().message;
    EXPECT_EQ(meet(*server, client, "localhost"), "") << "character " << at << " is damaged";
  }
  EXPECT_GT(refused, 150);
}

TEST(TlsHandshake, FailsForAnExpiredCertificate) {
  const TestPki pki = test_pki();
  const auto old = issue_server(pki.authority, {"localhost"}, {.from = 1s, .until = now() - 1h});
  const TlsContext server = *TlsContext::for_server(*old);
  const TlsContext client = *TlsContext::for_client(pki.authority.certificate);
  EXPECT_EQ(meet(server, client, "localhost"),
            "its certificate cannot be trusted: certificate has expired");
}

TEST(RandomToken, IsLongAndNeverTheSame) {
  const auto one = random_token(32);
  const auto other = random_token(32);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->size(), 64U);
  EXPECT_NE(*one, *other);
  EXPECT_TRUE(equal_in_constant_time(*one, *one));
  EXPECT_FALSE(equal_in_constant_time(*one, *other));
  EXPECT_FALSE(equal_in_constant_time(*one, ""));
}

TEST(SocketAddressText, IsReadAndWritten) {
  for (const char* text : {"127.0.0.1:10270", "[::1]:0", "node-1.example:65535"}) {
    const auto address = parse_socket_address(text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(to_text(*address), text);
  }
  for (const char* text : {"", ":1", "a", "a:", "a:x", "a:65536", "::1:80", "[a]:1", "a/b:1"}) {
    EXPECT_FALSE(parse_socket_address(text)) << text;
  }
}

}  // namespace
}  // namespace corehold
