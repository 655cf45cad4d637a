// SPDX-License-Identifier: Apache-2.0
//
// Damage of every file of a node at every start of random histories: what was saved is found
// again, or the start is refused with the name of the file, and --recover goes on with what runs.
// A few histories in ctest; the proof is
//
//   COREHOLD_HISTORIES=500 build/debug/src/agent/damage_test
//
// COREHOLD_SEED is the first history's seed. Full and read-only disks need root, for a mount.
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/boot/damage_testing.h"
#include "agent/commit/disk_store.h"
#include "base/check.h"
#include "manager/record_json.h"
#include "pod/pod_json.h"
#include "pod/testing.h"
#include "sys/file/file.h"
#include "sys/socket/tls.h"
#include "topology/testing.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kFewHistories = 2;

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

struct Counts {
  int starts = 0;
  int damaged = 0;
  int harmless = 0;
  int refused = 0;
  int in_the_way = 0;  // refused until somebody takes away what was put there
  int recovered = 0;
  int full = 0;
  int read_only = 0;
};

enum class Kind { kFlip, kTruncate, kEmpty, kRemove, kDirectory, kLink, kFifo };
constexpr std::array kKinds{Kind::kFlip,      Kind::kTruncate, Kind::kEmpty, Kind::kRemove,
                            Kind::kDirectory, Kind::kLink,     Kind::kFifo};
constexpr std::array kKindNames{"flip", "truncate", "empty", "remove", "directory", "link", "fifo"};

bool is_put_there(Kind kind) {
  return kind == Kind::kDirectory || kind == Kind::kLink || kind == Kind::kFifo;
}

// With a volume of files that tell of it.
Pod told_pod(const std::string& name, const std::string& uid, bool has_cpus) {
  const std::string limits = has_cpus ? R"("limits":{"cpu":"2","memory":"1Gi"})" : "";
  auto pods = parse_pods_json(fmt::format(
      R"({{"metadata":{{"name":"{}","uid":"{}"}},"spec":{{"containers":[
          {{"name":"main","command":["x"],"resources":{{{}}}}}],
          "volumes":[{{"name":"info","downwardAPI":{{"items":[
            {{"path":"name","fieldRef":{{"fieldPath":"metadata.name"}}}}]}}}}]}}}})",
      name, uid, limits));
  CHECK(pods.has_value());
  return pods->front();
}

class RandomHistory {
 public:
  RandomHistory(const TestSetup& setup, const SmallDisk& disk, std::uint64_t seed, Counts& counts)
      : setup_(setup), disk_(disk), chance_(seeded_chance(seed)), counts_(counts) {}

  // A few lives of an agent, with damage between them.
  void tell() {
    disk_.bring_back({});
    for (int life = chance_(1, 3); life > 0; --life) {
      auto found = find_node(setup_, disk_.root(), containers_, Damage::kRefuse);
      ASSERT_TRUE(found) << found.error().message;
      live(*std::move(found));
      const Containers containers = containers_;
      ASSERT_NO_FATAL_FAILURE(damage_everything());
      containers_ = containers;
      disk_.bring_back(left_);
    }
  }

 private:
  // Leaves the files as the agent does when it ends or is killed.
  void live(FoundNode found) {
    NodeLife life(setup_, disk_.root(), containers_, std::move(found));
    for (int commands = chance_(1, 8); commands > 0; --commands) {
      life.take(some_command(life.node()),
                commands == 1 && chance_(0, 1) == 0 ? chance_(1, 6) : 1000);
    }
    saved_ = life.saved();
    if (chance_(0, 3) > 0) {
      left_ = disk_.copy();
      return;
    }
    is_ended_ = true;
  }

