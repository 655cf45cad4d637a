// SPDX-License-Identifier: Apache-2.0
#include "agent/run/run_child.h"

#include <poll.h>

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::size_t kMaxProcText = 65536;

// The numbers after `name:` in /proc/PID/status.
std::vector<std::int64_t> numbers_after(std::string_view status, std::string_view name) {
  std::vector<std::int64_t> numbers;
  const std::string begin = fmt::format("\n{}:", name);
  const std::size_t found = status.find(begin);
  if (found == std::string_view::npos) return numbers;
  status.remove_prefix(found + begin.size());
  status = status.substr(0, status.find('\n'));
  while (!status.empty()) {
    const std::size_t digit = status.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    status.remove_prefix(digit);
    std::int64_t number = 0;
    const auto parsed = std::from_chars(status.data(), status.data() + status.size(), number);
    numbers.push_back(number);
    status.remove_prefix(static_cast<std::size_t>(parsed.ptr - status.data()));
  }
  return numbers;
}

Error refused(pid_t child, std::string_view why) {
  return {Code::kUnsupported, fmt::format("process {} cannot be taken: {}", child, why)};
}

bool is_readable(int pidfd) {
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) != 0;
}

}  // namespace

Result<RunChild::Held> RunChild::hold(pid_t pid) {
  const auto id = identify(pid);
  if (!id) return Error{Code::kNotFound, fmt::format("there is no process {}", pid)};
  return Held{.id = *id, .descriptor = Descriptor(TRY(open_pidfd(*id)))};
}

Result<RunChild> RunChild::hold(const Peer& peer, pid_t child) {
  if (peer.pid <= 0) {
    return refused(child,
                   "the caller lives in another PID namespace; run it on the machine itself");
  }
  auto client = hold(peer.pid);
  if (!client) return refused(child, client.error().message);
  auto held = hold(child);
  if (!held) return refused(child, "there is no such process");
  RunChild both(*std::move(held), *std::move(client), peer.uid);
  TRY(both.check());
  return both;
}

// The numbers are those of the processes that the descriptors hold: these have not ended when
// /proc has been read.
Result<void> RunChild::check() const {
  const pid_t child = child_.id.pid;
  const auto status = read_file(fmt::format("/proc/{}/status", child), kMaxProcText);
  if (!status) return refused(child, "there is no such process");
  const auto parents = numbers_after(*status, "PPid");
  if (parents.size() != 1 || parents[0] != client_.id.pid) {
    return refused(child, fmt::format("it is no child of the caller, process {}", client_.id.pid));
  }
  const auto users = numbers_after(*status, "Uid");
  if (users.size() < 2 || users[1] != static_cast<std::int64_t>(user_)) {
    return refused(child, "it belongs to another user than the caller");
  }
  if (is_readable(child_.descriptor.get()) || is_readable(client_.descriptor.get())) {
    return refused(child, "there is no such process");
  }
  return {};
}

Result<Attached> RunChild::attach() const {
  if (is_readable(client_.descriptor.get())) {
    return Error{Code::kNotFound, "the client that asked for it has gone"};
  }
  if (is_readable(child_.descriptor.get())) {
    return Error{Code::kNotFound, "the process that was to be let go has gone"};
  }
  TRY(check());
  return Attached{.child = child_.id.pid, .client = client_.id.pid};
}

}  // namespace corehold
