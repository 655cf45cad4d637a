// SPDX-License-Identifier: Apache-2.0
#include "sim/story.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "node/manager_rules.h"
#include "pod/scale_delay.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

constexpr const char* kEditLabel = "edit";
constexpr int kMostPods = 6;
constexpr int kRuleCode = 42;  // for which containers may have a rule

StaticOptions random_options(Dice& dice) {
  StaticOptions options{.full_pcpus_only = dice.chance(30),
                        .strict_cpu_reservation = dice.chance(30),
                        .prefer_align_by_uncore = dice.chance(20),
                        .distribute_across_numa = dice.chance(20),
                        .distribute_across_cores = dice.chance(20),
                        .align_by_socket = dice.chance(10),
                        .min_shared_cpus = dice.roll(0, 2)};
  if (options.full_pcpus_only || options.distribute_across_numa) {
    options.distribute_across_cores = false;
  }
  return options;
}

Config random_config(Dice& dice, const Topology& topology) {
  Config config = planning_defaults(topology);
  config.reserved_cpus = {};
  config.reserved_count = dice.roll(1, std::max(1, topology.cpu_count() / 4));
  config.static_options = random_options(dice);
  config.memory_pinning = dice.chance(20);
  config.gates.set(Gate::kRestartAllContainersOnContainerExits, dice.chance(80));
  const bool resizes = dice.chance(90);
  config.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, resizes);
  if (resizes && dice.chance(40)) {
    constexpr std::array kDelays{500, 1000, 3000, 5000, 10'000};
    config.static_options.scale_delay =
        std::chrono::milliseconds(kDelays[static_cast<std::size_t>(dice.roll(0, 4))]);
  }
  if (dice.chance(8)) config.cpu_manager_policy = CpuManagerPolicy::kNone;
  if (dice.chance(40)) {
    config.topology.policy = static_cast<TopologyPolicy>(dice.roll(0, 3));
    if (dice.chance(50)) config.topology.scope = TopologyScope::kPod;
  }
  if (dice.chance(20)) {
    config.memory_manager_policy = MemoryManagerPolicy::kStatic;
    config.memory.emplace();
    for (const auto& node : topology.nodes()) {
      (*config.memory)[node.id]["memory"] = std::int64_t{4} << 30;
    }
  }
  if (dice.chance(20)) {
    std::vector<Device>& nics = config.devices["example.com/nic"];
    for (int i = 0; i < 3; ++i) nics.push_back({.id = fmt::format("nic{}", i)});
  }
  return config;
}

// One that can be read, mostly.
std::string random_delay(Dice& dice) {
  constexpr std::array kDelays{"off", "0s", "500ms", "2s", "5s", "10s", "soon"};
  return kDelays[static_cast<std::size_t>(dice.roll(0, 6))];
}

void add_random_rules(Dice& dice, Pod& pod) {
  for (const Container* container : in_starting_order(pod)) {
    if (dice.chance(40)) continue;
    add_restart_rule(pod, container->name, kRuleCode,
                     dice.chance(75) ? "RestartAllContainers" : "Restart");
  }
}

std::string random_line(Dice& dice, const StoryNode& node, const std::string& name,
                        bool guaranteed) {
  if (!guaranteed) return name + (dice.chance(50) ? " cpu=100m..2" : " cpu=250m memory=1Gi..");
  std::string line = name;
  if (dice.chance(20)) {
    line += " cpu=1500m";
  } else {
    const int threads = node.config.static_options.full_pcpus_only && dice.chance(85)
                            ? node.topology->threads_per_core()
                            : 1;
    line += fmt::format(" cpu={}", threads * dice.roll(1, 2));
  }
  line += " memory=1Gi";
  if (!node.config.devices.empty() && dice.chance(30)) line += " example.com/nic=1";
  return line;
}

}  // namespace

int Dice::roll(int low, int high) {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31U;
  return low + static_cast<int>(mixed % static_cast<std::uint64_t>(high - low + 1));
}

