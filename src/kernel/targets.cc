// SPDX-License-Identifier: Apache-2.0
#include "kernel/targets.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "kernel/task.h"
#include "kernel/words.h"
#include "sys/file/file.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

constexpr std::string_view kCpusetFile = "/cpuset.cpus";
constexpr std::chrono::milliseconds kPatience{3000};  // until a cpuset is empty
constexpr std::chrono::milliseconds kPause{2};
constexpr int kRounds = 100;  // to empty a cpuset whose tasks go on forking
constexpr mode_t kCgroupMode = 0755;

Error gone(const Target& target) {
  return {Code::kNotFound, fmt::format("{} {} is gone", name_of(target.kind), target.name), ENOENT};
}

struct TaskName {
  pid_t tid = 0;
  std::uint64_t start = 0;
};

std::optional<TaskName> parse_task_name(std::string_view name) {
  const auto tid = number_in<pid_t>(take_word(name));
  const auto start = number_in<std::uint64_t>(take_word(name));
  if (!tid || !start) return std::nullopt;
  return TaskName{.tid = *tid, .start = *start};
}

// The task of that name, if it lives.
Result<Task> find_task(const Target& target, const std::string& proc) {
  const auto name = parse_task_name(target.name);
  if (!name) return Error{Code::kInvalid, fmt::format("{:?} is no task", target.name)};
  auto task = read_task(name->tid, proc);
  if (!task || task->start != name->start) return gone(target);
  return *std::move(task);
}

Error differs(const Change& change, const std::string& now) {
  return {Code::kConflict, fmt::format("set {} {} to {:?}: it is {:?}", name_of(change.target.kind),
                                       change.target.name, change.value, now)};
}

// The kernel takes an empty line for "nothing", and nothing for nothing at all.
Result<void> write_text(const std::string& path, const std::string& text) {
  return write_kernel_file(path, text.empty() ? "\n" : text);
}

Result<CpuSet> read_cpus(const std::string& path) {
  auto cpus = CpuSet::parse(TRY(read_kernel_file(path)));
  if (!cpus) return wrap(path, cpus.error());
  return cpus;
}

}  // namespace

Result<void> set_affinity(pid_t tid, const CpuSet& cpus) {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
      CPU_ALLOC(kMaxCpus), [](cpu_set_t* set) { CPU_FREE(set); });
  const std::size_t size = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(size, mask.get());
  for (const CpuId cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu.value), size, mask.get());
  if (::sched_setaffinity(tid, size, mask.get()) == 0) return {};
  const int number = errno;
  const std::string attempted = fmt::format("set the affinity of task {} to {}", tid, cpus.str());
  return errno_error(attempted, number, number == ESRCH ? Code::kNotFound : Code::kIo);
}

Result<void> set_affinity(pid_t tid, std::uint64_t start, const CpuSet& cpus,
                          const std::string& proc) {
  const auto task = read_task(tid, proc);
  if (!task || task->start != start) {
    return Error{Code::kNotFound, fmt::format("task {} has ended", tid), ESRCH};
  }
  return set_affinity(tid, cpus);
}

Targets::Targets(FencePlaces places, Units& units) : places_(std::move(places)), units_(units) {
  const auto read_file_of = [](const Target& target) { return read_kernel_file(target.name); };
  add(Target::Kind::kFile,
      {.read = read_file_of, .write = [this](const Change& change) { return write_file(change); }});
  add(Target::Kind::kUnit, {.read = [this](const Target& target) { return read_unit(target.name); },
                            .write = [this](const Change& change) { return write_unit(change); }});
  add(Target::Kind::kTask, {.read = [this](const Target& target) -> Result<std::string> {
                              const Task task = TRY(find_task(target, places_.proc));
                              return (task.affinity & online_).str();
                            },
                            .write = [this](const Change& change) { return write_task(change); }});
  add(Target::Kind::kCpuset,
      {.read = [](const Target& target) -> Result<std::string> {
         auto text = read_kernel_file(target.name + std::string(kCpusetFile));
         if (!text && text.error().code == Code::kNotFound) return std::string();
         return text;
       },
       .write = [this](const Change& change) { return write_cpuset(change); }});
  add(Target::Kind::kMember,
      {.read = [this](const Target& target) -> Result<std::string> {
         return TRY(find_task(target, places_.proc)).cgroup;
       },
       .write = [this](const Change& change) { return write_member(change); }});
}

