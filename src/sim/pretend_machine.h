// SPDX-License-Identifier: Apache-2.0
//
// PretendMachine: what outlives an agent: a disk with the checkpoint and the pods'
// records, and containers that run on CPUs. It does what effects ask for and watches the
// promises itself, by what is on the disk and who runs where, whatever the manager
// believes. A value: a copy is another machine in the same condition.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "manager/step.h"

namespace corehold {

// What becomes of an effect that can fail.
enum class Fault {
  kNone,
  kFails,            // nothing is done, and that is said
  kFailsThoughDone,  // it is done, and said to have failed; not for starting a container
};

struct PretendContainer {
  int attempt = 0;
  bool running = false;
  CpuSet cpus{};
  CpuSet own{};           // the CPUs that it was put on as its own
  bool moved = false;     // somebody else has set its CPUs
  bool in_pool = false;   // where the containers that share are put, it is put with them
  bool stubborn = false;  // does not end when asked to
  bool asked_to_end = false;
  std::optional<SteadyTime> kill_at{};  // asked to end, and killed then
  WallTime started_at{};
  std::optional<ContainerExit> exit{};
  std::shared_ptr<const Pod> pod{};  // as it was started; null: the runtime has not kept it
};

// What an agent keeps below its root.
struct Disk {
  State checkpoint{};
  std::map<std::string, PodRecord> records{};  // by UID
};

class PretendMachine {
 public:
  // `rules` must outlive it.
  PretendMachine(const ManagerRules& rules, State empty);

  // Does it. The commands that report the result, if it has one, and what else came of it.
  std::vector<Command> execute(const Effect& effect, Fault fault, const Now& now);

  // A runtime that runs containers for somebody else: the pod as it is wished for, a container of
  // it that runs as it was granted, and all that is left of a pod removed.
  void set_pod(const Pod& pod);
  void run(const ContainerRef& ref, int attempt, const Grant& grant, const Now& now);
  void remove_pod(const std::string& uid);
  // A container may be made, or started, as it was granted.
  void check_grant(const ContainerRef& ref, const Grant& grant);

  // What happens without being asked for. REQUIRES: the container runs.
  Command end(const ContainerRef& ref, int code, const Now& now);
  // The container whose time to end by itself is over next, and when; and its end then.
  std::optional<std::pair<ContainerRef, SteadyTime>> next_kill() const;
  Command kill(const ContainerRef& ref, const Now& now);
  void move(const ContainerRef& ref, const CpuSet& cpus);
  void set_stubborn(const ContainerRef& ref);
  void set_offline(const CpuSet& cpus);
  // A power cut: all that ran is gone without a trace, and so are the records that were not synced.
  void reboot();

  // Somebody changes the files while no agent runs: puts back older ones, loses some, or starts
  // the next agent with another root. Containers go on. From now on one promise is left: nobody
  // runs on a CPU that a running container was put on as its own, until that container is put
  // elsewhere or disowned.
  Disk disk() const { return {.checkpoint = checkpoint_, .records = records_}; }
  enum class Manifests { kKept, kLost };  // of the containers, by the runtime
  void change_disk(Disk disk, Manifests manifests);
  bool is_restored() const { return restored_; }
  // It was said of the container that the CPUs where it runs are not its own.
  void disown(const ContainerRef& ref);

  // The containers that are moved with the shared ones from now on.
  void set_members(const std::set<ContainerRef>& members) { members_ = members; }

  // Another agent takes over, under rules that must outlive it: it tells everybody anew, and
  // no time that passed before counts.
  void change_agent(const ManagerRules& rules, const Now& now);
  // What it finds.
  Recover found() const;
  std::vector<SeenContainer> seen() const;

