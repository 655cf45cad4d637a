// SPDX-License-Identifier: Apache-2.0
#include "agent/boot/damage_testing.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "agent/boot/agent_locks.h"
#include "agent/boot/compare.h"
#include "base/check.h"
#include "node/manager_rules.h"
#include "runtime/workspace/pod_files.h"
#include "runtime/workspace/podinfo.h"
#include "sys/clock.h"
#include "sys/descriptor.h"
#include "sys/file/directory.h"
#include "sys/file/disk_full.h"
#include "sys/file/file.h"
#include "sys/socket/tls.h"
#include "topology/testing.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDiskSize = "size=8m";
constexpr const char* kAddress = "127.0.0.1:10270";
constexpr std::size_t kLargest = std::size_t{16} << 20U;

bool has_own_mounts() {
  static const bool kHas = ::unshare(CLONE_NEWNS) == 0 &&
                           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return kHas;
}

Config test_config(const Topology& topology) {
  Config config = planning_defaults(topology);
  config.cpu_manager_policy = CpuManagerPolicy::kStatic;
  return config;
}

const Log& silent_log() {
  static std::ostringstream nowhere;
  static const Log kLog = Log::to_stream(nowhere, LogLevel::kError);
  return kLog;
}

}  // namespace

SmallDisk::SmallDisk() {
  std::string pattern = (fs::temp_directory_path() / "corehold-damage-XXXXXX").string();
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
  is_mounted_ =
      has_own_mounts() && ::mount("corehold-test", directory_.c_str(), "tmpfs", 0, kDiskSize) == 0;
  root_ = directory_ + "/root";
  fs::create_directory(root_);
}

SmallDisk::~SmallDisk() {
  std::error_code ignored;
  if (is_mounted_) ::umount2(directory_.c_str(), MNT_DETACH);
  fs::remove_all(directory_, ignored);
}

