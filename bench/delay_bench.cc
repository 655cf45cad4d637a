// SPDX-License-Identifier: Apache-2.0
//
// delay_bench --corehold PATH [--rounds N] [--delay MS]: how soon a container is told of a shrink,
// and how soon after the delay its CPUs are taken, in milliseconds.
//
// The manager, the shell, its timers, store, checkpoint, podinfo writer and process runtime are the
// agent's own, on this machine's disk, with a real process in a real cgroup. Only the CPUs are not:
// a machine of eight is described, of which the runtime is given each by its number modulo those
// that this machine has, so that a shrink from two to one is one in the kernel too.
//
//   notify     from the resize, as it is handed to the manager, until a reader that waits for a
//              change of the volume's directory has read the new list
//   overshoot  from the end of the delay until the kernel has taken the new cpuset
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "agent/boot/startup.h"
#include "agent/commit/committer.h"
#include "agent/commit/disk_store.h"
#include "agent/shell/shell.h"
#include "node/manager_rules.h"
#include "pod/pod_json.h"
#include "runtime/process/process_runtime.h"
#include "runtime/workspace/pod_files.h"
#include "sys/clock.h"
#include "sys/worker.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr const char* kUid = "00000000-0000-4000-8000-000000000001";
constexpr const char* kPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "told", "namespace": "default", "uid": "00000000-0000-4000-8000-000000000001"},
  "spec": {
    "containers": [{
      "name": "main", "command": ["sleep", "100000"],
      "resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "1", "memory": "64Mi"}},
      "volumeMounts": [{"name": "told", "mountPath": "/etc/podinfo"}]}],
    "volumes": [{"name": "told", "downwardAPI": {"items": [{
      "path": "assigned.cpuset",
      "resourceFieldRef": {"containerName": "main", "resource": "assigned.cpuset"}}]}}]}})";

[[noreturn]] void die(std::string_view what) {
  fmt::print(stderr, "delay_bench: {}\n", what);
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result) die(result.error().message);
  return *std::move(result);
}

// This machine's CPUs in place of those of the described one.
class OnThisMachine final : public Runner {
 public:
  explicit OnThisMachine(Runner& real) : real_(real) {
    cpu_set_t allowed{};
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) die("sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) cpus_.emplace_back(cpu);
    }
    if (cpus_.size() < 2) die("needs two CPUs");
  }

  Capabilities capabilities() const override { return real_.capabilities(); }
  void list(Done<std::vector<SeenContainer>> done) override { real_.list(std::move(done)); }
  std::vector<std::string> mistakes(const Pod& pod) const override { return real_.mistakes(pod); }
  void start(const Start& start, Done<Started> done) override {
    Start here = start;
    here.placement = placement_here(start.placement);
    real_.start(here, std::move(done));
  }
  void place(const ContainerRef& container, const Placement& placement, Done<void> done) override {
    real_.place(container, placement_here(placement),
                [this, done = std::move(done)](const Result<void>& result) {
                  if (!result) die(result.error().message);
                  applied = Clock::now();
                  done(result);
                });
  }
  void place_shared(const CpuSet& cpus, const std::set<ContainerRef>& members,
                    Done<void> done) override {
    real_.place_shared(placement_here({.cpus = cpus}).cpus, members, std::move(done));
  }
  void write_podinfo(const Pod& pod, const AssignedByContainer& assigned,
                     Done<void> done) override {
    real_.write_podinfo(pod, assigned, std::move(done));
  }
  void stop(const ContainerRef& container, std::chrono::milliseconds grace,
            Done<void> done) override {
    real_.stop(container, grace, std::move(done));
  }
  void remove_pod(const std::string& uid, Done<void> done) override {
    real_.remove_pod(uid, std::move(done));
  }
  void remove(const ContainerRef& container, Done<void> done) override {
    real_.remove(container, std::move(done));
  }

  Clock::time_point applied{};  // the last update that the kernel took

 private:
  Placement placement_here(Placement placement) const {
    CpuSet here;
    for (const auto cpu : placement.cpus) {
      here |= CpuSet{cpus_[static_cast<std::size_t>(cpu.value) % cpus_.size()]};
    }
    placement.cpus = here;
    return placement;
  }

  Runner& real_;
  std::vector<CpuId> cpus_{};
};

