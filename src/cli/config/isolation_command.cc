// SPDX-License-Identifier: Apache-2.0
//
// corehold isolation show | release
#include "cli/config/isolation_command.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/code.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "kernel/isolator.h"
#include "kernel/machine_parts.h"
#include "runtime/cgroup/confinement.h"
#include "sys/file/directory.h"
#include "sys/file/file_lock.h"
#include "sys/file/kernel_file.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr const char* kFooter =
    "What an agent has changed of the machine, so that nothing else runs on CPUs that a container\n"
    "holds, is written down in isolation.json under its directory. Without an agent the changes\n"
    "stay, because containers go on; `release` gives back what was there wherever our value still\n"
    "stands. A reboot does the same.\n"
    "\n"
    "Examples:\n"
    "  corehold isolation show\n"
    "  corehold isolation show -o json\n"
    "  corehold isolation release";

struct Arguments {
  std::string root = "/var/lib/corehold";
  std::string format = "table";
};

struct ShownEntry {
  Target target{};
  JournalEntry entry{};
  std::string now{};     // what the machine has; an error where that cannot be read
  std::string stands{};  // "yes", "no", "gone", "unknown", "told"
};

FencePlaces places_here() {
  const auto confinement = find_confinement({});
  return fence_places(confinement->describe()).value_or(FencePlaces{});
}

std::vector<ShownEntry> look_at(const IsolationJournal& journal) {
  SystemdUnits units;
  Targets targets(places_here(), units);
  if (const auto online = read_kernel_file("/sys/devices/system/cpu/online")) {
    if (const auto cpus = CpuSet::parse(*online)) targets.set_online(*cpus);
  }
  std::vector<ShownEntry> shown;
  for (const auto& [target, entry] : journal.entries) {
    ShownEntry& each = shown.emplace_back();
    each.target = target;
    each.entry = entry;
    // One that answers only after this command has ended would die of that (irqbalance.h).
    if (target.kind == Target::Kind::kIrqBalance) {
      each.now = "not asked";
      each.stands = "told";
      continue;
    }
    const auto now = targets.read(target);
    if (now) {
      each.now = *now;
      each.stands = is_ours(entry, *now) ? "yes" : "no";
    } else {
      each.now = now.error().message;
      each.stands = now.error().code == Code::kNotFound ? "gone" : "unknown";
    }
  }
  return shown;
}

void add_leftovers(const IsolationJournal& journal, Leftover::Stays stays, std::string label,
                   std::vector<Row>& rows) {
  for (const Leftover& leftover : journal.leftovers) {
    if (leftover.stays != stays) continue;
    rows.push_back({std::exchange(label, ""),
                    on_one_line(fmt::format("{}: {}", leftover.what, leftover.reason))});
    if (!leftover.advice.empty()) rows.push_back({"", "  " + on_one_line(leftover.advice)});
  }
}

std::string table_of(const IsolationJournal& journal, const std::vector<ShownEntry>& entries) {
  std::vector<Row> head{{"level", std::string(name_of(journal.level))},
                        {"held", journal.held.empty() ? "no CPUs" : "CPUs " + journal.held.str()}};
  add_leftovers(journal, Leftover::Stays::kForNow, "not kept away", head);
  add_leftovers(journal, Leftover::Stays::kByNature, "not movable", head);
  std::string label = "displaced";
  for (const std::string& task : journal.displaced) {
    head.push_back({std::exchange(label, ""), on_one_line(task)});
  }
  if (!journal.pins.empty()) {
    head.push_back({"pins", counted(journal.pins.size(), "task") + " to get their affinity back"});
  }
  std::string text = align(head, 2);
  if (entries.empty()) return text + "\nnothing of the machine is changed\n";
  std::vector<Row> rows{{"KIND", "NAME", "BEFORE", "WRITTEN", "NOW", "STANDS"}};
  for (const ShownEntry& each : entries) {
    rows.push_back({std::string(name_of(each.target.kind)), on_one_line(each.target.name),
                    or_dash(each.entry.before), or_dash(each.entry.written), or_dash(each.now),
                    each.stands});
  }
  return text + "\n" + align(rows, rows.front().size());
}

json::object json_of(const IsolationJournal& journal, const std::vector<ShownEntry>& entries) {
  json::array changed;
  for (const ShownEntry& each : entries) {
    changed.push_back(json::object{{"kind", name_of(each.target.kind)},
                                   {"name", each.target.name},
                                   {"level", name_of(each.entry.level)},
                                   {"before", each.entry.before},
                                   {"written", each.entry.written},
                                   {"now", each.now},
                                   {"stands", each.stands},
                                   {"repairs", each.entry.repairs}});
  }
  json::array leftovers;
  for (const Leftover& each : journal.leftovers) {
    leftovers.push_back(json::object{{"level", name_of(each.level)},
                                     {"movable", each.stays == Leftover::Stays::kForNow},
                                     {"what", each.what},
                                     {"reason", each.reason},
                                     {"advice", each.advice}});
  }
  json::array pins;
  for (const auto& [tid, pin] : journal.pins) {
    pins.push_back(json::object{{"task", tid}, {"name", pin.name}, {"cpus", pin.cpus.str()}});
  }
  json::array displaced;
  for (const std::string& each : journal.displaced) displaced.emplace_back(each);
  return {{"level", name_of(journal.level)},   {"held", journal.held.str()},
          {"changed", std::move(changed)},     {"leftovers", std::move(leftovers)},
          {"displaced", std::move(displaced)}, {"pins", std::move(pins)}};
}

