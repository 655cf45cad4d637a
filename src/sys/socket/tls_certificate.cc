// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "sys/socket/tls.h"
#include "sys/socket/tls_native.h"

namespace corehold {
namespace {

constexpr int kSerialBits = 127;

// A key with a password is refused: there is no one to ask for it.
int no_password(char* /*into*/, int /*size*/, int /*for_writing*/, void* /*user*/) { return -1; }

bool is_ip_address(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

Owned<BIO> reader_of(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Result<TlsIdentity> to_pem(X509* certificate, EVP_PKEY* key) {
  const Owned<BIO> first(BIO_new(BIO_s_mem()));
  const Owned<BIO> second(BIO_new(BIO_s_mem()));
  if (!first || !second || PEM_write_bio_X509(first.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failed("write a certificate");
  }
  return TlsIdentity{.certificate = text_in(first.get()), .key = text_in(second.get())};
}

bool set_random_serial(X509* certificate) {
  const Owned<BIGNUM> number(BN_new());
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_common_name(X509* certificate, const std::string& name) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's text is unsigned
  const auto* text = reinterpret_cast<const unsigned char*>(name.data());
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, text,
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool add_names(X509* certificate, const TlsNames& names) {
  const Owned<GENERAL_NAMES> list(GENERAL_NAMES_new());
  if (!list) return false;
  for (const std::string& name : names) {
    GENERAL_NAME* each = a2i_GENERAL_NAME(
        nullptr, nullptr, nullptr, is_ip_address(name) ? GEN_IPADD : GEN_DNS, name.c_str(), 0);
    if (each == nullptr) return false;
    if (sk_GENERAL_NAME_push(list.get(), each) == 0) {
      GENERAL_NAME_free(each);
      return false;
    }
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), 0, X509V3_ADD_DEFAULT) ==
         1;
}

// All but the issuer, the extensions and the signature.
Owned<X509> new_certificate(EVP_PKEY* key, const std::string& name, const Validity& valid) {
  Owned<X509> certificate(X509_new());
  const auto set_time = [](ASN1_TIME* time, std::chrono::seconds to) {
    return ASN1_TIME_set(time, static_cast<std::time_t>(to.count())) != nullptr;
  };
  const bool done = certificate && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                    set_random_serial(certificate.get()) &&
                    set_time(X509_getm_notBefore(certificate.get()), valid.from) &&
                    set_time(X509_getm_notAfter(certificate.get()), valid.until) &&
                    set_common_name(certificate.get(), name) &&
                    X509_set_pubkey(certificate.get(), key) == 1;
  if (!done) certificate.reset();
  return certificate;
}

Result<std::chrono::seconds> seconds_of(const ASN1_TIME* time) {
  std::tm broken_down{};
  if (ASN1_TIME_to_tm(time, &broken_down) != 1) return openssl_failed("read a time");
  return std::chrono::seconds(::timegm(&broken_down));
}

std::string text_of(const GENERAL_NAME& name) {
  int type = 0;
  const auto* value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(&name, &type));
  const unsigned char* data = ASN1_STRING_get0_data(value);
  const int size = ASN1_STRING_length(value);
  if (type == GEN_DNS) return {data, data + size};
  if (type != GEN_IPADD || (size != 4 && size != 16)) return "?";
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(size == 4 ? AF_INET : AF_INET6, data, text.data(), text.size());
  return text.data();
}

TlsNames names_of(X509* certificate) {
  const Owned<GENERAL_NAMES> list(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  TlsNames names;
  if (!list) return names;
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    names.push_back(text_of(*sk_GENERAL_NAME_value(list.get(), i)));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A file of a key has both halves, and only the public one is compared with the certificate: where
// the secret half is damaged, each handshake would fail with a bad signature.
bool is_sound(EVP_PKEY* key) {
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(key, nullptr));
  const bool is_so = context && EVP_PKEY_pairwise_check(context.get()) == 1;
  ERR_clear_error();
  return is_so;
}

}  // namespace

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown error";
}

Error openssl_failed(std::string_view what) {
  return {Code::kIo, fmt::format("{}: {}", what, openssl_reason())};
}

Owned<X509> read_certificate(const std::string& pem) {
  const Owned<BIO> reader = reader_of(pem);
  if (!reader) return nullptr;
  return Owned<X509>(PEM_read_bio_X509(reader.get(), nullptr, no_password, nullptr));
}

std::vector<Owned<X509>> read_certificates(const std::string& pem) {
  std::vector<Owned<X509>> found;
  const Owned<BIO> reader = reader_of(pem);
  while (reader) {
    Owned<X509> each(PEM_read_bio_X509(reader.get(), nullptr, no_password, nullptr));
    if (!each) break;
    found.push_back(std::move(each));
  }
  return found;
}

Owned<EVP_PKEY> read_key(const std::string& pem) {
  const Owned<BIO> reader = reader_of(pem);
  if (!reader) return nullptr;
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(reader.get(), nullptr, no_password, nullptr));
}

Result<TlsIdentity> make_authority(const std::string& name, const Validity& valid) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failed("make a key");
  const Owned<X509> made = new_certificate(key.get(), name, valid);
  X509* certificate = made.get();
  if (certificate == nullptr ||
      X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) != 1 ||
      !add_extension(certificate, certificate, NID_basic_constraints,
                     "critical,CA:TRUE,pathlen:0") ||
      !add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(certificate, certificate, NID_subject_key_identifier, "hash") ||
      X509_sign(certificate, key.get(), EVP_sha256()) == 0) {
    return openssl_failed("make a certificate");
  }
  return to_pem(certificate, key.get());
}