  Command some_command(const NodeState& node) {
    const auto& pods = node.running.pods;
    if (pods.size() > 5 || (!pods.empty() && chance_(0, 3) == 0)) {
      return DeletePod{
          .uid = std::next(pods.begin(), chance_(0, static_cast<int>(pods.size()) - 1))->first,
          .request = 1};
    }
    const std::string name = fmt::format("p{}", ++serial_);
    Pod pod =
        told_pod(name, fmt::format("00000000-0000-4000-8000-{:012}", serial_), chance_(0, 2) > 0);
    if (chance_(0, 9) == 0) pod.annotations["large"] = std::string(20'000, 'x');
    return CreatePod{.pod = pod, .request = 1};
  }

  void damage_everything() {
    if (std::exchange(is_ended_, false)) left_ = disk_.copy();
    ++counts_.starts;
    for (const auto& [name, file] : left_) {
      // What is in a volume is the pod's.
      if (name.starts_with("volumes/")) continue;
      for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        SCOPED_TRACE(fmt::format("{} {}", kKindNames.at(kind), name));
        Snapshot damaged = left_;
        if (!damage(damaged, name, kKinds.at(kind))) continue;
        ASSERT_NO_FATAL_FAILURE(start_on(damaged, name, kKinds.at(kind)));
      }
    }
    SCOPED_TRACE("the disk");
    if (!disk_.can_be_filled()) return;
    ASSERT_NO_FATAL_FAILURE(start_on_full_disk());
    ASSERT_NO_FATAL_FAILURE(start_on_read_only_disk());
  }

  // False: there is nothing to damage.
  bool damage(Snapshot& snapshot, const std::string& name, Kind kind) {
    std::string& content = snapshot.at(name).content;
    snapshot.at(name).allocated = 0;
    if (kind == Kind::kRemove || is_put_there(kind)) {
      snapshot.erase(name);
      return true;
    }
    if (content.empty()) return false;
    const auto at = static_cast<std::size_t>(chance_(0, static_cast<int>(content.size()) - 1));
    if (kind == Kind::kFlip) {
      content[at] = static_cast<char>(content[at] ^ (1 << chance_(0, 7)));
    } else {
      content.resize(kind == Kind::kTruncate ? at : 0);
    }
    return true;
  }

  void put_there(const std::string& name, Kind kind) const {
    const fs::path path = fs::path(disk_.root()) / name;
    if (is_put_there(kind)) fs::create_directories(path.parent_path());
    if (kind == Kind::kDirectory) fs::create_directory(path);
    if (kind == Kind::kLink) fs::create_symlink("/nowhere/at/all", path);
    if (kind == Kind::kFifo) CHECK(::mkfifo(path.c_str(), 0600) == 0);
  }

  void start_on(const Snapshot& damaged, const std::string& name, Kind kind) {
    ++counts_.damaged;
    disk_.bring_back(damaged);
    put_there(name, kind);
    Containers containers = containers_;
    {
      auto found = find_node(setup_, disk_.root(), containers, Damage::kRefuse);
      if (found) {
        ++counts_.harmless;
        expect_all(*found);
        return expect_told(containers, *std::move(found));
      }
      ++counts_.refused;
      EXPECT_THAT(found.error().message, HasSubstr(disk_.root()));
      expect_untouched(damaged, name);
      if (found.error().code != Code::kCorrupt) {
        // It says what stands in the way: somebody has put it there, and takes it away.
        EXPECT_TRUE(is_put_there(kind)) << found.error().message;
        EXPECT_THAT(found.error().message, HasSubstr(name));
        ++counts_.in_the_way;
        fs::remove_all(fs::path(disk_.root()) / name);
      } else {
        EXPECT_THAT(found.error().message, HasSubstr("--recover"));
      }
    }
    ASSERT_NO_FATAL_FAILURE(recover(containers, name));
    expect_pod_files();
    const auto again = find_node(setup_, disk_.root(), containers, Damage::kRefuse);
    ASSERT_TRUE(again) << again.error().message;
  }

  // The files of each pod that runs tell of it, and the kubeconfig has what clients need.
  void expect_told(Containers& containers, FoundNode found) {
    const Credentials credentials = found.credentials;
    EXPECT_TRUE(is_issued_by(credentials.server.certificate, credentials.authority));
    const auto kubeconfig = read_file(disk_.root() + "/kubeconfig", std::size_t{1} << 20U);
    ASSERT_TRUE(kubeconfig) << kubeconfig.error().message;
    EXPECT_THAT(*kubeconfig, HasSubstr(credentials.token));
    const NodeLife life(setup_, disk_.root(), containers, std::move(found));
    for (const auto& [container, seen] : containers) {
      const auto pod = life.node().running.pods.find(container.pod);
      if (!seen.running || pod == life.node().running.pods.end()) continue;
      const auto told =
          read_file(fmt::format("{}/podinfo/{}/info/name", disk_.root(), container.pod), 1000);
      ASSERT_TRUE(told) << told.error().message;
      EXPECT_EQ(*told, pod->second.record.pod.name);
    }
  }