StoryNode random_node(Dice& dice, int most_cpus) {
  const auto chance = [&dice](int low, int high) { return dice.roll(low, high); };
  for (;;) {
    StoryNode node;
    node.topology = std::make_unique<Topology>(random_machine(chance, most_cpus));
    if (node.topology->cpu_count() < 2) continue;
    node.config = random_config(dice, *node.topology);
    auto setup = NodeSetup::make(*node.topology, node.config);
    if (!setup) continue;  // options that do not suit the machine
    node.setup = std::make_unique<NodeSetup>(*std::move(setup));
    node.rules = std::make_unique<ManagerRules>(manager_rules(*node.setup, node.config));
    node.rules->fences = node.rules->pins_cpus && dice.chance(70);
    return node;
  }
}

StoryNode delaying_node(Topology topology, std::chrono::milliseconds delay) {
  StoryNode node;
  node.topology = std::make_unique<Topology>(std::move(topology));
  node.config = planning_defaults(*node.topology);
  node.config.gates.set(Gate::kInPlacePodVerticalScalingExclusiveCpus, true);
  node.config.static_options.scale_delay = delay;
  auto setup = NodeSetup::make(*node.topology, node.config);
  CHECK(setup.has_value());
  node.setup = std::make_unique<NodeSetup>(*std::move(setup));
  node.rules = std::make_unique<ManagerRules>(manager_rules(*node.setup, node.config));
  return node;
}

Pod random_pod(Dice& dice, const StoryNode& node, int number) {
  const bool guaranteed = dice.chance(65);
  std::vector<std::string> lines;
  const int inits = dice.chance(30) ? dice.roll(1, 2) : 0;
  for (int i = 0; i < inits; ++i) {
    const char* kind = dice.chance(60) ? "init" : "sidecar";
    lines.push_back(random_line(dice, node, fmt::format("{}:i{}", kind, i), guaranteed));
  }
  const int apps = dice.chance(25) ? 2 : 1;
  for (int i = 0; i < apps; ++i) {
    lines.push_back(random_line(dice, node, fmt::format("a{}", i), guaranteed));
  }
  Pod pod = pod_of(fmt::format("p{}", number), lines);
  constexpr std::array kPolicies{"Always", "OnFailure", "Never"};
  pod.restart_policy = kPolicies[static_cast<std::size_t>(dice.roll(0, 2))];
  if (dice.chance(30)) pod.priority = dice.roll(-1, 3);
  if (dice.chance(25)) pod.annotations[kScaleDelayAnnotation] = random_delay(dice);
  for (Container& container : pod.containers) {
    if (pod.restart_policy != "Never" && dice.chance(15)) {
      container.resize_policy["cpu"] = "RestartContainer";
    }
  }
  if (dice.chance(30)) add_random_rules(dice, pod);
  return pod;
}

CpuSet random_cpus(Dice& dice, const Topology& topology) {
  const auto chance = [&dice](int low, int high) { return dice.roll(low, high); };
  CpuSet cpus = random_subset(chance, topology, topology.cpus());
  if (cpus.empty()) cpus = topology.cpus();
  return cpus;
}

CpuSet random_offline(Dice& dice, const Topology& topology) {
  CpuSet offline;
  if (!dice.chance(60)) return offline;
  for (const CpuId cpu : topology.cpus()) {
    if (dice.chance(15)) offline.insert(cpu);
  }
  offline.erase(topology.cpus().first());
  return offline;
}

Story::Story(const StoryNode& node, std::uint64_t seed, Trouble trouble)
    : node_(&node), dice_(seed), trouble_(trouble), world_(*node.rules, node.setup->empty) {}

bool Story::act() {
  const std::vector<World::Move> moves = world_.moves();
  if (!moves.empty() && dice_.chance(85)) {
    const auto which = dice_.roll(0, static_cast<int>(moves.size()) - 1);
    const World::Move& move = moves[static_cast<std::size_t>(which)];
    if (move.arrives && dice_.chance(30)) {
      make_together(moves);
    } else {
      make(move);
    }
  } else {
    happen();
  }
  return world_.is_sound();
}

void Story::make_together(const std::vector<World::Move>& moves) {
  std::vector<World::Move> some;
  for (const World::Move& move : moves) {
    if (move.arrives && dice_.chance(70)) some.push_back(move);
  }
  if (!some.empty()) world_.make_together(some);
}

