// SPDX-License-Identifier: Apache-2.0
#include "agent/boot/startup.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "agent/commit/disk_store.h"
#include "manager/record_json.h"
#include "policy/static_policy.h"
#include "runtime/workspace/pod_files.h"
#include "state/checkpoint_check.h"
#include "store/checkpoint_file.h"
#include "store/store_seal.h"
#include "sys/clock.h"
#include "sys/file/disk_full.h"
#include "sys/file/move_aside.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecover = "--recover moves it aside and rebuilds it from what runs";
constexpr std::string_view kLostSeal =
    "the seal of the store was damaged and is moved aside: whether the store is the newest is not "
    "known";

CheckpointGates gates_of(const Config& config) {
  return {.exclusive_cpus = config.gates.is_on(Gate::kInPlacePodVerticalScalingExclusiveCpus)};
}

Result<State> fresh_state(const NodeSetup& setup) {
  State state = TRY(setup.policy->start({}));
  return state;
}

Result<void> put_away(const std::vector<std::string>& files, const Error& why,
                      std::string_view lost, const Log& log) {
  const auto moved = TRY(move_aside(files, wall_now()));
  log.warning(lost, {{"files", fmt::format("{}", fmt::join(moved, " "))}, {"error", why.message}});
  return {};
}

// The command that makes the checkpoint fit the configuration.
std::string convert_advice(const std::string& path, const Config& config, const std::string& what) {
  const bool is_kubelets = config.checkpoint_format == CheckpointStyle::kKubelet;
  return fmt::format(
      "`corehold checkpoint convert {} --to {} {} --to-file NEW` does it if no container that "
      "runs has to move; then put NEW in its place",
      path, is_kubelets ? "v4" : "v3", what);
}

Error other_policy(const std::string& path, const State& state, const FoundOn& node) {
  const std::string_view policy = node.setup.policy->name();
  return {
      Code::kConflict,
      fmt::format("{}: it was written under policy {}, configured is {}; {}", path, state.policy,
                  policy, convert_advice(path, node.config, fmt::format("--policy {}", policy)))};
}

// `known` are the CPUs that the checkpoint names.
Error other_node(const std::string& path, const CpuSet& known, const FoundOn& node,
                 const Error& error) {
  const NodeSetup& setup = node.setup;
  const CpuSet missing = known - setup.topology->cpus();
  if (!missing.empty()) {
    return {Code::kConflict,
            fmt::format("{}: {}; it names CPUs {}, which the machine lacks (it has {}): bring them "
                        "online, or move the file away and start with --recover, which makes a new "
                        "one from what runs",
                        path, error.message, missing.str(), setup.topology->cpus().str())};
  }
  const bool is_strict = node.config.static_options.strict_cpu_reservation;
  const bool has_spaces = node.source.find(' ') != std::string::npos;
  const std::string options = fmt::format(
      "--reserved {} {} --source {}", setup.reserved.str(), is_strict ? "--strict" : "--no-strict",
      has_spaces ? fmt::format("\"{}\"", node.source) : node.source);
  return {
      Code::kConflict,
      fmt::format("{}: {}; it was written for other reserved CPUs, another machine or other "
                  "options (configured: reserved {}, {}; the machine's CPUs: {}); {}",
                  path, error.message, setup.reserved.str(), is_strict ? "strict" : "not strict",
                  setup.topology->cpus().str(), convert_advice(path, node.config, options))};
}

// A checkpoint whose content cannot be right, whatever the node.
bool is_damage(const Error& error) {
  return error.code == Code::kCorrupt || error.code == Code::kInvalid ||
         error.code == Code::kConflict;
}