// A workload that waits for its file to change, as docs/formats.md advises.
class Reader {
 public:
  explicit Reader(std::string directory) : directory_(std::move(directory)) {
    descriptor_ = ::inotify_init1(IN_CLOEXEC);
    if (descriptor_ < 0 || ::inotify_add_watch(descriptor_, directory_.c_str(), IN_MOVED_TO) < 0) {
      die("inotify");
    }
    thread_ = std::thread([this] { run(); });
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    ends_ = true;
    thread_.join();
    ::close(descriptor_);
  }

  // When it last had read something, and how often; the latter changes last.
  Clock::time_point when() const { return when_; }
  int reads() const { return reads_; }

 private:
  void run() {
    std::array<char, 4096> events{};
    while (!ends_) {
      pollfd waits{.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (::poll(&waits, 1, 100) <= 0) continue;
      if (::read(descriptor_, events.data(), events.size()) <= 0) die("inotify");
      std::ifstream file(directory_ + "/assigned.cpuset");
      if (!file) die("the file is not there");
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      if (text.empty()) die("the file is empty");
      when_ = Clock::now();
      ++reads_;
    }
  }

  std::string directory_;
  int descriptor_ = -1;
  std::atomic<bool> ends_ = false;
  std::atomic<Clock::time_point> when_{};
  std::atomic<int> reads_ = 0;
  std::thread thread_{};
};

struct Settings {
  std::string corehold{};
  int rounds = 1000;
  int delay_ms = 10;
};

Config config_of(const Topology& topology, const Settings& settings) {
  Config config = planning_defaults(topology);
  config.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, true);
  config.static_options.scale_delay = std::chrono::milliseconds(settings.delay_ms);
  config.reconcile_period = std::chrono::hours(1);  // it would find the CPUs of this machine
  return config;
}

class Bench final : public ShellListener, public RuntimeEvents {
 public:
  Bench(const Settings& settings, std::string root)
      : settings_(settings),
        root_(std::move(root)),
        config_(config_of(topology_, settings)),
        setup_(must(NodeSetup::make(topology_, config_))),
        rules_(manager_rules(setup_, config_)),
        pods_(must(load_pods(root_, {}, Damage::kRefuse, log_))),
        store_(std::move(pods_.store), checkpoint_path(root_), checkpoint_format(config_)),
        real_(loop_,
              {.workspace = {.context = {.root = root_, .node_name = "bench", .cpu_millis = 8000}},
               .monitor = {settings.corehold, "monitor"}},
              find_confinement({.name = fmt::format("corehold-bench-{}", ::getpid())}), *this),
        runtime_(real_),
        shell_(brain(), NodeState{.placing = {.bookings = setup_.empty}}, parts()) {}

  void run() {
    if (const auto started = worker_.start(); !started) die(started.error().message);
    real_.list([this](const auto& found) {
      if (!found) die(found.error().message);
      shell_.submit(Recover{.cpus = setup_.empty.cpus, .online = topology_.cpus()});
      Pod pod = must(pod_from_json(must(parse_json(kPod)).as_object()));
      shell_.submit(CreatePod{.pod = std::move(pod)});
    });
    loop_.run();
  }

  void print() {
    fmt::print("confined by {}, delay {} ms, {} rounds\n",
               name_of(real_.capabilities().confined_by), settings_.delay_ms, notify_.size());
    print("notify", notify_);
    print("overshoot", overshoot_);
  }

  void replied(const Reply& reply) override {
    if (reply.error) die(reply.error->message);
  }
  void happened(const EmitEvent&, const NodeState&) override {}
  void counted(const CountMetric&) override {}
  void changed(const NodeState&, std::span<const std::string>) override {
    boost::asio::post(loop_, [this] { look(); });
  }

 private:
  void preparing(const ContainerRef&, int, const std::string&) override {}
  void exited(const ContainerRef& container, int attempt, const ContainerExit& exit) override {
    shell_.exited(container, attempt, exit);
  }
  void started(const ContainerRef&, int) override {}
  void removed(const std::string&) override {}
  void synchronized(std::vector<SeenContainer>) override {}
  void asked(const Ask&, std::function<void(Result<Grant>)>) override {}

  enum class Step { kStart, kGrow, kShrink, kEnd };

  static void print(std::string_view what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const auto at = [&](double part) {
      return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
    };
    fmt::print("{:<10} p50 {:.3f} ms  p99 {:.3f} ms  max {:.3f} ms\n", what, at(0.5), at(0.99),
               times.back());
  }