  const State& checkpoint() const { return checkpoint_; }
  const std::map<std::string, PodRecord>& records() const { return records_; }
  const std::map<ContainerRef, PretendContainer>& containers() const { return containers_; }
  const CpuSet& offline() const { return offline_; }
  // The CPUs that everything else of the machine is kept off.
  const CpuSet& fence() const { return fence_; }
  // What the files of each pod say, by UID.
  const std::map<std::string, AssignedByContainer>& podinfo() const { return podinfo_; }
  // Pods whose record was ever on the disk.
  const std::set<std::string>& ever_stored() const { return ever_stored_; }
  // Grows with every change of disk or containers.
  std::uint64_t changes() const { return changes_; }
  // Records, or removals of records, that reboots have lost so far.
  std::uint64_t lost_records() const { return lost_records_; }
  // Containers started so far.
  std::uint64_t starts() const { return starts_; }
  // How often CPUs of its own were taken from a running container, and how many of these
  // had to wait: the shortest time that they were given beyond their delay.
  struct Shrinks {
    std::uint64_t all = 0;
    std::uint64_t delayed = 0;
    std::optional<SteadyTime> least_over{};
  };
  const Shrinks& shrinks() const { return shrinks_; }
  // Every promise broken so far.
  const std::vector<std::string>& breaches() const { return breaches_; }

 private:
  struct Executor;

  void save_checkpoint(const StateDelta& delta);
  bool is_asked() const { return rules_->driver == Driver::kForeign; }
  int entitled(const ContainerRef& ref) const;
  void start(const StartContainer& effect, const Now& now);
  void begin_run(const ContainerRef& ref, int attempt, const CpuSet& cpus, const Now& now);
  void set_cpus(const SetCpuset& effect, const Now& now);
  void note_change(const std::string& uid, Durability durability);
  void save(const PodRecord& record);
  void check_listing(const ContainerRef& ref, const CpuSet& listed);
  void write_files(const WritePodInfo& effect, const Now& now);
  void set_shared(const CpuSet& cpus);
  void set_fence(const CpuSet& held, Fault fault);
  void check_fence(const ContainerRef& ref, const CpuSet& cpus);
  Command end_run(const ContainerRef& ref, ContainerExit exit, const Now& now);
  std::vector<Command> stop(const StopContainer& effect, const Now& now);
  void remove(const ContainerRef& ref);
  void check_start(const StartContainer& effect);
  void check_stop(const StopContainer& effect);
  void check_promises(const State& next);
  void check_taking(const SetCpuset& effect, const PretendContainer& container, const Now& now);
  void check_delay(const ContainerRef& ref, const CpuSet& taken, const Now& now);
  CpuSet told(const ContainerRef& ref) const;
  void check_neighbours();
  CpuSet held_by(const ContainerRef& ref, const PretendContainer& container) const;
  void breach(std::string text) {
    if (!restored_) breaches_.push_back(std::move(text));
  }

  const ManagerRules* rules_;  // never null
  State checkpoint_;
  bool restored_ = false;           // somebody has changed the files
  std::optional<CpuSet> shared_{};  // where the containers that share are
  CpuSet fence_{};
  CpuSet fence_tried_{};  // what was last asked for, whatever came of it
  std::set<ContainerRef> members_{};
  std::map<std::string, PodRecord> records_{};
  // The changes of records that are not synced, in their order, with what was there before.
  std::vector<std::pair<std::string, std::optional<PodRecord>>> unsynced_{};
  std::uint64_t lost_records_ = 0;
  std::map<std::string, Pod> pods_{};  // of a runtime for somebody else, by UID
  std::map<ContainerRef, PretendContainer> containers_{};
  std::map<std::string, AssignedByContainer> podinfo_{};
  // CPUs that a container's files listed and list no more, since when, and how long it must be
  // before they are taken.
  struct Unlisted {
    CpuSet cpus{};
    SteadyTime at{};
    std::chrono::milliseconds delay{};
  };
  std::map<ContainerRef, std::vector<Unlisted>> unlisted_{};
  std::map<std::string, std::chrono::milliseconds> delays_{};  // by UID, the least that may count
  Shrinks shrinks_{};
  std::map<ContainerRef, int> last_run_{};  // the highest attempt that ever ran
  std::set<std::string> ever_stored_{};
  CpuSet offline_{};
  CpuSet ever_offline_{};
  std::uint64_t changes_ = 0;
  std::uint64_t starts_ = 0;
  std::vector<std::string> breaches_{};
};

}  // namespace corehold