Result<State> verified(const std::string& path, const Config& config) {
  auto checkpoint = load_checkpoint(path, gates_of(config));
  if (!checkpoint && checkpoint.error().code == Code::kNotFound) {
    std::error_code error;
    // No checkpoint could be saved there.
    if (fs::is_symlink(fs::symlink_status(path, error))) {
      return Error{Code::kCorrupt, fmt::format("{}: a link to a file that is not there", path)};
    }
  }
  if (!checkpoint) return checkpoint.error();
  auto state = check_loadable(*checkpoint);
  if (state) return state;
  Error error = wrap(path, state.error());
  if (error.code == Code::kNotFound) {
    // What load_checkpoint() says of a file that is not there.
    error.code = Code::kUnsupported;
    error.message += "; `corehold checkpoint convert --container-map FILE` resolves it";
  }
  return error;
}

Result<State> suited(const std::string& path, State state, const FoundOn& node) {
  const NodeSetup& setup = node.setup;
  if (state.policy != setup.policy->name()) return other_policy(path, state, node);
  const CpuSet known = state.shared | state.exclusive();
  auto started = setup.policy->start(std::move(state));
  if (!started) return other_node(path, known, node, started.error());
  if (node.config.cpu_manager_policy != CpuManagerPolicy::kStatic) return started;
  const auto& policy = static_cast<const StaticPolicy&>(*setup.policy);
  if (const auto checked = policy.check_start(*started); !checked) {
    return other_node(path, known, node, checked.error());
  }
  return started;
}

Result<std::vector<PodRecord>> read_records(const PodStore& store, const std::string& path) {
  std::vector<PodRecord> records;
  for (const StoredPod& stored : TRY(store.load())) {
    auto record = read_record(stored.record);
    if (!record) {
      // A record of a later version is not damage, and --recover does not put it away.
      return wrap(fmt::format("{}: pod {}", path, stored.uid), record.error());
    }
    records.push_back(*std::move(record));
  }
  return records;
}

// A version is a number that grows with each change, by less than one in a microsecond. A
// life begins at the clock's, and beyond all of the last life even if the clock went back.
constexpr std::uint64_t kVersionsOfALife = 1'000'000'000;

// A disk that is full does not keep a node from starting: a note that is not saved is made again at
// the next start.
Result<void> save_note(PodStore& store, const char* key, const std::string& text, const Log& log) {
  auto saved = store.save_note(key, text);
  if (saved || !is_disk_full(saved.error())) return saved;
  log.warning("a note of the node is not saved: the disk is full",
              {{"note", key}, {"error", saved.error().message}});
  return {};
}

Result<std::uint64_t> first_version(PodStore& store, const Log& log) {
  const std::string last = TRY(store.note(kVersionNote));
  std::uint64_t version = 0;
  std::from_chars(last.data(), last.data() + last.size(), version);
  using std::chrono::microseconds;
  const auto now = std::chrono::duration_cast<microseconds>(wall_now()).count();
  version = std::max(version + kVersionsOfALife, static_cast<std::uint64_t>(now));
  TRY(save_note(store, kVersionNote, fmt::to_string(version), log));
  return version;
}

Result<NodeDocument> node_document(PodStore& store, const std::string& path, const Log& log) {
  const std::string text = TRY(store.note(kNodeNote));
  if (!text.empty()) {
    auto document = NodeDocument::parse(text);
    if (!document) return wrap(path, document.error());
    return document;
  }
  NodeDocument document(random_uuid(), wall_now());
  TRY(save_note(store, kNodeNote, document.text(), log));
  return document;
}

// Not for a missing or empty file of a node that had one.
Result<void> check_for_remains(const std::string& root, const State& cpus) {
  std::error_code error;
  const std::string path = store_path(root);
  const bool is_there = fs::exists(path, error);
  if (is_there && fs::file_size(path, error) > 0) return {};
  const auto lost = [&](const std::string& but) {
    return Error{Code::kCorrupt,
                 fmt::format("{} is {}, but {}", path, is_there ? "empty" : "missing", but)};
  };
  if (!cpus.pods.empty()) {
    return lost(fmt::format("{} gives CPUs to {} pods", checkpoint_path(root), cpus.pods.size()));
  }
  const std::set<std::string> uids = pods_with_files(root);
  if (uids.empty()) return {};
  return lost(fmt::format("there are files of {} pods below {}, of pod {} for one", uids.size(),
                          root, *uids.begin()));
}