  void recover(Containers& containers, const std::string& name) {
    auto found = find_node(setup_, disk_.root(), containers, Damage::kMoveAside);
    ASSERT_TRUE(found) << found.error().message;
    const Containers before = containers;
    NodeLife life(setup_, disk_.root(), containers, *std::move(found));
    ++counts_.recovered;
    const bool is_store = name.starts_with("store.db") && name != "store.db-seal";
    for (const auto& [uid, record] : saved_.pods) {
      if (is_store || record.deleted_at != WallTime{}) continue;
      EXPECT_TRUE(life.node().running.pods.contains(uid)) << uid;
    }
    for (const auto& [container, seen] : before) {
      const auto record = saved_.pods.find(container.pod);
      const bool goes = record != saved_.pods.end() && record->second.deleted_at != WallTime{};
      if (!seen.running || goes) continue;
      EXPECT_TRUE(life.saved().pods.contains(container.pod)) << container.pod;
      const auto now = containers.find(container);
      ASSERT_TRUE(now != containers.end() && now->second.running) << container.pod;
      EXPECT_EQ(now->second.attempt, seen.attempt);
    }
  }

  void expect_all(const FoundNode& found) const {
    std::map<std::string, std::string> pods;
    for (const PodRecord& record : found.pods.pods) pods[record.pod.uid] = write_record(record);
    std::map<std::string, std::string> saved;
    for (const auto& [uid, record] : saved_.pods) saved[uid] = write_record(record);
    EXPECT_EQ(pods, saved);
    EXPECT_TRUE(found.cpus.state.pods == saved_.cpus.pods);
    expect_pod_files();
  }

  // Pods that were not forgotten have their files.
  void expect_pod_files() const {
    for (const auto& [name, file] : left_) {
      if (!name.starts_with("volumes/")) continue;
      const std::string uid = name.substr(8, 36);
      const auto record = saved_.pods.find(uid);
      if (record == saved_.pods.end() || record->second.deleted_at != WallTime{}) continue;
      EXPECT_TRUE(fs::exists(fs::path(disk_.root()) / name)) << name;
    }
  }

  // A store that is sound has noted the start before a lost checkpoint is noticed.
  void expect_untouched(const Snapshot& damaged, const std::string& by) const {
    for (const auto& [name, file] : damaged) {
      if (name == "store.db-shm" || name == by) continue;
      // A lock says who has it.
      if (name.starts_with("run/") || !file.target.empty()) continue;
      if (name.starts_with("store.db") && by == "cpu_manager_state") continue;
      const auto now = read_file(disk_.root() + "/" + name, std::size_t{16} << 20U);
      ASSERT_TRUE(now) << name;
      EXPECT_TRUE(*now == file.content) << name << " was changed by a refused start";
    }
  }

  void start_on_full_disk() {
    ++counts_.full;
    disk_.bring_back(left_);
    disk_.fill();
    Containers containers = containers_;
    {
      auto found = find_node(setup_, disk_.root(), containers, Damage::kRefuse);
      ASSERT_TRUE(found) << found.error().message;
      expect_all(*found);
      NodeLife life(setup_, disk_.root(), containers, *std::move(found));
      while (!life.node().running.pods.empty()) {
        const std::string uid = life.node().running.pods.begin()->first;
        life.take(DeletePod{.uid = uid, .request = 1});
        ASSERT_FALSE(life.refusal()) << life.refusal()->message;
        ASSERT_FALSE(life.saved().pods.contains(uid)) << "not forgotten";
        // What the pod's files have given back is taken by others at once.
        disk_.fill();
      }
    }
    disk_.free();
    const auto again = find_node(setup_, disk_.root(), containers, Damage::kRefuse);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->pods.pods.empty());
    EXPECT_TRUE(again->cpus.state.pods.empty());
  }

  void start_on_read_only_disk() {
    ++counts_.read_only;
    disk_.bring_back(left_);
    ASSERT_TRUE(disk_.set_read_only(true));
    const auto found = find_node(setup_, disk_.root(), containers_, Damage::kRefuse);
    ASSERT_TRUE(disk_.set_read_only(false));
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr(disk_.root()));
    EXPECT_THAT(found.error().message, HasSubstr("EROFS"));
    expect_untouched(left_, "the disk");
  }

  const TestSetup& setup_;
  const SmallDisk& disk_;
  Chance chance_;
  Counts& counts_;
  int serial_ = 0;
  Containers containers_{};
  SavedNode saved_{};  // what the last life has saved
  Snapshot left_{};    // the files as it left them
  bool is_ended_ = false;
};

