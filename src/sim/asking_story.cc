// SPDX-License-Identifier: Apache-2.0
#include "sim/asking_story.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "manager/placing/facts.h"
#include "policy/request.h"

namespace corehold {
namespace {

constexpr int kMostAskedPods = 6;

}  // namespace

void let_somebody_else_run(StoryNode& node) { node.rules->driver = Driver::kForeign; }

AskingStory::AskingStory(const StoryNode& node, std::uint64_t seed, Trouble trouble)
    : node_(&node), dice_(seed), trouble_(trouble), world_(*node.rules, node.setup->empty) {
  CHECK(node.rules->driver == Driver::kForeign);
}

bool AskingStory::act() {
  const std::vector<World::Move> moves = world_.moves();
  if (!moves.empty() && dice_.chance(70)) {
    const auto which = dice_.roll(0, static_cast<int>(moves.size()) - 1);
    const World::Move& move = moves[static_cast<std::size_t>(which)];
    const bool fails = !move.arrives && dice_.chance(trouble_.faults);
    world_.make(move, !fails             ? Fault::kNone
                      : dice_.chance(50) ? Fault::kFails
                                         : Fault::kFailsThoughDone);
  } else {
    happen();
  }
  look_at_answers();
  return world_.is_sound();
}

void AskingStory::happen() {
  world_.wait(std::chrono::milliseconds(dice_.roll(1, 400)));
  if (dice_.chance(trouble_.drift)) return set_back();
  if (dice_.chance(trouble_.offline)) return change_online();
  if (dice_.chance(trouble_.crashes)) return crash();
  if (dice_.chance(2)) return connect_anew();
  const int what = dice_.roll(1, 100);
  if (what <= 8) return create_pod();
  if (what <= 11) return delete_pod();
  if (what <= 16) return resize_pod();
  if (what <= 24) {
    const std::vector<ContainerRef> running = refs(Phase::kRunning);
    if (running.empty()) return;
    const auto which = dice_.roll(0, static_cast<int>(running.size()) - 1);
    return end_container(running[static_cast<std::size_t>(which)], dice_.chance(60) ? 0 : 1);
  }
  if (what <= 32) {
    world_.fire_next();
    return;
  }
  const std::string uid = any_pod();
  if (!uid.empty()) go_on(uid);
}

void AskingStory::tell(const Command& command) {
  if (world_.is_up()) world_.send(command);
}

std::string AskingStory::any_pod() {
  if (pods_.empty()) return "";
  auto pod = pods_.begin();
  std::advance(pod, dice_.roll(0, static_cast<int>(pods_.size()) - 1));
  return pod->first;
}

std::vector<ContainerRef> AskingStory::refs(Phase phase) const {
  std::vector<ContainerRef> all;
  for (const auto& [uid, pod] : pods_) {
    for (const auto& [name, container] : pod.containers) {
      if (container.phase == phase) all.push_back({uid, name});
    }
  }
  return all;
}

void AskingStory::create_pod() {
  if (pods_.size() >= kMostAskedPods) return delete_pod();
  KubePod made{.pod = random_pod(dice_, *node_, ++pods_made_)};
  for (const Container* container : in_starting_order(made.pod)) {
    made.containers.try_emplace(container->name);
  }
  world_.machine().set_pod(made.pod);
  pods_.emplace(made.pod.uid, std::move(made));
}

void AskingStory::delete_pod() {
  const std::string uid = any_pod();
  if (uid.empty()) return;
  for (auto& [name, container] : pods_.at(uid).containers) {
    if (container.phase != Phase::kRunning) continue;
    ask({uid, name}, Ask::Kind::kStop);
    end_container({uid, name}, 143);
  }
  std::erase_if(asked_, [&](const auto& entry) { return entry.second.pod == uid; });
  pods_.erase(uid);
  world_.machine().remove_pod(uid);
  // The pod may be gone without a word.
  if (dice_.chance(80)) tell(PodRemoved{.uid = uid});
}

void AskingStory::resize_pod() {
  const std::string uid = any_pod();
  if (uid.empty()) return;
  KubePod& pod = pods_.at(uid);
  const bool is_whole = node_->config.static_options.full_pcpus_only && dice_.chance(90);
  const int threads = is_whole ? node_->topology->threads_per_core() : 1;
  for (Container& container : pod.pod.containers) {
    // A container shares for all its life, or never.
    if (request_of(pod.pod, container, std::nullopt, node_->rules->admission.pod_gates).cpus == 0) {
      continue;
    }
    const Quantity cpus = Quantity::of(std::int64_t{threads} * dice_.roll(1, 4));
    container.resources.requests.at(std::string(kCpu)) = cpus;
    container.resources.limits.at(std::string(kCpu)) = cpus;
    pod.containers.at(container.name).is_resized = false;
  }
  world_.machine().set_pod(pod.pod);
}

// Init containers end one after the other, sidecars are started before those that follow.
bool AskingStory::may_start(const KubePod& pod, const std::string& name) const {
  for (const Container* container : in_starting_order(pod.pod)) {
    if (container->name == name) return true;
    const KubeContainer& before = pod.containers.at(container->name);
    const bool has_ended = before.phase == Phase::kEnded && before.code == 0;
    if (container->kind == Container::Kind::kInit && !has_ended) return false;
    if (container->kind == Container::Kind::kSidecar && before.phase != Phase::kRunning) {
      return false;
    }
  }
  return false;
}

void AskingStory::go_on(const std::string& uid) {
  for (const Container* spec : in_starting_order(pods_.at(uid).pod)) go_on({uid, spec->name});
}

void AskingStory::go_on(const ContainerRef& ref) {
  const KubePod& pod = pods_.at(ref.pod);
  KubeContainer& container = at(ref);
  if (container.question) {
    if (world_.answers().contains(*container.question)) return hear(ref);
    // The runtime has waited long enough.
    if (dice_.chance(3)) container.question.reset();
    return;
  }
  if (container.phase == Phase::kRunning) {
    if (!container.is_resized) ask(ref, Ask::Kind::kResize);
    return;
  }
  if (!may_start(pod, ref.container)) return;
  if (container.phase == Phase::kCreated) return ask(ref, Ask::Kind::kStart);
  if (container.phase == Phase::kEnded) {
    const bool is_init = pod.pod.find(ref.container)->kind == Container::Kind::kInit;
    if (container.code == 0 && is_init) return;
    container.phase = Phase::kNothing;
    ++container.attempt;
  }
  ask(ref, Ask::Kind::kCreate);
}

void AskingStory::ask(const ContainerRef& ref, Ask::Kind kind) {
  if (!world_.is_up()) return;
  const KubePod& pod = pods_.at(ref.pod);
  KubeContainer& container = at(ref);
  const RequestId request = next_request_++;
  if (kind != Ask::Kind::kStop) {
    container.question = request;
    container.kind = kind;
    asked_.emplace(request, ref);
  }
  world_.send(Asked{.ask = {.kind = kind,
                            .container = ref,
                            .attempt = container.attempt,
                            .pod = std::make_shared<const Pod>(pod.pod)},
                    .request = request});
}

void AskingStory::look_at_answers() {
  for (auto entry = asked_.begin(); entry != asked_.end();) {
    const auto answer = world_.answers().find(entry->first);
    if (answer == world_.answers().end()) {
      ++entry;
      continue;
    }
    if (answer->second.grant && pods_.contains(entry->second.pod)) {
      ++grants_;
      // What a container is granted in a resize, or while it is resized, may be less than it asks.
      world_.machine().check_grant(entry->second, *answer->second.grant);
    }
    entry = asked_.erase(entry);
  }
}

void AskingStory::hear(const ContainerRef& ref) {
  KubeContainer& container = at(ref);
  const World::Answer& answer = world_.answers().at(*container.question);
  container.question.reset();
  container.refusal = answer.error;
  if (answer.grant) take_grant(ref, container, *answer.grant);
}

void AskingStory::take_grant(const ContainerRef& ref, KubeContainer& container,
                             const Grant& grant) {
  switch (container.kind) {
    case Ask::Kind::kCreate:
      container.phase = Phase::kCreated;
      return;
    case Ask::Kind::kStart:
      // What cannot be started is tried again.
      if (dice_.chance(5)) return;
      container.phase = Phase::kRunning;
      world_.machine().run(ref, container.attempt, grant, world_.time());
      if (dice_.chance(90)) {
        tell(ContainerStarted{.container = ref, .attempt = container.attempt});
      }
      return;
    case Ask::Kind::kResize:
      if (container.phase == Phase::kRunning) container.is_resized = true;
      return;
    case Ask::Kind::kStop:
      return;
  }
}

void AskingStory::end_container(const ContainerRef& ref, int code) {
  KubeContainer& container = at(ref);
  container.phase = Phase::kEnded;
  container.code = code;
  container.question.reset();
  const Command exited = world_.machine().end(ref, code, world_.time());
  if (dice_.chance(85)) tell(exited);
}

// The runtime writes a cpuset that it remembers, or somebody else does.
void AskingStory::set_back() {
  const std::vector<ContainerRef> running = refs(Phase::kRunning);
  if (running.empty()) return;
  const auto which = dice_.roll(0, static_cast<int>(running.size()) - 1);
  world_.machine().move(running[static_cast<std::size_t>(which)],
                        random_cpus(dice_, *node_->topology));
}

void AskingStory::change_online() {
  world_.machine().set_offline(random_offline(dice_, *node_->topology));
}

void AskingStory::forget_questions() {
  asked_.clear();
  for (auto& [uid, pod] : pods_) {
    for (auto& [name, container] : pod.containers) container.question.reset();
  }
}

void AskingStory::connect_anew() {
  if (!world_.is_up()) return;
  ++connections_;
  forget_questions();
  world_.send(Synchronized{.seen = world_.machine().seen(),
                           .online = node_->topology->cpus() - world_.machine().offline()});
}

void AskingStory::crash() {
  ++crashes_;
  world_.crash();
  forget_questions();
  for (const ContainerRef& ref : refs(Phase::kRunning)) {
    if (dice_.chance(20)) end_container(ref, dice_.chance(50) ? 0 : 1);
  }
  if (dice_.chance(30)) delete_pod();
  if (dice_.chance(30)) resize_pod();
  world_.wait(std::chrono::milliseconds(dice_.roll(0, 60'000)));
  world_.boot();
}

std::vector<std::string> AskingStory::finish() {
  world_.machine().set_offline({});
  if (!world_.is_up()) world_.boot();
  connect_anew();
  // Everybody asks until nobody gets any further.
  for (int round = 0; round < 40; ++round) {
    if (!world_.settle()) return {"the node does not come to rest"};
    look_at_answers();
    for (auto& [uid, pod] : pods_) {
      for (std::size_t step = 0; step < 4 * pod.containers.size(); ++step) go_on(uid);
    }
    look_at_answers();
  }
  connect_anew();
  if (!world_.settle()) return {"the node does not come to rest"};
  std::vector<std::string> found;
  const PlacingState& placing = world_.node().placing;
  const PretendMachine& machine = world_.machine();
  for (const auto& [uid, pod] : placing.pods) {
    if (!pods_.contains(uid)) found.push_back(fmt::format("pod {} is gone and known", uid));
  }
  for (const auto& [ref, container] : machine.containers()) {
    const auto pod = placing.pods.find(ref.pod);
    const bool runs = pod != placing.pods.end() &&
                      pod->second.containers.at(ref.container).presence == Presence::kRunning;
    if (container.running != runs) {
      found.push_back(fmt::format("{}/{} {}, and the agent thinks otherwise", ref.pod,
                                  ref.container, container.running ? "runs" : "does not run"));
    }
  }
  if (!node_->rules->pins_cpus) return found;
  const State& checkpoint = machine.checkpoint();
  if (checkpoint.pods != placing.bookings.cpus.pods ||
      checkpoint.shared != placing.bookings.cpus.shared) {
    found.push_back("the checkpoint is not what was decided");
  }
  for (const auto& [ref, container] : machine.containers()) {
    if (!container.running) continue;
    const Holding* holding = checkpoint.find(ref);
    const CpuSet& right = holding == nullptr ? checkpoint.shared : holding->assigned;
    if (container.cpus == right) continue;
    found.push_back(fmt::format("{}/{} runs on CPUs {}, not {}", ref.pod, ref.container,
                                container.cpus.str(), right.str()));
  }
  for (const auto& [uid, pod] : pods_) {
    const PlacedPod* placed = find_pod(placing, uid);
    if (placed == nullptr || !is_admitted(*placed)) continue;
    for (const auto& [name, container] : pod.containers) {
      const ContainerRef ref{uid, name};
      if (container.phase != Phase::kRunning && may_start(pod, name) &&
          !(container.phase == Phase::kEnded && container.code == 0)) {
        found.push_back(fmt::format("{}/{} is never started: {}", uid, name, container.refusal));
      }
      if (container.phase == Phase::kRunning && !container.is_resized && !placed->resize.verdict) {
        found.push_back(fmt::format("nobody has decided on the resize of {}/{}", uid, name));
      }
    }
  }
  return found;
}

}  // namespace corehold
