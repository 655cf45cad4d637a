// SPDX-License-Identifier: Apache-2.0
#include "serve/credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include "sys/base64.h"
#include "sys/clock.h"
#include "sys/file/directory.h"
#include "sys/file/disk_full.h"
#include "sys/file/file.h"
#include "sys/file/move_aside.h"
#include "sys/socket/socket_address.h"

namespace corehold {
namespace {

using std::chrono::hours;

constexpr std::size_t kMaxFile = std::size_t{64} << 10U;
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kLeastToken = 32;  // characters, of a token that was put there
constexpr hours kDay{24};
constexpr auto kAuthorityLife = 10 * 365 * kDay;
constexpr auto kServerLife = 5 * 365 * kDay;
constexpr auto kRenewBefore = 30 * kDay;
constexpr auto kClockSkew = kDay;  // of clients whose clock is slow
constexpr mode_t kOthers = 077;

struct Paths {
  std::string directory{};
  std::string ca_certificate{};
  std::string ca_key{};
  std::string certificate{};
  std::string key{};
  std::string token{};
};

Paths paths_in(const std::string& root) {
  const std::string directory = root + "/pki";
  return {.directory = directory,
          .ca_certificate = directory + "/ca.crt",
          .ca_key = directory + "/ca.key",
          .certificate = directory + "/server.crt",
          .key = directory + "/server.key",
          .token = directory + "/token"};
}

// Its content, "" if it is not there. Others may not read it any more.
Result<std::string> read_secret(const std::string& path, const Log& log) {
  auto content = read_file(path, kMaxFile);
  if (!content && content.error().code == Code::kNotFound) return std::string();
  if (!content) return content;
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && (status.st_mode & kOthers) != 0) {
    log.warning("others could read this file; they cannot any more, but may know it already",
                {{"file", path}, {"mode", fmt::format("{:o}", status.st_mode & 0777U)}});
    if (::chmod(path.c_str(), 0600) != 0) {
      return errno_error(fmt::format("chmod {}", path), errno);
    }
  }
  return content;
}

// What two files say; nothing if neither is there.
Result<TlsIdentity> read_pair(const std::string& certificate, const std::string& key,
                              const Log& log) {
  TlsIdentity pair{.certificate = TRY(read_secret(certificate, log))};
  pair.key = TRY(read_secret(key, log));
  return pair;
}

// What becomes of files that are made anew.
enum class Old {
  kReplaced,    // made by us, and outdated
  kMovedAside,  // damaged, or put there by hand
};

// A full disk does not keep the agent from starting: what is not saved is made again then.
Result<void> write_anew(const std::string& path, const std::string& content, Old old,
                        const Log& log) {
  if (old == Old::kMovedAside) TRY(move_aside({path}, wall_now()));
  auto written = write_file_atomically(path, content);
  if (written || !is_disk_full(written.error())) return written;
  log.warning("this file is not saved, for the disk is full; the next start makes another",
              {{"file", path}, {"error", written.error().message}});
  return {};
}

struct PairPaths {
  const std::string& certificate;
  const std::string& key;
};

Result<void> write_pair(const TlsIdentity& pair, const PairPaths& paths, Old old, const Log& log) {
  TRY(write_anew(paths.key, pair.key, old, log));
  return write_anew(paths.certificate, pair.certificate, old, log);
}

Old old_of(const Result<TlsIdentity>& found) {
  return found && read_identity(*found) ? Old::kReplaced : Old::kMovedAside;
}

// Why it is of no use; "": it is of use.
std::string trouble_with(const TlsIdentity& identity, std::chrono::seconds now) {
  const auto facts = read_identity(identity);
  if (!facts) return facts.error().message;
  if (facts->valid.until - now < kRenewBefore) {
    return fmt::format("it expires at {}", utc_text(facts->valid.until));
  }
  if (facts->valid.from > now) {
    return fmt::format("it is not valid before {}", utc_text(facts->valid.from));
  }
  return "";
}

std::string trouble_with_server(const TlsIdentity& server, const TlsIdentity& authority,
                                const TlsNames& names, std::chrono::seconds now) {
  if (std::string trouble = trouble_with(server, now); !trouble.empty()) return trouble;
  if (!is_issued_by(server.certificate, authority.certificate)) return "the authority is another";
  const TlsNames old = read_identity(server)->names;
  if (old == names) return "";
  return fmt::format("it is for {}, not for {}", fmt::join(old, ","), fmt::join(names, ","));
}

// Says that something is made, or made anew and why.
void tell(const Log& log, std::string_view what, const std::string& file, bool is_new,
          const std::string& why) {
  if (is_new) return log.info(fmt::format("{} is made", what), {{"file", file}});
  log.warning(fmt::format("{} is made anew", what), {{"file", file}, {"why", why}});
}

Result<TlsIdentity> prepare_authority(const Paths& paths, std::chrono::seconds now,
                                      const Log& log) {
  auto found = read_pair(paths.ca_certificate, paths.ca_key, log);
  std::string trouble = found ? trouble_with(*found, now) : found.error().message;
  if (trouble.empty() && !is_authority(found->certificate)) trouble = "it may not vouch for others";
  if (trouble.empty()) return found;
  const bool is_new = found && found->certificate.empty() && found->key.empty();
  tell(log, "the authority of this node", paths.ca_certificate, is_new, trouble);
  TlsIdentity made =
      TRY(make_authority("corehold-ca", {.from = now - kClockSkew, .until = now + kAuthorityLife}));
  const Old old = found && is_authority(found->certificate) ? old_of(found) : Old::kMovedAside;
  TRY(write_pair(made, {paths.ca_certificate, paths.ca_key}, old, log));
  return made;
}

Result<TlsIdentity> prepare_server(const Paths& paths, const TlsIdentity& authority,
                                   const CredentialSettings& settings, const Log& log) {
  const TlsNames names = server_names(settings);
  auto found = read_pair(paths.certificate, paths.key, log);
  const std::string trouble =
      found ? trouble_with_server(*found, authority, names, settings.now) : found.error().message;
  if (trouble.empty()) return found;
  const bool is_new = found && found->certificate.empty() && found->key.empty();
  tell(log, "the certificate of this node", paths.certificate, is_new, trouble);
  // No longer than its authority, for clients look at both.
  const auto until = std::min<std::chrono::seconds>(settings.now + kServerLife,
                                                    read_identity(authority)->valid.until);
  TlsIdentity made =
      TRY(issue_server(authority, names, {.from = settings.now - kClockSkew, .until = until}));
  TRY(write_pair(made, {paths.certificate, paths.key}, old_of(found), log));
  return made;
}

// Long enough, and of the characters that a header can carry (RFC 6750).
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "-._~+/=";
  return text.size() >= kLeastToken && std::all_of(text.begin(), text.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  kMarks.find(c) != std::string_view::npos;
         });
}

