// SPDX-License-Identifier: Apache-2.0
#include "kernel/fence_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "kernel/task.h"
#include "sys/file/directory.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<std::string> cgroups_in(const std::string& path) {
  std::vector<std::string> names;
  const auto entries = entries_of(path);
  if (!entries) return names;
  for (const std::string& name : *entries) {
    if (is_directory(fmt::format("{}/{}", path, name))) names.push_back(name);
  }
  return names;
}

bool is_below(std::string_view cgroup, std::string_view top) {
  return cgroup == top || (cgroup.starts_with(top) && cgroup.substr(top.size()).starts_with('/'));
}

bool is_unit(std::string_view name) {
  constexpr std::array kTypes{".slice", ".scope", ".service", ".socket", ".mount", ".swap"};
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](std::string_view type) { return name.ends_with(type); });
}

// The CPUs that the tasks of a cgroup may use: of the nearest one above that has a cpuset.
class AllowedCpus {
 public:
  AllowedCpus(const FencePlaces& places, const CpuSet& online)
      : mount_(places.mount),
        file_(places.version == FencePlaces::Version::kV1 ? "cpuset.effective_cpus"
                                                          : "cpuset.cpus.effective"),
        online_(online) {}

  const CpuSet& of(const std::string& cgroup) {
    const auto known = known_.find(cgroup);
    if (known != known_.end()) return known->second;
    return known_.emplace(cgroup, read(cgroup)).first->second;
  }

 private:
  CpuSet read(const std::string& cgroup) {
    if (cgroup.empty() || cgroup == "/") return online_;
    const auto text = read_kernel_file(fmt::format("{}{}/{}", mount_, cgroup, file_));
    const auto cpus = text ? CpuSet::parse(*text) : Result<CpuSet>(CpuSet{});
    if (cpus && !cpus->empty()) return *cpus;
    return of(cgroup.substr(0, cgroup.rfind('/')));
  }

  std::string mount_;
  std::string file_;
  CpuSet online_;
  std::map<std::string, CpuSet> known_{};
};

class V2Reader {
 public:
  V2Reader(const FencePlaces& places, Units& units, FenceReading& reading)
      : places_(places), units_(units), reading_(reading) {}

  // On each level down to the containers' cgroup, all that is beside the way there.
  void read_groups() {
    for (const FenceLevel& level : fence_levels(places_)) {
      for (const std::string& name : cgroups_in(places_.mount + level.cgroup)) {
        if (level.ours.contains(name)) continue;
        const std::string cgroup = fmt::format("{}/{}", level.cgroup, name);
        // Below the containers' own cgroup there are no units.
        level.cgroup == places_.own ? add_file(cgroup) : read_group(cgroup, name);
      }
    }
  }

 private:
  void read_group(const std::string& cgroup, const std::string& name) {
    if (!places_.has_units || !is_unit(name)) return add_file(cgroup);
    const auto cpus = units_.allowed_cpus(name);
    if (cpus) {
      reading_.view.groups.push_back({.target = {.kind = Target::Kind::kUnit, .name = name},
                                      .cgroup = cgroup,
                                      .value = cpus->str()});
      return;
    }
    reading_.leftovers.push_back(
        {.what = cgroup,
         .reason = cpus.error().message,
         .advice = "systemd has to answer to the agent: see systemctl status"});
  }

  void add_file(const std::string& cgroup) {
    const std::string path = fmt::format("{}{}/cpuset.cpus", places_.mount, cgroup);
    const auto text = read_kernel_file(path);
    if (text) {
      reading_.view.groups.push_back({.target = {.kind = Target::Kind::kFile, .name = path},
                                      .cgroup = cgroup,
                                      .value = *text});
      return;
    }
    // A cgroup that is gone meanwhile, or one without processes, keeps nobody.
    const auto events = read_kernel_file(fmt::format("{}{}/cgroup.events", places_.mount, cgroup));
    if (!events || events->find("populated 1") == std::string::npos) return;
    reading_.leftovers.push_back(
        {.what = cgroup,
         .reason = text.error().message,
         .advice = "hand the cpuset controller down to it (cgroup.subtree_control)"});
  }

  const FencePlaces& places_;
  Units& units_;
  FenceReading& reading_;
};

// Cgroups below the root have cpusets only once the controller is handed down to them; the runtime
// does that too, with its first container. systemd does it by itself.
void hand_down(const FencePlaces& places) {
  if (places.has_units) return;
  const std::string path = places.mount + "/cgroup.subtree_control";
  const auto now = read_kernel_file(path);
  if (!now || fmt::format(" {} ", *now).find(" cpuset ") != std::string::npos) return;
  // Where it cannot be, the groups are named one by one.
  [[maybe_unused]] const auto handed = write_kernel_file(path, "+cpuset");
}

void read_v2(const FencePlaces& places, Units& units, std::vector<Task> tasks, AllowedCpus& allowed,
             FenceReading& reading) {
  reading.view.way = FenceView::Way::kGroups;
  hand_down(places);
  V2Reader(places, units, reading).read_groups();
  const std::string pods = places.own + "/pods";
  const std::string shared = places.own + "/shared";
  for (Task& task : tasks) {
    if (is_kernel_thread(task) || is_below(task.cgroup, pods) || is_below(task.cgroup, shared)) {
      continue;
    }
    if (task.cgroup == "/") {
      reading.view.tasks.push_back(std::move(task));
    } else {
      const CpuSet& cpus = allowed.of(task.cgroup);
      reading.confined.push_back({.task = std::move(task), .allowed = cpus});
    }
  }
}

void read_v1(const FencePlaces& places, std::vector<Task> tasks, AllowedCpus& allowed,
             FenceReading& reading) {
  FenceView& view = reading.view;
  view.way = FenceView::Way::kCpuset;
  const std::string ours = fmt::format("/{}", kSystemCpuset);
  view.cpuset = places.mount + ours;
  if (const auto cpus = read_kernel_file(view.cpuset + "/cpuset.cpus")) view.cpuset_value = *cpus;
  std::map<std::string, ForeignCpuset> foreign;
  std::set<pid_t> elsewhere;
  for (Task& task : tasks) {
    if (is_kernel_thread(task)) continue;
    if (task.cgroup != "/") elsewhere.insert(task.pid);
    if (is_below(task.cgroup, places.own)) continue;
    if (task.cgroup != "/" && task.cgroup != ours) {
      ForeignCpuset& cpuset = foreign[task.cgroup];
      cpuset.cgroup = task.cgroup;
      cpuset.cpus = allowed.of(task.cgroup);
      ++cpuset.tasks;
      continue;
    }
    reading.confined.push_back({.task = task, .allowed = allowed.of(task.cgroup)});
    if (task.cgroup == "/") view.tasks.push_back(std::move(task));
  }
  for (const Task& task : view.tasks) {
    if (elsewhere.contains(task.pid)) view.split.insert(task.pid);
  }
  for (auto& [cgroup, cpuset] : foreign) view.foreign.push_back(std::move(cpuset));
}

}  // namespace

Result<FenceReading> read_fence(const FencePlaces& places, Units& units, const CpuSet& online) {
  std::vector<Task> tasks = TRY(read_tasks(places.proc));
  AllowedCpus allowed(places, online);
  FenceReading reading;
  if (places.version == FencePlaces::Version::kV1) {
    read_v1(places, std::move(tasks), allowed, reading);
  } else {
    read_v2(places, units, std::move(tasks), allowed, reading);
  }
  return reading;
}

}  // namespace corehold