TEST(DamageOfAnyFile, IsHarmlessOrRefusedByNameAndRecoveredOnRequest) {
  const TestSetup setup;
  const SmallDisk disk;
  Counts counts;
  const int first = number_from("COREHOLD_SEED", 1);
  const int histories = number_from("COREHOLD_HISTORIES", kFewHistories);
  for (int seed = first; seed < first + histories; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomHistory(setup, disk, static_cast<std::uint64_t>(seed), counts).tell();
    if (HasFailure()) break;
  }
  std::printf(
      "%d histories, %d starts; %d with a damaged file: %d harmless, %d refused (%d until what was "
      "put there was taken away), %d recovered; %d with a full disk, %d with a read-only disk\n",
      histories, counts.starts, counts.damaged, counts.harmless, counts.refused, counts.in_the_way,
      counts.recovered, counts.full, counts.read_only);
  EXPECT_GT(counts.refused, 0);
  EXPECT_GT(counts.harmless, 0);
}

// A pod of many containers is saved again at the end of each, and all of that has room only in
// the reserve: nothing of it was in the database when the disk became full.
TEST(DeletionOnAFullDisk, WorksForTheLargestPodHoweverOftenItIsSaved) {
  const SmallDisk disk;
  if (!disk.can_be_filled()) GTEST_SKIP() << "needs a mount";
  auto store = PodStore::open(store_path(disk.root()));
  ASSERT_TRUE(store) << store.error().message;
  const std::string record(900'000, 'r');
  const StoreChange pod = StoredPod{.uid = "u", .sequence = 1, .record = record};
  ASSERT_TRUE(store->apply({&pod, 1}, Sync::kAtOnce, Room::kLeaveReserve));
  disk.fill();
  for (int saves = 0; saves < 20; ++saves) {
    const StoreChange again =
        StoredPod{.uid = "u", .sequence = 1, .record = record + std::to_string(saves)};
    const auto saved = store->apply({&again, 1}, Sync::kAtOnce, Room::kUseReserve);
    ASSERT_TRUE(saved) << saves << ": " << saved.error().message;
    disk.fill();
  }
  const auto forgotten = store->forget("u");
  ASSERT_TRUE(forgotten) << forgotten.error().message;
}

// Together they are larger than any transaction before.
TEST(DeletionOnAFullDisk, WorksForManyPodsAtOnce) {
  const TestSetup setup;
  const SmallDisk disk;
  if (!disk.can_be_filled()) GTEST_SKIP() << "needs a mount";
  auto store = PodStore::open(store_path(disk.root()));
  ASSERT_TRUE(store) << store.error().message;
  DiskStore node(*std::move(store), checkpoint_path(disk.root()), checkpoint_format(setup.config));
  StoreBatch deleted;
  StoreBatch forgotten;
  bool is_full = false;
  for (int number = 0; number < 2000 && !is_full; ++number) {
    Pod pod = pod_of(fmt::format("p{}", number), {"main"});
    pod.annotations["text"] = std::string(6000, 'x');
    PodRecord record{.pod = pod, .sequence = static_cast<std::uint64_t>(number)};
    StoreBatch created;
    created.effects.emplace_back(SavePod{.record = record});
    is_full = !node.commit(created).records;
    if (is_full) break;
    record.deleted_at = WallTime{1};
    deleted.effects.emplace_back(SavePod{.record = record});
    forgotten.effects.emplace_back(ForgetPod{.uid = pod.uid});
  }
  ASSERT_TRUE(is_full);
  ASSERT_GT(deleted.effects.size(), 100U);
  disk.fill();
  for (const StoreBatch& batch : {deleted, forgotten}) {
    const CommitResult result = node.commit(batch);
    EXPECT_TRUE(result.records) << result.records.error().message;
    disk.fill();
  }
}

}  // namespace
}  // namespace corehold