Result<TlsIdentity> issue_server(const TlsIdentity& authority, const TlsNames& names,
                                 const Validity& valid) {
  const Owned<X509> issuer = read_certificate(authority.certificate);
  const Owned<EVP_PKEY> issuer_key = read_key(authority.key);
  if (!issuer || !issuer_key) {
    return Error{Code::kInvalid, fmt::format("read the authority: {}", openssl_reason())};
  }
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failed("make a key");
  const Owned<X509> made = new_certificate(key.get(), "corehold", valid);
  X509* certificate = made.get();
  if (certificate == nullptr ||
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer.get())) != 1 ||
      !add_extension(certificate, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(certificate, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(certificate, issuer.get(), NID_ext_key_usage, "serverAuth") ||
      !add_extension(certificate, issuer.get(), NID_authority_key_identifier, "keyid") ||
      !add_names(certificate, names) ||
      X509_sign(certificate, issuer_key.get(), EVP_sha256()) == 0) {
    return openssl_failed("make a certificate");
  }
  return to_pem(certificate, key.get());
}

Result<CertificateFacts> read_identity(const TlsIdentity& identity) {
  const Owned<X509> certificate = read_certificate(identity.certificate);
  if (!certificate) {
    return Error{Code::kInvalid, fmt::format("read the certificate: {}", openssl_reason())};
  }
  const Owned<EVP_PKEY> key = read_key(identity.key);
  if (!key) return Error{Code::kInvalid, fmt::format("read the key: {}", openssl_reason())};
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Error{Code::kInvalid, "the key is not that of the certificate"};
  }
  if (!is_sound(key.get())) {
    return Error{Code::kInvalid, "the secret half of the key does not belong to its public half"};
  }
  return CertificateFacts{
      .valid = {.from = TRY(seconds_of(X509_get0_notBefore(certificate.get()))),
                .until = TRY(seconds_of(X509_get0_notAfter(certificate.get())))},
      .names = names_of(certificate.get())};
}

bool is_issued_by(const std::string& certificate, const std::string& authority) {
  const Owned<X509> subject = read_certificate(certificate);
  const Owned<X509> issuer = read_certificate(authority);
  const bool is_so = subject && issuer &&
                     X509_check_issued(issuer.get(), subject.get()) == X509_V_OK &&
                     X509_verify(subject.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  return is_so;
}

bool is_authority(const std::string& certificate) {
  const Owned<X509> read = read_certificate(certificate);
  const bool is_so = read && X509_check_ca(read.get()) == 1;
  ERR_clear_error();
  return is_so;
}

Result<std::string> random_token(std::size_t bytes) {
  std::string token;
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned char byte = 0;
    if (RAND_bytes(&byte, 1) != 1) return openssl_failed("find random bytes");
    token += fmt::format("{:02x}", byte);
  }
  return token;
}

bool equal_in_constant_time(const std::string& one, const std::string& other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace corehold
