// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

#include <grp.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>

#include "agent/api/api_server.h"
#include "agent/api/pod_logs.h"
#include "agent/api/watchers.h"
#include "agent/boot/agent_locks.h"
#include "agent/boot/compare.h"
#include "agent/commit/committer.h"
#include "agent/commit/disk_store.h"
#include "agent/metrics/foreign_watch.h"
#include "agent/metrics/metrics.h"
#include "agent/node/feature_rules.h"
#include "agent/node/machine.h"
#include "agent/node/machine_isolation.h"
#include "agent/node/node_document.h"
#include "agent/node/node_facts.h"
#include "agent/podresources/pod_resources.h"
#include "agent/podresources/pod_resources_server.h"
#include "agent/run/run_sessions.h"
#include "agent/shell/requests.h"
#include "agent/static/static_pods.h"
#include "agent/view/catalogue.h"
#include "agent/view/event_book.h"
#include "agent/view/view.h"
#include "features/known_features.h"
#include "kernel/kernel_facts.h"
#include "kernel/machine_snapshot.h"
#include "node/manager_rules.h"
#include "pod/pod_json.h"
#include "runtime/process/process_runtime.h"
#include "runtime/simulated/simulated_runtime.h"
#include "runtime/workspace/launch.h"
#include "runtime/workspace/pod_files.h"
#include "serve/answer.h"
#include "serve/tls_listener.h"
#include "sys/clock.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"
#include "sys/file/move_aside.h"
#include "sys/http/http_server.h"
#include "sys/process/notify.h"
#include "sys/worker.h"