Result<std::string> prepare_token(const Paths& paths, const Log& log) {
  auto found = read_secret(paths.token, log);
  if (found && found->ends_with('\n')) found->pop_back();
  if (found && is_token(*found)) return found;
  tell(log, "the token of this node", paths.token, found && found->empty(),
       found ? fmt::format("it must be {} characters or more, letters, digits and -._~+/= only",
                           kLeastToken)
             : found.error().message);
  std::string token = TRY(random_token(kTokenBytes));
  TRY(write_anew(paths.token, token + "\n", Old::kMovedAside, log));
  return token;
}

// The address at which a client on this machine reaches the agent: an agent that listens on all
// addresses is reached at the loopback address.
std::string reachable(const std::string& place) {
  auto address = parse_socket_address(place);
  if (!address) return place;
  if (address->host == "0.0.0.0") address->host = "127.0.0.1";
  if (address->host == "::") address->host = "::1";
  return to_text(*address);
}

std::string kubeconfig_path(const std::string& root) { return root + "/kubeconfig"; }

std::string kubeconfig_text(const std::string& place, const Credentials& credentials) {
  return fmt::format(
      R"(# Written by corehold agent at every start. Whoever can read it is as good as root here.
apiVersion: v1
kind: Config
clusters:
- name: corehold
  cluster:
    server: https://{}
    certificate-authority-data: {}
users:
- name: corehold
  user:
    token: "{}"
contexts:
- name: corehold
  context:
    cluster: corehold
    user: corehold
current-context: corehold
)",
      reachable(place), to_base64(credentials.authority), credentials.token);
}

}  // namespace

TlsNames server_names(const CredentialSettings& settings) {
  TlsNames names{"127.0.0.1", "::1", "localhost"};
  if (!settings.node_name.empty()) names.push_back(settings.node_name);
  if (const auto address = parse_socket_address(settings.address)) {
    boost::system::error_code error;
    const auto host = boost::asio::ip::make_address(address->host, error);
    if (!error && !host.is_unspecified()) names.push_back(host.to_string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<Credentials> prepare_credentials(const CredentialSettings& settings, const Log& log) {
  const Paths paths = paths_in(settings.root);
  TRY(make_private_directory(paths.directory));
  const TlsIdentity authority = TRY(prepare_authority(paths, settings.now, log));
  Credentials credentials{.authority = authority.certificate};
  credentials.server = TRY(prepare_server(paths, authority, settings, log));
  credentials.token = TRY(prepare_token(paths, log));
  return credentials;
}

Result<void> write_kubeconfig(const std::string& root, const std::string& place,
                              const Credentials& credentials, const Log& log) {
  const std::string path = kubeconfig_path(root);
  const std::string text = kubeconfig_text(place, credentials);
  struct stat status {};
  const bool is_private = ::lstat(path.c_str(), &status) == 0 && (status.st_mode & kOthers) == 0;
  const auto old = read_file(path, kMaxFile);
  if (is_private && old && *old == text) return {};
  if (old && (old->find(credentials.token) == std::string::npos ||
              old->find(to_base64(credentials.authority)) == std::string::npos)) {
    log.warning(
        "the token or the authority is not that of the kubeconfig, which is written anew: copies "
        "of the old one are refused",
        {{"file", path}});
  }
  const bool is_file = ::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  if (!is_file) TRY(move_aside({path}, wall_now()));
  return write_file_atomically(path, text);
}

Result<void> remove_kubeconfig(const std::string& root) {
  const std::string path = kubeconfig_path(root);
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return errno_error(fmt::format("unlink {}", path), errno);
}

}  // namespace corehold