void Story::make(const World::Move& move) {
  const Effect* effect = world_.effect_of(move);
  world_.make(move, effect == nullptr ? Fault::kNone : random_fault(*effect));
}

Fault Story::random_fault(const Effect& effect) {
  if (!dice_.chance(trouble_.faults)) return Fault::kNone;
  if (std::holds_alternative<StartContainer>(effect)) return Fault::kFails;
  return dice_.chance(50) ? Fault::kFails : Fault::kFailsThoughDone;
}

void Story::happen() {
  world_.wait(std::chrono::milliseconds(dice_.roll(1, 2000)));
  if (trouble_.restores > 0) {
    if (dice_.chance(20)) back_up();
    if (running().size() >= 2 && dice_.chance(trouble_.restores)) return restore();
  }
  if (dice_.chance(trouble_.drift)) return drift();
  if (dice_.chance(trouble_.offline)) return change_online();
  if (dice_.chance(trouble_.crashes)) return crash();
  const int what = dice_.roll(1, 100);
  if (what <= 25) return create_pod();
  if (what <= 35) return delete_pod();
  if (what <= 38) return edit_pod();
  if (what <= 53) return resize_pod();
  if (what <= 55) return world_.send(SetCordon{.cordoned = dice_.chance(50)});
  if (what <= 75) return end_container();
  world_.fire_next();
}

void Story::create_pod() {
  if (world_.node().running.pods.size() >= kMostPods) return delete_pod();
  constexpr std::array kSources{Source::kApi,    Source::kApi, Source::kApi,
                                Source::kStatic, Source::kRun, Source::kRunWaiting};
  const Source source = kSources[static_cast<std::size_t>(dice_.roll(0, 5))];
  Pod pod = random_pod(dice_, *node_, ++pods_made_);
  const RequestId id = requests_.size() + 1;
  requests_.emplace(id, Request{.uid = pod.uid, .source = source});
  world_.send(CreatePod{.pod = std::move(pod), .source = source, .request = id});
}

void Story::delete_pod() {
  const auto& pods = world_.node().running.pods;
  if (pods.empty()) return;
  auto pod = pods.begin();
  std::advance(pod, dice_.roll(0, static_cast<int>(pods.size()) - 1));
  const RequestId id = requests_.size() + 1;
  requests_.emplace(id, Request{.uid = pod->first, .deletes = true});
  DeletePod command{.uid = pod->first, .request = id};
  if (dice_.chance(30)) command.grace = std::chrono::seconds(dice_.roll(0, 5));
  world_.send(command);
}

void Story::edit_pod() {
  const auto& pods = world_.node().running.pods;
  if (pods.empty()) return;
  auto pod = pods.begin();
  std::advance(pod, dice_.roll(0, static_cast<int>(pods.size()) - 1));
  const RequestId id = requests_.size() + 1;
  UpdatePod command{
      .pod = wanted_pod(pod->second.record), .is_new_spec = dice_.chance(30), .request = id};
  requests_.emplace(id, Request{.uid = pod->first, .edit = ++edits_made_});
  command.pod.labels[kEditLabel] = fmt::to_string(edits_made_);
  if (dice_.chance(30)) {
    command.pod.annotations[kScaleDelayAnnotation] = random_delay(dice_);
  } else if (dice_.chance(30)) {
    command.pod.annotations.erase(kScaleDelayAnnotation);
  }
  world_.send(command);
}

void Story::resize_pod() {
  const auto& pods = world_.node().running.pods;
  if (pods.empty()) return;
  auto pod = pods.begin();
  std::advance(pod, dice_.roll(0, static_cast<int>(pods.size()) - 1));
  ResizePod command{.pod = wanted_pod(pod->second.record)};
  const bool is_whole = node_->config.static_options.full_pcpus_only && dice_.chance(90);
  const int threads = is_whole ? node_->topology->threads_per_core() : 1;
  for (Container& container : command.pod.containers) {
    if (command.pod.containers.size() > 1 && dice_.chance(30)) continue;
    const Quantity cpus = dice_.chance(3) ? Quantity::of_milli(1500)
                                          : Quantity::of(std::int64_t{threads} * dice_.roll(1, 4));
    for (ResourceList* list : {&container.resources.requests, &container.resources.limits}) {
      if (const auto found = list->find(kCpu); found != list->end()) found->second = cpus;
    }
  }
  const RequestId id = requests_.size() + 1;
  command.request = id;
  requests_.emplace(id, Request{.uid = pod->first, .resize = command.pod});
  world_.send(command);
}