Result<FoundPods> open_pods(const std::string& path, const Log& log) {
  PodStore store = TRY(PodStore::open(path));
  if (store.has_lost_seal()) {
    log.warning("the seal of the store is missing: whether the store is the newest is not known",
                {{"store", path}, {"seal", store_seal_path(path)}});
  }
  std::vector<PodRecord> pods = TRY(read_records(store, path));
  const std::vector<std::string> forgotten = TRY(store.forgotten());
  const bool had_checkpoint = !TRY(store.note(kCheckpointNote)).empty();
  NodeDocument document = TRY(node_document(store, path, log));
  const std::uint64_t version = TRY(first_version(store, log));
  return FoundPods{.store = std::move(store),
                   .pods = std::move(pods),
                   .forgotten = {forgotten.begin(), forgotten.end()},
                   .had_checkpoint = had_checkpoint,
                   .document = std::move(document),
                   .first_version = version};
}

}  // namespace

CheckpointFormat checkpoint_format(const Config& config) {
  if (config.checkpoint_format == CheckpointStyle::kCorehold) {
    return {.version = CheckpointVersion::kV3};
  }
  return {.version = CheckpointVersion::kV4,
          .without_baselines = !config.gates.is_on(Gate::kInPlacePodVerticalScalingExclusiveCpus)};
}

Result<FoundCpus> load_cpus(const FoundOn& node, Damage damage, const Log& log) {
  const std::string path = checkpoint_path(node.root);
  auto state = verified(path, node.config);
  if (state) return FoundCpus{.state = TRY(suited(path, *std::move(state), node))};
  const Error& error = state.error();
  if (error.code == Code::kNotFound) {
    return FoundCpus{.state = TRY(fresh_state(node.setup)), .how = FoundCpus::How::kNone};
  }
  if (!is_damage(error)) return error;
  if (damage == Damage::kRefuse) {
    return Error{error.code, fmt::format("{}; {}", error.message, kRecover)};
  }
  TRY(put_away({path}, error, kLostCpus, log));
  return FoundCpus{.state = TRY(fresh_state(node.setup)), .how = FoundCpus::How::kMoved};
}

Result<FoundPods> load_pods(const std::string& root, const State& cpus, Damage damage,
                            const Log& log) {
  const std::string path = store_path(root);
  const auto open = [&]() -> Result<FoundPods> {
    // First the seal: it says best what is lost.
    if (TRY(read_seal(store_seal_path(path)))) return open_pods(path, log);
    TRY(check_for_remains(root, cpus));
    return open_pods(path, log);
  };
  auto found = open();
  if (found || found.error().code != Code::kCorrupt) return found;
  if (damage == Damage::kRefuse) {
    return Error{Code::kCorrupt, fmt::format("{}; {}", found.error().message, kRecover)};
  }
  if (const std::string seal = store_seal_path(path); !read_seal(seal)) {
    // The store itself may be sound.
    TRY(put_away({seal}, found.error(), kLostSeal, log));
    found = open();
    if (found || found.error().code != Code::kCorrupt) return found;
  }
  TRY(put_away(pod_store_files(path), found.error(), kLostPods, log));
  FoundPods fresh = TRY(open_pods(path, log));
  fresh.moved = true;
  return fresh;
}

void remove_leftovers(const std::string& root, const Log& log) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("cpu_manager_state.tmp-")) continue;
    log.info("a checkpoint that was never completed is removed", {{"file", entry.path().string()}});
    fs::remove(entry.path(), error);
  }
}

Result<void> end_simulation(const std::string& root, const Log& log) {
  for (const std::string& moved : TRY(move_aside({root + "/simulated.json"}, wall_now()))) {
    log.warning("an agent with --simulate has used this root; its containers are moved aside",
                {{"file", moved}});
  }
  return {};
}

}  // namespace corehold