void SmallDisk::fill() const {
  const Descriptor file(
      ::open((directory_ + "/ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string block(4096, 'x');
  while (write_all(file.get(), block) == 0) {
  }
}

void SmallDisk::free() const { fs::remove(directory_ + "/ballast"); }

bool SmallDisk::set_read_only(bool is_read_only) const {
  unsigned long flags = MS_REMOUNT;
  if (is_read_only) flags |= MS_RDONLY;
  return ::mount("corehold-test", directory_.c_str(), "tmpfs", flags, kDiskSize) == 0;
}

Snapshot SmallDisk::copy() const {
  Snapshot snapshot;
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    const std::string name = entry.path().lexically_relative(root_).string();
    if (entry.is_symlink()) {
      snapshot[name] = {.target = fs::read_symlink(entry.path()).string()};
      continue;
    }
    if (!entry.is_regular_file()) continue;
    struct stat status {};
    CHECK(::stat(entry.path().c_str(), &status) == 0);
    auto content = read_file(entry.path().string(), kLargest);
    CHECK(content.has_value());
    snapshot[name] = {.content = *std::move(content),
                      .allocated = status.st_blocks * 512,
                      .mode = status.st_mode & 0777U};
  }
  return snapshot;
}

void SmallDisk::bring_back(const Snapshot& snapshot) const {
  for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
  for (const auto& [name, kept] : snapshot) {
    const fs::path path = fs::path(root_) / name;
    fs::create_directories(path.parent_path());
    if (!kept.target.empty()) {
      fs::create_symlink(kept.target, path);
      continue;
    }
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    CHECK(write_all(file.get(), kept.content) == 0);
    CHECK(::fchmod(file.get(), kept.mode) == 0);
    if (kept.allocated > 0) ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, kept.allocated);
  }
}

TestSetup::TestSetup()
    : topology(machine("1s4c2t")),
      config(test_config(topology)),
      setup(*NodeSetup::make(topology, config)),
      rules(manager_rules(setup, config)) {}

Result<FoundNode> find_node(const TestSetup& setup, const std::string& root,
                            const Containers& containers, Damage damage) {
  TRY(make_directories(root + "/run", 0755));
  const AgentLocks locks = TRY(take_locks(root, std::nullopt));
  FoundCpus cpus = TRY(load_cpus(
      {.root = root, .source = setup.source, .setup = setup.setup, .config = setup.config}, damage,
      silent_log()));
  FoundPods pods = TRY(load_pods(root, cpus.state, damage, silent_log()));
  std::set<std::string> known;
  for (const PodRecord& record : pods.pods) known.insert(record.pod.uid);
  std::vector<SeenContainer> seen;
  for (const auto& [container, each] : containers) seen.push_back(each);
  if (damage == Damage::kRefuse) {
    const std::string checkpoint = checkpoint_path(root);
    const std::string store = store_path(root);
    TRY(check_together({.checkpoint = checkpoint,
                        .store = store,
                        .pods = known,
                        .cpus = cpus.state,
                        .seen = seen,
                        .is_store_new = pods.store.is_new(),
                        .has_checkpoint = cpus.how == FoundCpus::How::kLoaded,
                        .had_checkpoint = pods.had_checkpoint}));
  }
  for (const SeenContainer& each : seen) known.insert(each.container.pod);
  for (const std::string& uid : pods_with_files(root)) {
    if (known.contains(uid) || !pods.forgotten.contains(uid)) continue;
    static_cast<void>(remove_pod_files(root, uid, Launcher()));
  }
  Credentials credentials =
      TRY(prepare_credentials({.root = root,
                               .node_name = "node",
                               .address = kAddress,
                               .now = std::chrono::duration_cast<std::chrono::seconds>(wall_now())},
                              silent_log()));
  TRY(TlsContext::for_server(credentials.server));
  // The agent goes on without this one, with a warning.
  const auto written = write_kubeconfig(root, kAddress, credentials, silent_log());
  if (!written && !is_disk_full(written.error())) return written.error();
  return FoundNode{
      .cpus = std::move(cpus), .pods = std::move(pods), .credentials = std::move(credentials)};
}

// Does what the shell and a runtime do.
struct NodeLife::Act {
  NodeLife& life;
  StoreBatch& batch;

  void answer(Command command) const { life.queue_.push_back(std::move(command)); }

  void operator()(const SavePod& effect) const { batch.effects.emplace_back(effect); }
  void operator()(const ForgetPod& effect) const { batch.effects.emplace_back(effect); }
  void operator()(const PersistCheckpoint& effect) const { batch.effects.emplace_back(effect); }
  void operator()(const WritePodInfo& effect) const {
    const auto told = life.tell_pod(effect);
    std::optional<Error> error;
    if (!told) error = told.error();
    answer(PodInfoWritten{.uid = effect.uid, .error = std::move(error)});
  }
  void operator()(const SetCpuset& effect) const {
    life.containers_.at(effect.container).cpus = effect.placement.cpus;
    answer(CpusetApplied{.container = effect.container, .cpus = effect.placement.cpus});
  }
  void operator()(const Isolate& effect) const { answer(Isolated{.held = effect.held}); }
  void operator()(const SetSharedCpus& effect) const {
    for (const ContainerRef& member : life.node_.placing.pool.members) {
      const auto found = life.containers_.find(member);
      if (found != life.containers_.end()) found->second.cpus = effect.cpus;
    }
    answer(SharedCpusApplied{.cpus = effect.cpus});
  }
  void operator()(const StartContainer& effect) const {
    const std::string volume = volume_path(life.root_, effect.container.pod, "v");
    std::error_code ignored;
    fs::create_directories(volume, ignored);
    std::ofstream(volume + "/data") << "of the pod";
    life.containers_[effect.container] = {.container = effect.container,
                                          .attempt = effect.attempt,
                                          .running = true,
                                          .cpus = effect.placement.cpus,
                                          .started_at = life.now_.wall,
                                          .pod = effect.pod};
    answer(ContainerStarted{.container = effect.container, .attempt = effect.attempt});
  }
  void operator()(const StopContainer& effect) const {
    SeenContainer& seen = life.containers_.at(effect.container);
    seen.running = false;
    seen.exit = ContainerExit{.code = 143, .signal = 15, .finished_at = life.now_.wall};
    answer(ContainerExited{
        .container = effect.container, .attempt = seen.attempt, .exit = *seen.exit});
  }
  void operator()(const RemoveContainer& effect) const { life.containers_.erase(effect.container); }
  void operator()(const RemovePodFiles& effect) const {
    CHECK(remove_pod_files(life.root_, effect.uid, Launcher()).has_value());
  }
  void operator()(const Reply& effect) const { life.refusal_ = effect.error; }
  template <typename Other>
  void operator()(const Other&) const {}
};

NodeLife::NodeLife(const TestSetup& setup, const std::string& root, Containers& containers,
                   FoundNode found)
    : setup_(setup),
      root_(root),
      containers_(containers),
      store_(std::move(found.pods.store), checkpoint_path(root), checkpoint_format(setup.config)) {
  node_.placing.bookings = setup.setup.empty;
  for (const PodRecord& record : found.pods.pods) saved_.pods[record.pod.uid] = record;
  saved_.cpus = found.cpus.state;
  Recover recover{.pods = std::move(found.pods.pods),
                  .cpus = std::move(found.cpus.state),
                  .online = setup.topology.cpus(),
                  .forgotten = std::move(found.pods.forgotten)};
  for (const auto& [container, each] : containers) recover.seen.push_back(each);
  take(recover);
}

Result<void> NodeLife::tell_pod(const WritePodInfo& effect) const {
  return write_podinfo(*effect.pod, effect.assigned, {.root = root_, .node_name = "node"});
}

void NodeLife::take(const Command& command, int steps) {
  queue_.push_back(command);
  for (; steps > 0 && !queue_.empty(); --steps) {
    const std::vector<Command> come = std::exchange(queue_, {});
    now_.wall += std::chrono::milliseconds(1);
    Outcome outcome = step(setup_.rules, std::move(node_), std::span<const Command>(come), now_);
    node_ = std::move(outcome.node);
    CHECK(violations(setup_.rules, node_).empty());
    StoreBatch batch;
    for (const Effect& effect : outcome.effects) {
      std::visit(Act{.life = *this, .batch = batch}, effect);
    }
    if (!batch.empty()) commit(batch);
  }
  queue_.clear();
}

void NodeLife::commit(const StoreBatch& batch) {
  const CommitResult result = store_.commit(batch);
  for (const StoreEffect& effect : batch.effects) {
    std::optional<Error> error;
    if (const auto* save = std::get_if<SavePod>(&effect)) {
      if (!result.records) error = result.records.error();
      if (result.refused_others && !may_use_reserve(effect)) error = result.refused_others;
      if (!error) saved_.pods[save->record.pod.uid] = save->record;
      queue_.emplace_back(PodSaved{.uid = save->record.pod.uid, .error = error});
    } else if (const auto* forget = std::get_if<ForgetPod>(&effect)) {
      if (!result.records) error = result.records.error();
      if (!error) saved_.pods.erase(forget->uid);
      queue_.emplace_back(PodForgotten{.uid = forget->uid, .error = error});
    } else {
      const auto& persist = std::get<PersistCheckpoint>(effect);
      if (!result.checkpoint) error = result.checkpoint.error();
      if (!error) apply(saved_.cpus, persist.delta);
      queue_.emplace_back(CheckpointSaved{.revision = persist.revision, .error = error});
    }
  }
}

}  // namespace corehold
