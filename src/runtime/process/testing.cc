// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/testing.h"

#include <stdlib.h>
#include <unistd.h>

#include <csignal>

#include <fmt/format.h>

#include "base/check.h"
#include "runtime/monitor/log_file.h"
#include "runtime/workspace/pod_files.h"
#include "sys/file/directory.h"
#include "sys/file/kernel_file.h"
#include "sys/process/process.h"

namespace corehold {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(300);

// Shared with a callback that may come when nobody waits any more.
template <typename T>
std::shared_ptr<std::optional<Result<T>>> awaited() {
  return std::make_shared<std::optional<Result<T>>>();
}

}  // namespace

RuntimeBench::RuntimeBench(Kind kind) : kind_(kind) {
  std::string pattern = "/tmp/corehold-runtime-XXXXXX";
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  root_ = pattern;
  name_ = fmt::format("corehold-test-{}", ::getpid());
  restart();
}

void RuntimeBench::restart() { restart_with({}); }

void RuntimeBench::restart(std::vector<std::string> monitor) {
  restart_with({.monitor = std::move(monitor)});
}

void RuntimeBench::restart(Launcher launcher) {
  restart_with({.workspace = {.launcher = std::move(launcher)}});
}

void RuntimeBench::restart(std::function<KnownContainer(const ContainerRef&)> recover) {
  restart_with({.recover = std::move(recover)});
}

void RuntimeBench::restart(std::unique_ptr<Confinement> confinement) {
  restart_with({}, std::move(confinement));
}

void RuntimeBench::restart_with(ProcessRuntimeOptions options) {
  restart_with(std::move(options), kind_ == Kind::kCgroup ? find_confinement({.name = name_})
                                                          : make_affinity("for a test"));
}

void RuntimeBench::restart_with(ProcessRuntimeOptions options,
                                std::unique_ptr<Confinement> confinement) {
  options.workspace.context.root = root_;
  options.list_timeout = list_timeout_;
  options.start_timeout = start_timeout_;
  options.on_trouble = [this](const std::string& trouble) { troubles_.push_back(trouble); };
  runtime_.reset();
  runtime_ =
      std::make_unique<ProcessRuntime>(loop_, std::move(options), std::move(confinement), *this);
}

void RuntimeBench::exited(const ContainerRef& container, int attempt, const ContainerExit& exit) {
  exits_.push_back({.container = container, .attempt = attempt, .exit = exit});
}

// NOLINTNEXTLINE(bugprone-exception-escape): a test whose clean-up throws had better end.
RuntimeBench::~RuntimeBench() {
  const auto all = list();
  if (all) {
    for (const SeenContainer& seen : *all) {
      static_cast<void>(kill(seen.container));
      eventually([&] {
        const auto now = look(seen.container);
        return !now || !now->running;
      });
      static_cast<void>(remove(seen.container));
    }
  }
  runtime_.reset();
  static_cast<void>(remove_tree(root_));
}

Launch RuntimeBench::shell(const std::string& container, const std::string& script,
                           const std::string& cpus) {
  Launch launch;
  launch.container = {.pod = fmt::format("pod-{}", ::getpid()), .container = container};
  launch.command = {"/bin/sh", "-c", script};
  launch.log_path = log_path(root_, launch.container.pod, container, 0);
  launch.manifest = R"({"metadata":{"name":"kept"},"spec":{"containers":[{"name":"main"}]}})";
  launch.placement.cpus = *CpuSet::parse(cpus);
  return launch;
}

bool RuntimeBench::eventually(const std::function<bool()>& holds) {
  const auto deadline = Clock::now() + kPatience;
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    loop_.restart();
    loop_.run_one_for(std::chrono::milliseconds(5));
  }
  return true;
}

Result<void> RuntimeBench::start(const Launch& launch) {
  const auto result = awaited<void>();
  runtime_->launch(launch, [result](const Result<Started>& done) {
    *result = done ? Result<void>{} : Result<void>(done.error());
  });
  if (!eventually([&] { return result->has_value(); })) return Error{Code::kIo, "no answer"};
  return **result;
}

Result<void> RuntimeBench::update(const ContainerRef& container, const std::string& cpus) {
  return update(container, Placement{.cpus = *CpuSet::parse(cpus)});
}