// The machine's agent is root's.
std::string owner_here() { return ::geteuid() == 0 ? kJournalOwner : ""; }

// Where the journal is lost or damaged the machine's agent has a copy.
Result<IsolationJournal> shown_journal(const std::string& path) {
  auto journal = read_journal(path);
  if (journal && ::access(path.c_str(), F_OK) == 0) return journal;
  auto copy = read_machine_journal(path, owner_here());
  return copy ? std::move(copy) : std::move(journal);
}

int show(const Arguments& arguments) {
  const auto journal = shown_journal(journal_path(arguments.root));
  if (!journal) return fail(journal.error());
  const std::vector<ShownEntry> entries = look_at(*journal);
  if (arguments.format == "json") return answer(json_text(json_of(*journal, entries)));
  return answer(table_of(*journal, entries));
}

int agent_runs(const Error& error) {
  complain(error.message);
  complain(
      "an agent runs here: stop it first, or give it isolation.level containers and start "
      "it again");
  return kExitFailed;
}

// Those that an agent takes (agent/boot/agent_locks.h): of its directory, and of the machine.
Result<std::vector<FileLock>> take_locks(const IsolationFiles& files) {
  constexpr mode_t kMode = 0755;
  std::vector<FileLock> locks;
  // A directory that is lost has no agent.
  if (std::filesystem::is_directory(files.root + "/run")) {
    locks.push_back(TRY(FileLock::take(files.root + "/run/lock")));
  }
  if (files.owner.empty()) return locks;
  const std::string directory = files.owner.substr(0, files.owner.rfind('/'));
  TRY(make_directories(directory, kMode));
  locks.push_back(TRY(FileLock::take(directory + "/agent.lock")));
  return locks;
}

}  // namespace

int release_isolation(const IsolationFiles& files) {
  // Where the directory is lost the journal is beside its copy meanwhile.
  const bool has_root = std::filesystem::is_directory(files.root);
  const std::string path = has_root ? journal_path(files.root) : files.owner + ".json";
  const bool has_copy = !files.owner.empty() && ::access(files.owner.c_str(), F_OK) == 0;
  if (!has_copy && (!has_root || ::access(path.c_str(), F_OK) != 0)) {
    return answer("nothing of the machine is changed\n");
  }
  const auto locks = take_locks(files);
  if (!locks && locks.error().code == Code::kConflict) return agent_runs(locks.error());
  if (!locks) return fail(locks.error());
  const auto journal = read_machine_journal(path, files.owner);
  if (!journal) return fail(journal.error());
  const auto online_text = read_kernel_file("/sys/devices/system/cpu/online");
  if (!online_text) return fail(online_text.error());
  const auto online = CpuSet::parse(*online_text);
  if (!online) return fail(online.error());
  SystemdUnits units;
  // Long enough for an irqbalance that scans: one that answers to nobody dies of that.
  MachineReader::Places machine;
  machine.irqbalance.patience = std::chrono::seconds(30);
  Isolator isolator({.journal = path,
                     .owner = files.owner,
                     .places = places_here(),
                     .machine = std::move(machine)},
                    units);
  const auto report = isolator.apply({.online = *online});
  if (!report) return fail(report.error());
  bool is_complete = true;
  for (const Leftover& leftover : report->leftovers) {
    complain(fmt::format("{}: {}", leftover.what, leftover.reason));
    // A journal of which only the copy could be read keeps nothing from being given back.
    is_complete = is_complete && leftover.what == path;
  }
  if (!is_complete) return kExitFailed;
  if (!has_root) ::unlink(path.c_str());
  return answer(fmt::format("{} given back\n", counted(journal->entries.size(), "value")));
}

void add_isolation(CLI::App& root, int& exit_code) {
  CLI::App* command =
      root.add_subcommand("isolation", "What is kept off held CPUs, and how to undo it");
  command->require_subcommand(1);
  command->footer(kFooter);
  const auto arguments = std::make_shared<Arguments>();  // outlives this call, with the callbacks
  CLI::App* shown = command->add_subcommand("show", "Show what is changed of the machine");
  shown->add_option("-o", arguments->format, "table (default) or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  CLI::App* released =
      command->add_subcommand("release", "Give back what was there; no agent may be running");
  for (CLI::App* each : {shown, released}) {
    each->add_option("--root", arguments->root,
                     "The agent's directory (default: /var/lib/corehold)")
        ->type_name("DIR");
  }
  shown->callback([arguments, &exit_code] { exit_code = show(*arguments); });
  released->callback([arguments, &exit_code] {
    exit_code = release_isolation({.root = arguments->root, .owner = owner_here()});
  });
}

}  // namespace corehold