void Story::find_lost_resizes(std::vector<std::string>& found) const {
  std::map<std::string, RequestId> last;
  for (const auto& [id, request] : requests_) {
    if (request.resize) last[request.uid] = id;
  }
  const auto& records = world_.machine().records();
  for (const auto& [uid, id] : last) {
    const auto answer = world_.answers().find(id);
    const auto record = records.find(uid);
    if (answer == world_.answers().end() || !answer->second.done || record == records.end()) {
      continue;
    }
    if (phase_of(world_.node().running.pods.at(uid)) != "Running") continue;
    if (wanted_pod(record->second).containers == requests_.at(id).resize->containers) continue;
    found.push_back(fmt::format("resize {} of pod {} is lost", id, uid));
  }
}

void Story::find_lost_edits(std::vector<std::string>& found) const {
  const auto& records = world_.machine().records();
  for (const auto& [id, request] : requests_) {
    const auto answer = world_.answers().find(id);
    if (request.edit == 0 || answer == world_.answers().end() || !answer->second.done) continue;
    const auto record = records.find(request.uid);
    if (record == records.end()) continue;
    const auto& labels = record->second.pod.labels;
    const auto label = labels.find(kEditLabel);
    if (label != labels.end() && std::stoi(label->second) >= request.edit) continue;
    found.push_back(fmt::format("edit {} of pod {} is lost", request.edit, request.uid));
  }
}

std::vector<ContainerRef> Story::running() const {
  std::vector<ContainerRef> refs;
  for (const auto& [ref, container] : world_.machine().containers()) {
    if (container.running) refs.push_back(ref);
  }
  return refs;
}

int Story::random_code() {
  if (dice_.chance(25)) return kRuleCode;
  return dice_.chance(60) ? 0 : 1;
}

void Story::end_container() {
  const std::vector<ContainerRef> refs = running();
  if (refs.empty()) return;
  const auto which = dice_.roll(0, static_cast<int>(refs.size()) - 1);
  const ContainerRef& ref = refs[static_cast<std::size_t>(which)];
  if (dice_.chance(10)) return world_.machine().set_stubborn(ref);
  world_.end(ref, random_code());
}

void Story::drift() {
  const std::vector<ContainerRef> refs = running();
  if (refs.empty()) return;
  const auto which = dice_.roll(0, static_cast<int>(refs.size()) - 1);
  world_.machine().move(refs[static_cast<std::size_t>(which)],
                        random_cpus(dice_, *node_->topology));
}

void Story::change_online() {
  world_.machine().set_offline(random_offline(dice_, *node_->topology));
}

