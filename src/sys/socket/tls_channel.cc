// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <openssl/err.h>

#include "base/check.h"
#include "sys/file/file.h"
#include "sys/socket/tls.h"
#include "sys/socket/tls_native.h"

namespace corehold {
namespace {

// What stands below TLS: OpenSSL's own socket would raise SIGPIPE.
struct Socket {
  int fd = -1;
  int error = 0;
  bool has_ended = false;
};

Socket& socket_of(BIO* bio) { return *static_cast<Socket*>(BIO_get_data(bio)); }

int bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  Socket& socket = socket_of(bio);
  const ssize_t sent =
      ::send(socket.fd, data, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<int>(sent);
  if (errno == EAGAIN || errno == EINTR) {
    BIO_set_retry_write(bio);
  } else {
    socket.error = errno;
  }
  return -1;
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  Socket& socket = socket_of(bio);
  const ssize_t got = ::recv(socket.fd, into, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got > 0) return static_cast<int>(got);
  if (got == 0) {
    socket.has_ended = true;
    return 0;
  }
  if (errno == EAGAIN || errno == EINTR) {
    BIO_set_retry_read(bio);
  } else {
    socket.error = errno;
  }
  return -1;
}

long bio_control(BIO* bio, int what, long /*number*/, void* /*pointer*/) {
  if (what == BIO_CTRL_FLUSH) return 1;
  if (what == BIO_CTRL_EOF) return socket_of(bio).has_ended ? 1 : 0;
  return 0;
}

const BIO_METHOD* socket_method() {
  static const Owned<BIO_METHOD> kMethod = [] {
    Owned<BIO_METHOD> made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "corehold"));
    CHECK(made);
    CHECK(BIO_meth_set_write(made.get(), bio_write) == 1);
    CHECK(BIO_meth_set_read(made.get(), bio_read) == 1);
    CHECK(BIO_meth_set_ctrl(made.get(), bio_control) == 1);
    return made;
  }();
  return kMethod.get();
}

enum class Side { kServer, kClient };

class TlsChannel final : public Channel {
 public:
  TlsChannel(int fd, SSL_CTX* context, Side side) : socket_{.fd = fd}, ssl_(SSL_new(context)) {
    BIO* bio = BIO_new(socket_method());
    CHECK(ssl_ && bio != nullptr);  // only without memory
    BIO_set_data(bio, &socket_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    if (side == Side::kServer) {
      SSL_set_accept_state(ssl_.get());
    } else {
      SSL_set_connect_state(ssl_.get());
    }
  }
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  void expect(const std::string& host) {
    X509_VERIFY_PARAM* rules = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1) return;
    ERR_clear_error();
    CHECK(SSL_set1_host(ssl_.get(), host.c_str()) == 1);
    CHECK(SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1);
  }

  Moved handshake() override {
    ERR_clear_error();
    return moved(SSL_do_handshake(ssl_.get()), 0);
  }

  Moved read(char* into, std::size_t size) override {
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(ssl_.get(), into, size, &got);
    return moved(result, got);
  }

  Moved write(std::string_view text) override {
    if (text.empty()) return {};
    ERR_clear_error();
    std::size_t sent = 0;
    const int result = SSL_write_ex(ssl_.get(), text.data(), text.size(), &sent);
    return moved(result, sent);
  }

  void end_writing() override {
    // Not in the middle of a handshake, nor after a failure: OpenSSL forbids it.
    if (!is_broken_ && SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    ::shutdown(socket_.fd, SHUT_WR);
  }

  bool has_buffered() const override { return SSL_pending(ssl_.get()) > 0; }
  std::string trouble() const override { return trouble_; }

 private:
  Moved moved(int result, std::size_t bytes) {
    if (result == 1) return {.bytes = bytes};
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {.outcome = Outcome::kWaitToRead};
      case SSL_ERROR_WANT_WRITE:
        return {.outcome = Outcome::kWaitToWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {.outcome = Outcome::kEnd};
      default:
        break;
    }
    is_broken_ = true;
    const long verified = SSL_get_verify_result(ssl_.get());
    if (socket_.error != 0) {
      trouble_ = errno_name(socket_.error);
    } else if (verified != X509_V_OK) {
      trouble_ = fmt::format("its certificate cannot be trusted: {}",
                             X509_verify_cert_error_string(verified));
    } else if (socket_.has_ended) {
      trouble_ = "the other side has hung up";
    } else {
      trouble_ = openssl_reason();
    }
    ERR_clear_error();
    return {.outcome = Outcome::kBroken};
  }

  Socket socket_;
  Owned<SSL> ssl_;
  bool is_broken_ = false;
  std::string trouble_{};
};

// HTTP/1.1 if the client can speak it; nothing is said about protocols otherwise.
int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void* /*user*/) {
  constexpr std::string_view kHttp = "http/1.1";
  for (unsigned int at = 0; at < offered_size; at += 1U + offered[at]) {
    const unsigned int length = offered[at];
    if (at + 1U + length > offered_size) break;
    if (!std::equal(kHttp.begin(), kHttp.end(), offered + at + 1, offered + at + 1 + length)) {
      continue;
    }
    *chosen = offered + at + 1;
    *size = static_cast<unsigned char>(length);
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

bool set_common(SSL_CTX* context) {
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // The end of a message is known from HTTP, so nothing can be cut off unnoticed.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                   SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<TlsContext> TlsContext::for_server(const TlsIdentity& identity) {
  const Owned<X509> certificate = read_certificate(identity.certificate);
  const Owned<EVP_PKEY> key = read_key(identity.key);
  TlsContext made(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = made.context_.get();
  if (context == nullptr || !set_common(context) || SSL_CTX_set_num_tickets(context, 0) != 1) {
    return openssl_failed("set TLS up");
  }
  if (!certificate || !key || SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Error{Code::kInvalid, fmt::format("use the certificate: {}", openssl_reason())};
  }
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  return made;
}

Result<TlsContext> TlsContext::for_client(const std::string& authority) {
  TlsContext made(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = made.context_.get();
  if (context == nullptr || !set_common(context)) return openssl_failed("set TLS up");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const std::vector<Owned<X509>> trusted = read_certificates(authority);
  for (const Owned<X509>& each : trusted) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get()) != 1) {
      return openssl_failed("trust a certificate");
    }
  }
  if (trusted.empty()) {
    return Error{Code::kInvalid,
                 fmt::format("the authority is no certificate: {}", openssl_reason())};
  }
  ERR_clear_error();
  return made;
}

std::unique_ptr<Channel> TlsContext::accept(int fd) const {
  return std::make_unique<TlsChannel>(fd, context_.get(), Side::kServer);
}

std::unique_ptr<Channel> TlsContext::connect(int fd, const std::string& host) const {
  auto channel = std::make_unique<TlsChannel>(fd, context_.get(), Side::kClient);
  channel->expect(host);
  return channel;
}

}  // namespace corehold
