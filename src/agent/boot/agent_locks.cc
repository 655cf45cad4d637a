// SPDX-License-Identifier: Apache-2.0
#include "agent/boot/agent_locks.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sys/file/directory.h"

namespace corehold {
namespace {

constexpr const char* kPublicLock = "/run/lock/corehold.lock";
constexpr mode_t kDirectoryMode = 0755;

Error taken(std::string_view what, const Error& error) {
  return error.code == Code::kConflict ? wrap(what, error) : error;
}

}  // namespace

HostLocks host_locks() {
  HostLocks locks{.public_lock = kPublicLock};
  if (::geteuid() == 0) {
    locks.directory = "/run/corehold";
    return locks;
  }
  const char* own = std::getenv("XDG_RUNTIME_DIR");
  if (own != nullptr && own[0] == '/') locks.directory = fmt::format("{}/corehold", own);
  locks.is_optional = true;
  return locks;
}

Result<AgentLocks> take_locks(const std::string& root, const std::optional<HostLocks>& host) {
  const std::string other_of_root = fmt::format("another agent uses {}", root);
  auto own = FileLock::take(root + "/run/lock");
  if (!own) return taken(other_of_root, own.error());
  AgentLocks locks{.root = *std::move(own)};
  auto public_root = FileLock::take_public(root + "/run/agent.lock");
  if (!public_root) return taken(other_of_root, public_root.error());
  locks.public_root = *std::move(public_root);
  if (!host) return locks;

  constexpr std::string_view kOtherOfMachine = "another agent manages the CPUs of this machine";
  if (!host->directory.empty()) {
    const auto made = make_directories(host->directory, kDirectoryMode);
    auto lock = made ? FileLock::take(host->directory + "/agent.lock") : made.error();
    // The variable may name the directory of another user (sudo -E), or one that is not there.
    const bool may_fail = host->is_optional && !lock && lock.error().code != Code::kConflict;
    if (!lock && !may_fail) return taken(kOtherOfMachine, lock.error());
    if (lock) locks.host.emplace(*std::move(lock));
  }
  auto public_host = FileLock::take_public(host->public_lock);
  if (!public_host) return taken(kOtherOfMachine, public_host.error());
  locks.public_host = *std::move(public_host);
  return locks;
}

}  // namespace corehold
