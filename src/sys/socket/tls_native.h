// SPDX-License-Identifier: Apache-2.0
//
// For the adapter of OpenSSL alone: its objects with an owner, and its errors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/result.h"

namespace corehold {

struct OpensslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};

template <typename T>
using Owned = std::unique_ptr<T, OpensslFree>;

// What OpenSSL said last, "unknown error" when it said nothing; forgets all it said.
std::string openssl_reason();

// kIo: "WHAT: REASON".
Error openssl_failed(std::string_view what);

// Null when the text is no PEM of that.
Owned<X509> read_certificate(const std::string& pem);
// All that the text begins with.
std::vector<Owned<X509>> read_certificates(const std::string& pem);
Owned<EVP_PKEY> read_key(const std::string& pem);

}  // namespace corehold