  Brain brain() {
    return {.step = [this](NodeState node, std::span<const Command> commands, const Now& now) {
      Outcome outcome = step(rules_, std::move(node), commands, now);
      for (const Effect& effect : outcome.effects) {
        const auto* timer = std::get_if<StartTimer>(&effect);
        if (timer == nullptr || timer->timer.kind != TimerKey::Kind::kDelay) continue;
        // A moment too early: what is measured is not better than it is.
        expires_ = Clock::now() + timer->after;
      }
      return outcome;
    }};
  }

  ShellParts parts() {
    return {.loop = loop_,
            .runtime = runtime_,
            .store = committer_,
            .listener = *this,
            .log = log_,
            .now = [] { return Now{.steady = steady_now(), .wall = wall_now()}; },
            .online = [this]() -> Result<CpuSet> { return topology_.cpus(); }};
  }

  void resize(const char* cpus) {
    Pod pod = shell_.node().running.pods.at(kUid).record.pod;
    for (auto* list :
         {&pod.containers[0].resources.requests, &pod.containers[0].resources.limits}) {
      list->insert_or_assign("cpu", *Quantity::parse(cpus));
    }
    reads_ = reader_->reads();
    asked_ = Clock::now();
    shell_.submit(ResizePod{.pod = std::move(pod)});
  }

  bool is_settled() const {
    const RunPod& pod = shell_.node().running.pods.at(kUid);
    const PlacedPod& placed = shell_.node().placing.pods.at(kUid);
    if (pod.containers.at("main").stage != Stage::kRunning || !placed.files.told) return false;
    return !pod.record.wish && !pod.record.containers.at("main").actual && pod.store.is_saved();
  }

  // After everything that has happened: what is next.
  void look() {
    const auto& pods = shell_.node().running.pods;
    if (pods.empty()) {
      if (step_ == Step::kEnd) loop_.stop();
      return;
    }
    if (step_ == Step::kEnd || !is_settled()) return;
    if (step_ == Step::kShrink) take_times();
    if (step_ == Step::kStart) reader_.emplace(podinfo_path(root_, kUid, "told"));
    if (step_ != Step::kGrow && notify_.size() >= static_cast<std::size_t>(settings_.rounds)) {
      step_ = Step::kEnd;
      reader_.reset();
      shell_.submit(DeletePod{.uid = kUid, .grace = std::chrono::seconds(0)});
    } else if (step_ == Step::kGrow) {
      step_ = Step::kShrink;
      resize("1");
    } else {
      step_ = Step::kGrow;
      resize("2");
    }
  }

  void take_times() {
    if (reader_->reads() != reads_ + 1) die("the reader has not read the new list once");
    notify_.push_back(Milliseconds(reader_->when() - asked_).count());
    overshoot_.push_back(Milliseconds(runtime_.applied - expires_).count());
  }

  Settings settings_;
  std::string root_;
  Topology topology_ = machine("1s4c2t");
  Config config_;
  NodeSetup setup_;
  ManagerRules rules_;
  Log log_ = Log::to_stderr(LogLevel::kWarning);
  boost::asio::io_context loop_{1};
  FoundPods pods_;
  DiskStore store_;
  WorkerThread worker_{loop_};
  Committer committer_{{.loop = loop_, .worker = worker_, .store = store_}};
  ProcessRuntime real_;
  OnThisMachine runtime_;
  Shell shell_;
  std::optional<Reader> reader_{};
  Step step_ = Step::kStart;
  int reads_ = 0;
  Clock::time_point asked_{};
  Clock::time_point expires_{};
  std::vector<double> notify_{};
  std::vector<double> overshoot_{};
};

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  Settings settings;
  CLI::App app("How soon a container is told, and how soon after the delay CPUs are taken.");
  app.add_option("--corehold", settings.corehold, "The program, for its monitor")->required();
  app.add_option("--rounds", settings.rounds, "Shrinks (default: 1000)");
  app.add_option("--delay", settings.delay_ms, "Milliseconds (default: 10)");
  CLI11_PARSE(app, count, words);
  settings.corehold = std::filesystem::absolute(settings.corehold);
  std::string root = (std::filesystem::temp_directory_path() / "corehold-bench-XXXXXX").string();
  if (::mkdtemp(root.data()) == nullptr) die("mkdtemp");
  {
    Bench bench(settings, root);
    bench.run();
    bench.print();
  }
  std::filesystem::remove_all(root);
  return 0;
}

}  // namespace
}  // namespace corehold

int main(int count, char** words) {
  try {
    return corehold::parse_and_run(count, words);
  } catch (const std::exception& trouble) {
    fmt::print(stderr, "delay_bench: {}\n", trouble.what());
    return 1;
  }
}