Result<void> RuntimeBench::update(const ContainerRef& container, const Placement& placement) {
  const auto result = awaited<void>();
  runtime_->place(container, placement, [result](Result<void> done) { *result = std::move(done); });
  if (!eventually([&] { return result->has_value(); })) return Error{Code::kIo, "no answer"};
  return **result;
}

Result<void> RuntimeBench::place_shared(const std::string& cpus,
                                        const std::set<ContainerRef>& members) {
  const auto result = awaited<void>();
  runtime_->place_shared(*CpuSet::parse(cpus), members,
                         [result](Result<void> done) { *result = std::move(done); });
  if (!eventually([&] { return result->has_value(); })) return Error{Code::kIo, "no answer"};
  return **result;
}

Result<void> RuntimeBench::stop(const ContainerRef& container, std::chrono::milliseconds grace) {
  const auto result = awaited<void>();
  runtime_->stop(container, grace, [result](Result<void> done) { *result = std::move(done); });
  if (!eventually([&] { return result->has_value(); })) return Error{Code::kIo, "no answer"};
  return **result;
}

Result<void> RuntimeBench::remove(const ContainerRef& container) {
  const auto result = awaited<void>();
  runtime_->remove(container, [result](Result<void> done) { *result = std::move(done); });
  if (!eventually([&] { return result->has_value(); })) return Error{Code::kIo, "no answer"};
  return **result;
}

Result<std::vector<SeenContainer>> RuntimeBench::list() {
  const auto result = awaited<std::vector<SeenContainer>>();
  runtime_->list([result](Result<std::vector<SeenContainer>> done) { *result = std::move(done); });
  if (!eventually([&] { return result->has_value(); })) return Error{Code::kIo, "no answer"};
  return **result;
}

std::optional<SeenContainer> RuntimeBench::look(const ContainerRef& container) {
  const auto all = list();
  if (!all) return std::nullopt;
  for (const SeenContainer& seen : *all) {
    if (seen.container == container) return seen;
  }
  return std::nullopt;
}

std::optional<SeenExit> RuntimeBench::wait_for_exit() {
  if (!eventually([&] { return exits_.size() > waited_for_; })) return std::nullopt;
  return exits_[waited_for_++];
}

std::string RuntimeBench::log_of(const Launch& launch) const {
  const auto text = read_log(launch.log_path, {});
  return text ? text->text : text.error().message;
}

bool RuntimeBench::is_v2() const {
  return runtime_->capabilities().confined_by == ConfinedBy::kCgroupV2;
}

std::vector<std::string> RuntimeBench::tops() const {
  const auto description = find_confinement({.name = name_})->describe();
  const auto text = [&](const char* key) { return std::string(description.at(key).as_string()); };
  if (is_v2()) return {text("base")};
  std::vector<std::string> all{text("cpuset") + "/" + name_, text("cpu") + "/" + name_};
  for (const char* key : {"freezer", "memory"}) {
    if (!text(key).empty()) all.push_back(text(key) + "/" + name_);
  }
  return all;
}

std::string RuntimeBench::cgroup_of(const std::string& controller,
                                    const ContainerRef& container) const {
  const auto description = find_confinement({.name = name_})->describe();
  const std::string key = is_v2() ? "base" : controller;
  return fmt::format("{}/{}/{}/{}", std::string(description.at(key).as_string()),
                     is_v2() ? "pods" : name_, container.pod, container.container);
}

std::string RuntimeBench::outside() const {
  const auto description = find_confinement({.name = name_})->describe();
  return std::string(description.at(is_v2() ? "mount" : "cpuset").as_string());
}

std::string all_cpus() {
  const auto text = read_kernel_file("/sys/devices/system/cpu/online");
  return text ? *text : text.error().message;
}

std::string allowed_cpus(pid_t pid) {
  const auto text = read_kernel_file(fmt::format("/proc/{}/status", pid));
  if (!text) return "";
  constexpr std::string_view kKey = "Cpus_allowed_list:\t";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kKey.size();
  return text->substr(begin, text->find('\n', begin) - begin);
}

}  // namespace corehold