namespace corehold {
namespace {

constexpr mode_t kDirectoryMode = 0755;

using Machine = AgentSettings::Machine;

ManagerRules rules_of(const AgentSettings& settings, const NodeFacts& facts) {
  ManagerRules rules = manager_rules(facts.setup, settings.config);
  rules.features = facts.features;
  return rules;
}

Result<gid_t> group_number(const std::string& name) {
  errno = 0;
  const group* found = ::getgrnam(name.c_str());
  if (found != nullptr) return found->gr_gid;
  return Error{Code::kInvalid,
               fmt::format("listen.socketGroup: there is no group {:?} on this machine", name)};
}

class Agent final : public ShellListener, public RuntimeEvents {
 public:
  Agent(const AgentSettings& settings, const Log& log, const NodeSetup& setup, NodeFacts facts,
        FoundCpus cpus, FoundPods pods)
      : settings_(settings),
        log_(log),
        rules_(rules_of(settings, facts)),
        facts_(std::move(facts)),
        cpus_(std::move(cpus)),
        pods_(std::move(pods.pods)),
        forgotten_(std::move(pods.forgotten)),
        has_lost_pods_(pods.moved),
        is_store_new_(pods.store.is_new()),
        had_checkpoint_(pods.had_checkpoint),
        document_(std::move(pods.document)),
        store_(std::move(pods.store), checkpoint_path(settings.root),
               checkpoint_format(settings.config)),
        committer_({.loop = loop_, .worker = worker_, .store = store_}),
        events_(facts_.name, EventBook::kMost),
        catalogue_(facts_, pods.first_version),
        watchers_(loop_, catalogue_),
        runs_(requests_, log, node_rules()),
        runtime_(make_runtime()),
        isolation_(make_isolation()),
        shell_(brain(), NodeState{.placing = {.bookings = setup.empty}}, shell_parts()),
        logs_(loop_, shell_, settings.root),
        api_({.loop = loop_,
              .shell = shell_,
              .facts = facts_,
              .catalogue = catalogue_,
              .names = names_,
              .watchers = watchers_,
              .metrics = metrics_,
              .requests = requests_,
              .runs = runs_,
              .logs = logs_,
              .document = document_,
              .save_document =
                  [this](const NodeDocument& next, Committer::Noted noted) {
                    committer_.add(SaveNote{.key = kNodeNote, .text = next.text()},
                                   std::move(noted));
                  },
              .rules = pod_rules()}),
        static_pods_({.loop = loop_,
                      .shell = shell_,
                      .names = names_,
                      .requests = requests_,
                      .log = log,
                      .tell = [this](const EmitEvent& event) { happened(event, shell_.node()); },
                      .path = settings.config.static_pod_path,
                      .rules = {.node_name = facts_.name, .pod_rules = static_pod_rules()}}),
        watch_({.loop = loop_,
                .worker = watch_worker_,
                .period = settings.config.reconcile_period,
                .holders = [this] { return quiet_holders(shell_.node().placing.bookings.cpus); },
                .tell = [this](const QuietReport& report) { metrics_.watched(report); },
                .read = [](const CpuSet& held) { return read_machine_on(held); },
                .read_kernel = [] { return read_kernel_facts(); }}),
        signals_(loop_, SIGTERM, SIGINT) {
    facts_.capabilities = runtime_->capabilities();
    if (settings_.machine == Machine::kThis) {
      facts_.isolation = choice_.level;
      facts_.exclusive = exclusive_condition(choice_, {});
      facts_.exclusive->since = facts_.started_at;
    }
    catalogue_.on_change = [this] { watchers_.wake(); };
    committer_.on_commit = [this](const CommitFigures& figures) { metrics_.committed(figures); };
    catalogue_.follow(document_.object(node_view(facts_, 0)));
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // An operator who names a cgroup for containers does not want affinity instead.
  Result<void> check_confinement() const {
    if (settings_.cgroup.empty() || facts_.capabilities.confined_by != ConfinedBy::kAffinity)
      return {};
    return Error{Code::kIo,
                 fmt::format("--cgroup {}: {}", settings_.cgroup, facts_.capabilities.note)};
  }

  void report_capabilities() const {
    log_.info("containers are confined",
              {{"by", std::string(name_of(facts_.capabilities.confined_by))},
               {"note", facts_.capabilities.note}});
    if (!facts_.isolation) return;
    log_.info("held CPUs are kept free",
              {{"level", std::string(name_of(choice_.level))}, {"note", choice_.why_not}});
  }

  Result<void> run() {
    TRY(worker_.start());
    if (isolation_ != nullptr) TRY(isolation_->start());
    signals_.async_wait([this](const auto& error, int number) {
      if (!error) stop(number);
    });
    list();
    loop_.run();
    if (failure_) return *failure_;
    return {};
  }

  void replied(const Reply& reply) override { requests_.replied(reply); }
  void happened(const EmitEvent& event, const NodeState& node) override {
    catalogue_.follow(events_.add(event, node, wall_now()));
  }
  void counted(const CountMetric& metric) override { metrics_.counted(metric); }
  void changed(const NodeState& node, std::span<const std::string> touched) override {
    names_.follow(node, touched);
    runs_.look(node, touched);
    catalogue_.follow(node, touched);
    static_pods_.look(touched);
    api_.look();
    follow_fence(node.placing.fence);
    if (settings_.is_checked) check_shown(node);
  }

 private:
  // The catalogue renders the pods that a step has named as touched: a pod that changes without
  // being named would be shown as it was.
  void check_shown(const NodeState& node) const {
    std::vector<std::string> wrong = catalogue_.differences(node);
    if (!names_.has_same_names(PodNames::of(node))) {
      wrong.emplace_back("pods are not found by the names that they have");
    }
    for (const std::string& each : wrong) {
      log_.error("what is shown is not what is", {{"violation", each}});
    }
    CHECK(wrong.empty() || settings_.on_violation == OnViolation::kLog);
  }

  void follow_fence(const FenceState& fence) {
    if (!facts_.exclusive) return;
    NodeView::Exclusive now = exclusive_condition(choice_, fence);
    now.since = facts_.exclusive->since;
    if (now == facts_.exclusive) return;
    if (now.is_so != facts_.exclusive->is_so) now.since = wall_now();
    facts_.exclusive = std::move(now);
    catalogue_.follow(document_.object(node_view(facts_, 0)));
  }

  // Null: nothing but containers is kept apart, and nothing else was before.
  std::unique_ptr<MachineIsolation> make_isolation() {
    if (settings_.machine == Machine::kSimulated) return nullptr;
    const auto places = fence_places(confinement_);
    const Privilege privilege = privilege_here();
    choice_ = choose_isolation(settings_.config, privilege, places);
    const bool is_fenced = choice_.level != IsolationLevel::kContainers;
    rules_.fences = is_fenced;
    rules_.min_system_cpus = is_fenced ? settings_.config.isolation.min_system_cpus : 0;
    const bool has_journal = ::access(journal_path(settings_.root).c_str(), F_OK) == 0 ||
                             ::access(kJournalOwner, F_OK) == 0;
    if (!places || privilege != Privilege::kRoot || (!is_fenced && !has_journal)) return nullptr;
    return std::make_unique<MachineIsolation>(
        loop_, MachineIsolation::Options{
                   .level = choice_.level, .root = settings_.root, .places = *places, .log = log_});
  }

  LaunchContext launch_context() const {
    const int givable = settings_.topology.cpu_count() - facts_.setup.reserved.size();
    return {.root = settings_.root,
            .node_name = facts_.name,
            .node_address = "127.0.0.1",
            .cpu_millis = std::int64_t{1000} * givable,
            .memory_bytes = facts_.memory,
            .podinfo_annotation = settings_.config.podinfo.annotations
                                      ? PodInfoAnnotation::kObeyed
                                      : PodInfoAnnotation::kIgnored};
  }

  std::unique_ptr<Runner> make_runtime() {
    WorkspaceOptions workspace{.context = launch_context(),
                               .launcher = Launcher(settings_.launcher),
                               .waiting = [this](const std::string& uid) -> Result<WaitingProcess> {
                                 const Attached attached = TRY(runs_.attach(uid));
                                 return WaitingProcess{.child = attached.child,
                                                       .client = attached.client};
                               }};
    if (settings_.machine == Machine::kSimulated) {
      return std::make_unique<SimulatedRuntime>(loop_, simulated_path(), std::move(workspace),
                                                *this);
    }
    auto confinement = find_confinement({.cgroup = settings_.cgroup});
    confinement_ = confinement->describe();
    return std::make_unique<ProcessRuntime>(
        loop_,
        ProcessRuntimeOptions{
            .workspace = std::move(workspace),
            .on_trouble = [this](const std::string& trouble) { log_.warning(trouble); },
            .recover = recover_containers()},
        std::move(confinement), *this);
  }

  // With --recover: what the store knows of containers whose records are damaged.
  std::function<KnownContainer(const ContainerRef&)> recover_containers() const {
    if (settings_.damage == Damage::kRefuse) return nullptr;
    return [this](const ContainerRef& container) -> KnownContainer {
      const auto record = std::find_if(pods_.begin(), pods_.end(), [&](const PodRecord& each) {
        return each.pod.uid == container.pod;
      });
      if (record == pods_.end()) return {};
      const auto kept = record->containers.find(container.container);
      return {.attempt = kept == record->containers.end() ? 0 : kept->second.attempt,
              .manifest = write_json(record->pod)};
    };
  }

  void preparing(const ContainerRef& container, int attempt, const std::string& what) override {
    log_.info("a container is being prepared", {{"uid", container.pod},
                                                {"container", container.container},
                                                {"attempt", fmt::to_string(attempt)},
                                                {"what", what}});
  }
  void exited(const ContainerRef& container, int attempt, const ContainerExit& exit) override {
    shell_.exited(container, attempt, exit);
  }
  void started(const ContainerRef& container, int attempt) override {
    shell_.submit(ContainerStarted{.container = container, .attempt = attempt});
  }
  void synchronized(std::vector<SeenContainer> seen) override {
    const auto online_now = online();
    shell_.submit(
        Synchronized{.seen = std::move(seen), .online = online_now ? *online_now : CpuSet{}});
  }
  void removed(const std::string& uid) override { shell_.submit(PodRemoved{.uid = uid}); }
  void asked(const Ask& ask, std::function<void(Result<Grant>)> reply) override {
    shell_.submit(Asked{.ask = ask, .request = requests_.add_question(std::move(reply))});
  }

  PodRules pod_rules() const {
    return {.assigned_resources = settings_.config.gates.is_on(Gate::kDownwardApiAssignedResources),
            .image_required = false,
            .node = node_rules()};
  }

  // The file of a static pod need not have a spec.nodeName.
  PodRules static_pod_rules() const {
    PodRules rules = pod_rules();
    rules.node->name.clear();
    return rules;
  }

  NodeRules node_rules() const {
    return {.name = facts_.name,
            .unrunnable = [this](const Pod& pod) { return runtime_->mistakes(pod); }};
  }

  Brain brain() {
    Brain brain{.step = [this](NodeState node, std::span<const Command> commands, const Now& now) {
      const auto begun = std::chrono::steady_clock::now();
      Outcome outcome = step(rules_, std::move(node), commands, now);
      metrics_.stepped(commands, outcome, now, std::chrono::steady_clock::now() - begun);
      return outcome;
    }};
    if (settings_.is_checked) {
      brain.violations = [this](const NodeState& node) { return violations(rules_, node); };
    }
    return brain;
  }

  ShellParts shell_parts() {
    std::function<bool()> are_delays_held;
    if (!settings_.hold_delays.empty()) {
      are_delays_held = [this] { return ::access(settings_.hold_delays.c_str(), F_OK) == 0; };
    }
    return {.loop = loop_,
            .runtime = *runtime_,
            .store = committer_,
            .listener = *this,
            .log = log_,
            .now =
                [] {
                  return Now{.steady = std::chrono::steady_clock::now().time_since_epoch(),
                             .wall = wall_now()};
                },
            .online = [this] { return online(); },
            .isolate =
                [this](const CpuSet& held, const std::function<void(Command)>& done) {
                  isolation_->isolate(held, done);
                },
            .on_violation = settings_.on_violation,
            .are_delays_held = std::move(are_delays_held)};
  }

  Result<CpuSet> online() const {
    if (settings_.machine == Machine::kSimulated) return settings_.topology.cpus();
    return online_cpus(settings_.topology);
  }

  void list() {
    runtime_->list([this](const Result<std::vector<SeenContainer>>& found) {
      if (!found && has_moved_aside(found.error())) return list();
      if (const auto begun = begin(found); !begun) fail(begun.error());
    });
  }

  // Simulated containers are a file of the agent's own. Those of a damaged file are as if the
  // machine had been started anew.
  bool has_moved_aside(const Error& error) const {
    if (settings_.machine != Machine::kSimulated || settings_.damage == Damage::kRefuse ||
        error.code != Code::kCorrupt) {
      return false;
    }
    const auto moved = move_aside({simulated_path()}, wall_now());
    log_.warning("the simulated containers were damaged and are moved aside",
                 {{"error", error.message}});
    return moved && !moved->empty();
  }

  std::string simulated_path() const { return settings_.root + "/simulated.json"; }

  // The first turn of the manager, with the containers that the runtime has found.
  Result<void> begin(const Result<std::vector<SeenContainer>>& found) {
    if (!found) {
      const bool is_file =
          settings_.machine == Machine::kSimulated && found.error().code == Code::kCorrupt;
      Error error = wrap("ask the runtime what runs", found.error());
      if (is_file) error.message += "; --recover moves it aside";
      return error;
    }
    const auto running = std::count_if(found->begin(), found->end(),
                                       [](const SeenContainer& each) { return each.running; });
    if (settings_.damage == Damage::kRefuse) TRY(check_found(*found));
    log_.info("recovering", {{"pods", fmt::to_string(pods_.size())},
                             {"containers", fmt::to_string(found->size())},
                             {"running", fmt::to_string(running)}});
    sweep(*found);
    warn_of_unread_pods(*found, log_);
    const CpuSet online_now = TRY(online());
    Recover recover{.pods = std::move(pods_),
                    .cpus = std::move(cpus_.state),
                    .seen = *found,
                    .online = online_now,
                    .cordoned = document_.is_cordoned(),
                    .forgotten = std::move(forgotten_)};
    TRY(listen());
    if (isolation_ != nullptr)
      isolation_->begin([this](Command command) { shell_.submit(std::move(command)); });
    shell_.submit(std::move(recover));
    shell_.settle();
    if (failure_) return {};
    if (cpus_.how == FoundCpus::How::kMoved) note_loss(kLostCpus);
    if (has_lost_pods_) note_loss(kLostPods);
    static_pods_.begin();
    shell_.settle();
    log_.info("ready", {{"node", facts_.name}, {"socket", socket_path()}});
    notify_ready(fmt::format("{} CPUs shared, {} exclusive",
                             shell_.node().placing.bookings.cpus.shared.size(),
                             shell_.node().placing.bookings.cpus.exclusive().size()));
    watch_others();
    ::malloc_trim(0);  // the memory that reading the store took goes back to the kernel
    return {};
  }

  // Counts what others do on held CPUs. Without cgroups nothing tells whose a task is.
  void watch_others() {
    if (settings_.machine != Machine::kThis ||
        facts_.capabilities.confined_by == ConfinedBy::kAffinity) {
      return;
    }
    if (const auto started = watch_worker_.start(); !started) {
      log_.warning("what others do on held CPUs is not counted",
                   {{"error", started.error().message}});
      return;
    }
    watch_.begin();
  }

  Result<void> check_found(const std::vector<SeenContainer>& seen) const {
    std::set<std::string> pods;
    for (const PodRecord& record : pods_) pods.insert(record.pod.uid);
    const std::string checkpoint = checkpoint_path(settings_.root);
    const std::string store = store_path(settings_.root);
    return check_together({.checkpoint = checkpoint,
                           .store = store,
                           .pods = pods,
                           .cpus = cpus_.state,
                           .seen = seen,
                           .is_store_new = is_store_new_,
                           .has_checkpoint = cpus_.how == FoundCpus::How::kLoaded,
                           .had_checkpoint = had_checkpoint_,
                           .pins_cpus = rules_.pins_cpus});
  }

  // An event, for operators who do not read the log.
  void note_loss(std::string_view what) {
    happened(
        {.type = EmitEvent::Type::kWarning, .reason = "StateRebuilt", .message = std::string(what)},
        shell_.node());
  }

  // Removes the files of pods that the store has forgotten. Those of pods that the store has never
  // known are left: their pods may have been lost with an earlier store, and be restored with it.
  void sweep(const std::vector<SeenContainer>& found) {
    if (settings_.machine != Machine::kThis) return;
    std::set<std::string> known;
    for (const PodRecord& record : pods_) known.insert(record.pod.uid);
    for (const SeenContainer& container : found) known.insert(container.container.pod);
    for (const std::string& uid : pods_with_files(settings_.root)) {
      if (known.contains(uid)) continue;
      if (forgotten_.contains(uid)) {
        log_.info("removing the files of a pod that is not known any more", {{"uid", uid}});
        shell_.remove_pod_files(uid);
      } else {
        log_.warning("files of a pod that this store has never known are left; remove them by hand",
                     {{"uid", uid}});
      }
    }
  }

  std::string socket_path() const { return settings_.root + "/run/corehold.sock"; }

  // Requests are read only by the loop, so that the first turn is over before the first request.
  Result<void> listen() {
    HttpServerOptions options{
        .path = socket_path(),
        .handler = [this](const HttpExchangePtr& exchange) { api_.handle(exchange); },
        .complaint = complaint_of};
    const std::string& group = settings_.config.listen.socket_group;
    if (!group.empty()) {
      options.group = TRY(group_number(group));
      options.mode = 0660;
    }
    const UnixListenerOptions beside{
        .path = pod_resources_path(), .mode = options.mode, .group = options.group};
    const auto handler = options.handler;
    server_ = TRY(HttpServer::listen(loop_, std::move(options)));
    tls_server_ = TRY(listen_with_tls(loop_,
                                      {.root = settings_.root,
                                       .node_name = facts_.name,
                                       .address = settings_.config.listen.address,
                                       .handler = handler},
                                      log_));
    return listen_for_pod_resources(beside);
  }

  std::string pod_resources_path() const {
    const std::string& path = settings_.config.paths.pod_resources_socket;
    return path.empty() ? settings_.root + "/pod-resources/kubelet.sock" : path;
  }

  Result<void> listen_for_pod_resources(const UnixListenerOptions& socket) {
    auto node = [this]() -> const NodeState& { return shell_.node(); };
    pod_resources_ = TRY(PodResourcesServer::listen(
        loop_, {.socket = socket,
                .source = pod_resources_source(std::move(node), facts_.setup, metrics_),
                .on_trouble = [this](const std::string& trouble) { log_.warning(trouble); }}));
    return {};
  }

  void stop(int number) {
    log_.info("stopping; containers go on", {{"signal", number == SIGINT ? "INT" : "TERM"}});
    notify_stopping();
    end();
  }

  void fail(const Error& error) {
    failure_ = error;
    end();
  }

  void end() {
    if (server_) server_->close();
    if (tls_server_) tls_server_->close();
    if (pod_resources_) pod_resources_->close();
    // Changes that were accepted are written, though their clients may get no answer any more.
    shell_.close();
    loop_.stop();
  }

  const AgentSettings& settings_;
  const Log& log_;
  boost::asio::io_context loop_{1};
  ManagerRules rules_;
  NodeFacts facts_;
  FoundCpus cpus_;
  std::vector<PodRecord> pods_;
  std::set<std::string> forgotten_;
  bool has_lost_pods_;
  bool is_store_new_;
  bool had_checkpoint_;
  NodeDocument document_;
  DiskStore store_;
  WorkerThread worker_{loop_};
  Committer committer_;
  EventBook events_;
  Catalogue catalogue_;
  PodNames names_{};
  Watchers watchers_;
  Metrics metrics_{};
  Requests requests_{};
  RunSessions runs_;
  boost::json::object confinement_{};  // as it describes itself
  IsolationChoice choice_{};
  std::unique_ptr<Runner> runtime_;
  std::unique_ptr<MachineIsolation> isolation_;
  Shell shell_;
  PodLogs logs_;
  ApiServer api_;
  StaticPods static_pods_;
  ForeignWatch watch_;
  WorkerThread watch_worker_{loop_};  // ends before what it works on
  boost::asio::signal_set signals_;
  std::unique_ptr<HttpServer> server_{};
  std::unique_ptr<TlsServer> tls_server_{};
  std::unique_ptr<PodResourcesServer> pod_resources_{};
  std::optional<Error> failure_{};
};

void log_settings(const AgentSettings& settings, const NodeSetup& setup, const Log& log) {
  const Config& config = settings.config;
  log.info("starting", {{"version", settings.version},
                        {"root", settings.root},
                        {"cpus", settings.topology.cpus().str()},
                        {"policy", std::string(setup.policy->name())},
                        {"options", fmt::format("{}", fmt::join(setup.options, ","))},
                        {"reserved", setup.reserved.str()},
                        {"topology_manager", std::string(name_of(config.topology.policy))},
                        {"scope", std::string(name_of(config.topology.scope))},
                        {"reconcile", fmt::format("{}ms", config.reconcile_period.count())},
                        {"scale_delay", fmt::format("{}ms", setup.scale_delay.count())}});
  const bool is_static = config.cpu_manager_policy == CpuManagerPolicy::kStatic;
  const int kept = config.static_options.strict_cpu_reservation ? setup.min_shared : 0;
  if (is_static && setup.givable.size() <= kept) {
    log.warning(
        "no exclusive CPUs can be given: all are reserved or kept to be shared; reserve fewer",
        {{"reserved", setup.reserved.str()}, {"cpus", settings.topology.cpus().str()}});
  }
  for (const Gate gate : config.gates.changed()) {
    log.info("feature gate", {{"gate", std::string(info(gate).name)},
                              {"on", config.gates.is_on(gate) ? "true" : "false"}});
  }
  for (const auto& [name, on] : config.gates.others) {
    if (extension_registry().find(name)) continue;
    log.info("feature gate without effect here", {{"gate", name}, {"on", on ? "true" : "false"}});
  }
}

void log_features(const NodeFacts& facts, const Config& config, const Log& log) {
  if (!facts.features) return;
  log.info("declared features",
           {{"features", fmt::format("{}", fmt::join(facts.features->names(), ","))}});
  for (const auto& [name, on] : config.gates.others) {
    if (!on || !extension_registry().find(name)) continue;
    log.warning("the gate of a feature is on that this node does not have; it is not declared",
                {{"feature", name}});
  }
}

}  // namespace

Result<void> run_agent(const AgentSettings& settings, const Log& log) {
  if (settings.machine == Machine::kThis && settings.config.runtime.kind != RuntimeKind::kProcess) {
    return Error{Code::kUnsupported, fmt::format("runtime.kind {} is not there yet; use process",
                                                 name_of(settings.config.runtime.kind))};
  }
  const NodeSetup setup = TRY(NodeSetup::make(settings.topology, settings.config));
  TRY(make_directories(settings.root + "/run", kDirectoryMode));
  if (settings.machine == Machine::kThis) TRY(make_private_tops(settings.root));
  std::optional<HostLocks> host;
  if (settings.machine == Machine::kThis) host = host_locks();
  const AgentLocks locks = TRY(take_locks(settings.root, host));
  log_settings(settings, setup, log);
  remove_leftovers(settings.root, log);
  if (settings.machine == Machine::kThis) TRY(end_simulation(settings.root, log));
  FoundCpus cpus = TRY(load_cpus(
      {.root = settings.root, .source = settings.source, .setup = setup, .config = settings.config},
      settings.damage, log));
  FoundPods pods = TRY(load_pods(settings.root, cpus.state, settings.damage, log));
  if (settings.machine == Machine::kThis) keep_to(setup.reserved, log);
  NodeFacts facts = facts_of(setup, settings.version);
  if (settings.machine == Machine::kSimulated) facts.memory = memory_of(settings.topology);
  facts.features = own_features(settings.config);
  log_features(facts, settings.config, log);
  Agent agent(settings, log, setup, std::move(facts), std::move(cpus), std::move(pods));
  TRY(agent.check_confinement());
  agent.report_capabilities();
  return agent.run();
}

}  // namespace corehold
