// SPDX-License-Identifier: Apache-2.0
#include "sys/base64.h"

#include <algorithm>
#include <vector>

#include <openssl/evp.h>

namespace corehold {

std::string to_base64(std::string_view bytes) {
  const std::vector<unsigned char> source(bytes.begin(), bytes.end());
  std::vector<unsigned char> text((source.size() + 2) / 3 * 4 + 1);  // and a zero
  const int size = EVP_EncodeBlock(text.data(), source.data(), static_cast<int>(source.size()));
  return {text.begin(), text.begin() + size};
}

Result<std::string> from_base64(std::string_view text) {
  std::vector<unsigned char> source(text.begin(), text.end());
  const auto is_space = [](unsigned char c) { return c == ' ' || c == '\n' || c == '\r'; };
  source.erase(std::remove_if(source.begin(), source.end(), is_space), source.end());
  std::vector<unsigned char> bytes(source.size() / 4 * 3);
  const int size = EVP_DecodeBlock(bytes.data(), source.data(), static_cast<int>(source.size()));
  // OpenSSL counts what the padding stands for, and does not mind any amount of it.
  const auto padding = static_cast<int>(std::count(source.begin(), source.end(), '='));
  if (size < 0 || source.size() % 4 != 0 || padding > 2) {
    return Error{Code::kInvalid, "is no base64"};
  }
  return std::string(bytes.begin(), bytes.begin() + (size - padding));
}

}  // namespace corehold