void Story::crash() {
  world_.crash();
  for (const ContainerRef& ref : running()) {
    if (dice_.chance(20)) world_.end(ref, random_code());
  }
  if (dice_.chance(10)) world_.machine().reboot();
  world_.wait(std::chrono::milliseconds(dice_.roll(0, 60'000)));
  world_.boot();
}

void Story::back_up() {
  constexpr std::size_t kMost = 6;
  if (backups_.size() == kMost) backups_.erase(backups_.begin() + dice_.roll(0, kMost - 1));
  backups_.push_back(world_.machine().disk());
}

void Story::change_root() {
  constexpr std::size_t kMost = 2;
  Disk next{.checkpoint = node_->setup->empty.cpus};
  const Disk last = world_.machine().disk();
  if (roots_.size() == kMost || (!roots_.empty() && dice_.chance(50))) {
    const int which = dice_.roll(0, static_cast<int>(roots_.size()) - 1);
    next = std::exchange(roots_[static_cast<std::size_t>(which)], last);
  } else {
    roots_.push_back(last);
  }
  ++restores_.roots;
  world_.machine().change_disk(
      next, dice_.chance(50) ? PretendMachine::Manifests::kKept : PretendMachine::Manifests::kLost);
}

void Story::restore() {
  world_.crash();
  for (const ContainerRef& ref : running()) {
    if (dice_.chance(10)) world_.end(ref, random_code());
  }
  restores_.running += running().size();
  world_.wait(std::chrono::milliseconds(dice_.roll(0, 60'000)));
  if (dice_.chance(20)) {
    change_root();
    return world_.boot();
  }
  Disk disk = world_.machine().disk();
  const auto any_backup = [this]() -> const Disk& {
    return backups_[static_cast<std::size_t>(dice_.roll(0, static_cast<int>(backups_.size()) - 1))];
  };
  if (!backups_.empty() && dice_.chance(60)) {
    disk.checkpoint = any_backup().checkpoint;
    ++restores_.checkpoints;
  } else if (dice_.chance(30)) {
    disk.checkpoint = node_->setup->empty.cpus;
    ++restores_.lost;
  }
  if (!backups_.empty() && dice_.chance(50)) {
    disk.records = any_backup().records;
    ++restores_.records;
  }
  if (dice_.chance(20)) {
    std::erase_if(disk.records, [this](const auto&) { return dice_.chance(50); });
    ++restores_.lost;
  }
  world_.machine().change_disk(std::move(disk), dice_.chance(70)
                                                    ? PretendMachine::Manifests::kKept
                                                    : PretendMachine::Manifests::kLost);
  world_.boot();
}

bool Story::is_shrink_to_offline_cpus() const {
  const CpuSet& offline = world_.machine().offline();
  for (const auto& [uid, pod] : world_.node().placing.pods) {
    for (const auto& [name, state] : pod.containers) {
      if (state.shrink && state.shrink->after.is_subset_of(offline)) return true;
    }
  }
  return false;
}

std::vector<std::string> Story::finish() {
  if (!world_.is_up()) world_.boot();
  world_.send(SetCordon{.cordoned = false});
  if (!world_.settle()) return {"the node does not come to rest"};
  if (is_shrink_to_offline_cpus()) {
    // It waits for them, and goes on when they are back.
    world_.machine().set_offline({});
    if (!world_.settle()) return {"the node does not come to rest"};
  }
  std::vector<std::string> found = world_.unsettled();
  std::set<std::string> deleted;
  for (const auto& [id, request] : requests_) {
    if (request.deletes) deleted.insert(request.uid);
  }
  const auto& records = world_.machine().records();
  for (const auto& [id, request] : requests_) {
    const auto answer = world_.answers().find(id);
    if (answer == world_.answers().end() || !answer->second.done || request.edit != 0 ||
        request.resize) {
      continue;
    }
    const bool stays = request.source == Source::kApi || request.source == Source::kStatic;
    if (request.deletes && records.contains(request.uid)) {
      found.push_back(fmt::format("pod {} was deleted and is there again", request.uid));
    } else if (!request.deletes && stays && !deleted.contains(request.uid) &&
               !records.contains(request.uid)) {
      found.push_back(fmt::format("pod {} is lost", request.uid));
    }
  }
  find_lost_edits(found);
  find_lost_resizes(found);
  const NodeState& node = world_.node();
  AdmissionRules rules = node_->rules->admission;
  rules.unavailable = node.placing.offline;
  for (const auto& [uid, pod] : node.running.pods) {
    const PlacedPod& placed = node.placing.pods.at(uid);
    if (is_admitted(placed) || phase_of(pod) != "Pending") continue;
    Bookings tried = node.placing.bookings;
    if (admit(rules, tried, pod.record.pod).refusal) continue;
    found.push_back(fmt::format("pod {} waits although it fits", uid));
  }
  for (const auto& [uid, pod] : node.running.pods) {
    const PlacedPod& placed = node.placing.pods.at(uid);
    if (!is_admitted(placed) || !pod.record.wish || phase_of(pod) != "Running") continue;
    const auto decision = decide_resize(rules, node_->rules->resize, node.placing.bookings,
                                        pod.record.pod, wanted_pod(pod.record));
    if (decision.verdict == placed.resize.verdict) continue;
    found.push_back(fmt::format("the resize of pod {} is shown as {} and is {}", uid,
                                name_of(*placed.resize.verdict), name_of(decision.verdict)));
  }
  return found;
}

}  // namespace corehold
