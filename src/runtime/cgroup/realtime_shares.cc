// SPDX-License-Identifier: Apache-2.0
#include "runtime/cgroup/realtime_shares.h"

#include <cstdlib>
#include <utility>

#include "base/result.h"
#include "runtime/cgroup/cgroup_directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

constexpr const char* kRuntime = "/cpu.rt_runtime_us";
constexpr const char* kPeriod = "/cpu.rt_period_us";
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kSharedPeriod = kSecond / 10;
// The machine has 950 ms of each second unless somebody has changed that. Some is left for others.
constexpr std::int64_t kMostOfTop = 900'000;
constexpr std::int64_t kLeastOfTop = 1'000;

std::int64_t number_of(const std::string& path) {
  const auto text = read_kernel_file(path);
  return text ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

std::int64_t time_of(const std::string& cgroup) {
  const std::int64_t period = number_of(cgroup + kPeriod);
  return period > 0 ? number_of(cgroup + kRuntime) * kSecond / period : 0;
}

Result<void> write_time(const std::string& cgroup, std::int64_t time) {
  const std::int64_t period = number_of(cgroup + kPeriod);
  return write_kernel_file(cgroup + kRuntime, std::to_string(time * period / kSecond));
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

RealtimeShares::RealtimeShares(std::string hierarchy, std::string name)
    : hierarchy_(std::move(hierarchy)), name_(std::move(name)) {}

RealtimeTree& RealtimeShares::tree() {
  if (tree_) return *tree_;
  tree_ = RealtimeTree{.time = time_of(top())};
  for (const std::string& pod : children_of(top())) {
    RealtimePod& here = tree_->pods[last_part(pod)];
    here.time = time_of(pod);
    for (const std::string& container : children_of(pod)) {
      const std::int64_t time = time_of(container);
      if (time == 0) continue;  // it is being made
      const bool shares = number_of(container + kPeriod) == kSharedPeriod;
      here.containers[last_part(container)] = {
          .share = shares ? RealtimeShare::kSharedCpus : RealtimeShare::kOwnCpus, .time = time};
    }
  }
  return *tree_;
}

void RealtimeShares::give(const std::string& cgroup, RealtimeShare share) {
  const std::size_t slash = cgroup.find('/');
  if (slash == std::string::npos || cgroup.find('/', slash + 1) != std::string::npos) return;
  const std::string path = top() + "/" + cgroup;
  const auto has = read_kernel_file(path + kRuntime);
  if (!has || *has != "0") return;
  const auto period = std::to_string(share == RealtimeShare::kSharedCpus ? kSharedPeriod : kSecond);
  if (!write_kernel_file(path + kPeriod, period)) return;
  constexpr int kLooks = 2;
  for (int tries = 0; tries < kLooks; ++tries) {
    // The top cgroup goes with the last container and is made again with the next.
    if (tree_ && number_of(top() + kRuntime) == 0) tree_.reset();
    RealtimeTree& now = tree();
    // Somebody else may have taken some of the machine's, for now.
    for (std::int64_t time = kMostOfTop; time > now.time && time >= kLeastOfTop; time /= 2) {
      if (write_time(top(), time)) now.time = time;
    }
    if (now.time == 0) return;
    // The cgroups may have been made again under the names of earlier ones, and have no time yet.
    RealtimePod& pod = now.pods[cgroup.substr(0, slash)];
    pod.time = time_of(top() + "/" + cgroup.substr(0, slash));
    pod.containers[cgroup.substr(slash + 1)] = {.share = share};
    if (divide()) return;
  }
}

void RealtimeShares::take_back(const std::string& cgroup) {
  const std::size_t slash = cgroup.find('/');
  if (slash == std::string::npos || time_of(top()) == 0) return;
  RealtimeTree& now = tree();
  static_cast<void>(write_time(top() + "/" + cgroup, 0));
  const auto pod = now.pods.find(cgroup.substr(0, slash));
  if (pod == now.pods.end()) return;
  pod->second.containers.erase(cgroup.substr(slash + 1));
  if (!pod->second.containers.empty()) return;
  static_cast<void>(write_time(top() + "/" + pod->first, 0));
  now.pods.erase(pod);
  if (!now.pods.empty()) return;
  static_cast<void>(write_time(top(), 0));
  tree_.reset();
}

void RealtimeShares::divide_again() {
  if (tree_) static_cast<void>(divide());
}

bool RealtimeShares::divide() {
  for (const RealtimeWrite& write : plan_realtime(*tree_)) {
    if (!write_time(top() + "/" + write.cgroup, write.time)) {
      tree_.reset();  // somebody else writes here as well, or a cgroup is gone
      return false;
    }
    const std::size_t slash = write.cgroup.find('/');
    RealtimePod& pod = tree_->pods[write.cgroup.substr(0, slash)];
    if (slash == std::string::npos) {
      pod.time = write.time;
    } else {
      pod.containers[write.cgroup.substr(slash + 1)].time = write.time;
    }
  }
  return true;
}

}  // namespace corehold