Result<std::string> Targets::read(const Target& target) const {
  const auto handler = handlers_.find(target.kind);
  if (handler != handlers_.end()) return handler->second.read(target);
  return Error{Code::kUnsupported,
               fmt::format("{} {} cannot be read here", name_of(target.kind), target.name)};
}

Result<void> Targets::write(const Change& change) const {
  const auto handler = handlers_.find(change.target.kind);
  if (handler != handlers_.end()) return handler->second.write(change);
  return Error{Code::kUnsupported, fmt::format("{} {} cannot be written here",
                                               name_of(change.target.kind), change.target.name)};
}

std::string Targets::cgroup_of_unit(const std::string& unit) const {
  // On each level down to the containers' cgroup, as fence_reader.cc looks for units.
  for (std::string level = places_.own; !level.empty();) {
    level.resize(level.rfind('/'));
    std::string path = fmt::format("{}{}/{}", places_.mount, level, unit);
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return "";
}

// systemd answers before it has handed the controller down to the cgroup, and before it has written
// the CPUs: until the file is there and has just these, what it says is what was before. And then
// its write may still be under way: the kernel tells of the CPUs first and moves the tasks after
// that. A write of the same value waits for that one.
Result<void> Targets::await_cpus(const std::string& cgroup, const CpuSet& cpus) const {
  const std::string file = cgroup + std::string(kCpusetFile);
  const std::string effective_file = file + ".effective";
  const auto deadline = std::chrono::steady_clock::now() + places_.patience;
  Error late{Code::kConflict, ""};
  do {
    const auto configured = read_cpus(file);
    const auto effective = read_cpus(effective_file);
    const bool is_missing = !configured || !effective;
    if (is_missing && ::access(cgroup.c_str(), F_OK) != 0) return file_error("open", cgroup, errno);
    if (!is_missing && *configured == cpus && !effective->empty() &&
        effective->is_subset_of(cpus)) {
      return write_text(file, cpus.str());
    }
    if (is_missing) {
      late.message = (configured ? effective : configured).error().message;
    } else {
      late.message = fmt::format("{} is {:?} and {} {:?}, not {}", file, configured->str(),
                                 effective_file, effective->str(), cpus.str());
    }
    std::this_thread::sleep_for(kPause);
  } while (std::chrono::steady_clock::now() < deadline);
  late.message += fmt::format(" after {} ms", places_.patience.count());
  return late;
}

Result<std::string> Targets::read_unit(const std::string& unit) const {
  return TRY(units_.allowed_cpus(unit)).str();
}

Result<void> Targets::write_unit(const Change& change) const {
  const std::string& unit = change.target.name;
  const CpuSet cpus = TRY(CpuSet::parse(change.value));
  const std::string cgroup = cgroup_of_unit(unit);
  // Up to kernel 6.1 a cpuset with processes cannot be emptied, so it is lifted before.
  TRY(units_.set_allowed_cpus(unit, cpus.empty() ? online_ : cpus));
  if (!cgroup.empty()) {
    const auto done = await_cpus(cgroup, cpus.empty() ? online_ : cpus);
    // A unit that has ended meanwhile has the property still, and nobody to wait for.
    if (!done && done.error().code != Code::kNotFound) return done.error();
  }
  if (cpus.empty()) TRY(units_.set_allowed_cpus(unit, cpus));
  const std::string now = TRY(read_unit(unit));
  if (!is_same_value(change.compare, now, change.value)) return differs(change, now);
  return {};
}

// The kernel refuses to empty the cpuset of a cgroup with processes (6.1), and all CPUs are as
// good as none of its own.
Result<void> Targets::lift_cpuset(const std::string& path) const {
  TRY(write_text(path, online_.str()));
  [[maybe_unused]] const auto emptied = write_text(path, "");
  return {};
}

Result<void> Targets::write_file(const Change& change) const {
  const std::string& path = change.target.name;
  const bool is_cpuset = path.ends_with(kCpusetFile);
  if (is_cpuset && change.value.empty()) return lift_cpuset(path);
  TRY(write_text(path, change.value));
  const std::string now = TRY(read_kernel_file(path));
  if (!is_same_value(change.compare, now, change.value)) return differs(change, now);
  if (!is_cpuset) return {};
  return await_cpus(path.substr(0, path.size() - kCpusetFile.size()),
                    TRY(CpuSet::parse(change.value)));
}

Result<void> Targets::write_task(const Change& change) const {
  const Task task = TRY(find_task(change.target, places_.proc));
  // Somebody has moved it into a cgroup meanwhile, such as the runtime into a container.
  if (task.cgroup != "/") return gone(change.target);
  const CpuSet cpus = TRY(CpuSet::parse(change.value));
  // Where the kernel lets it, a task keeps the CPUs that are offline for when they come back.
  TRY(set_affinity(task.tid, cpus | (task.affinity - online_)));
  const std::string now = TRY(read(change.target));
  if (!is_same_value(change.compare, now, (cpus & online_).str())) return differs(change, now);
  return {};
}

Result<void> Targets::write_cpuset(const Change& change) const {
  const std::string& path = change.target.name;
  if (change.value.empty()) return remove_cpuset(path);
  if (::mkdir(path.c_str(), kCgroupMode) != 0 && errno != EEXIST) {
    return file_error("mkdir", path, errno);
  }
  const std::string mems = TRY(read_kernel_file(path.substr(0, path.rfind('/')) + "/cpuset.mems"));
  const auto mems_now = read_kernel_file(path + "/cpuset.mems");
  if (!mems_now || *mems_now != mems) TRY(write_kernel_file(path + "/cpuset.mems", mems));
  const std::string file = path + std::string(kCpusetFile);
  TRY(write_kernel_file(file, change.value));
  const std::string now = TRY(read_kernel_file(file));
  if (!is_same_value(change.compare, now, change.value)) return differs(change, now);
  return {};
}

// Every thread in it goes back to where the cpuset is; other threads of its process may be in
// cpusets of others. From the first step on nobody in it is kept from any CPU, however long the
// rest takes.
Result<void> Targets::remove_cpuset(const std::string& path) const {
  const std::string parent = path.substr(0, path.rfind('/'));
  const auto lifted = write_kernel_file(path + std::string(kCpusetFile), online_.str());
  if (!lifted && lifted.error().code != Code::kNotFound) return lifted.error();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::optional<Error> stuck;
  for (int round = 0; round < kRounds || std::chrono::steady_clock::now() < deadline; ++round) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY) return file_error("rmdir", path, errno);
    const std::string threads = TRY(read_kernel_file(path + "/tasks"));
    // Those that are about to end are not listed any more, and keep the cpuset for a while.
    if (threads.empty()) std::this_thread::sleep_for(kPause);
    stuck.reset();
    std::string_view rest = threads;
    while (!rest.empty()) {
      const auto moved = write_kernel_file(parent + "/tasks", trimmed(take_line(rest)));
      if (!moved && moved.error().number != ESRCH) stuck = moved.error();
    }
  }
  if (stuck) return *stuck;
  return Error{Code::kConflict,
               fmt::format("rmdir {}: its tasks come faster than they can be moved", path)};
}

Result<void> Targets::write_member(const Change& change) const {
  const Task task = TRY(find_task(change.target, places_.proc));
  // Somebody else has moved it meanwhile, such as the runtime into a container.
  if (task.cgroup != change.before) return gone(change.target);
  const auto moved = write_kernel_file(change.value, std::to_string(task.tid));
  if (moved) return {};
  if (moved.error().number == ESRCH) return gone(change.target);
  return moved.error();
}

}  // namespace corehold
