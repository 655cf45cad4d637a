// SPDX-License-Identifier: Apache-2.0
//
// corehold isolation show | release
#include <unistd.h>

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
  std::string stands{};  // "yes", "no", "gone", "unknown"
};

FencePlaces places_here() {
  const auto confinement = find_confinement({});
  return fence_places(confinement->describe()).value_or(FencePlaces{});
}

std::vector<ShownEntry> look_at(const IsolationJournal& journal) {
  SystemdUnits units;
  Targets targets(places_here(), units);
  MachineReader machine;
  targets.add(Target::Kind::kIrqBalance, irqbalance_handler(machine));
  if (const auto online = read_kernel_file("/sys/devices/system/cpu/online")) {
    if (const auto cpus = CpuSet::parse(*online)) targets.set_online(*cpus);
  }
  std::vector<ShownEntry> shown;
  for (const auto& [target, entry] : journal.entries) {
    ShownEntry& each = shown.emplace_back();
    each.target = target;
    each.entry = entry;
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

std::string table_of(const IsolationJournal& journal, const std::vector<ShownEntry>& entries) {
  std::vector<Row> head{{"level", std::string(name_of(journal.level))},
                        {"held", journal.held.empty() ? "no CPUs" : "CPUs " + journal.held.str()}};
  std::string label = "not kept away";
  for (const Leftover& leftover : journal.leftovers) {
    head.push_back({std::exchange(label, ""),
                    on_one_line(fmt::format("{}: {}", leftover.what, leftover.reason))});
    if (!leftover.advice.empty()) head.push_back({"", "  " + on_one_line(leftover.advice)});
  }
  label = "displaced";
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

int show(const Arguments& arguments) {
  const auto journal = read_journal(journal_path(arguments.root));
  if (!journal) return fail(journal.error());
  const std::vector<ShownEntry> entries = look_at(*journal);
  if (arguments.format == "json") return answer(json_text(json_of(*journal, entries)));
  return answer(table_of(*journal, entries));
}

int release(const Arguments& arguments) {
  const std::string path = journal_path(arguments.root);
  if (::access(path.c_str(), F_OK) != 0) return answer("nothing of the machine is changed\n");
  const auto lock = FileLock::take(arguments.root + "/run/lock");
  if (!lock && lock.error().code == Code::kConflict) {
    complain(lock.error().message);
    complain(
        "an agent runs here: stop it first, or give it isolation.level containers and start "
        "it again");
    return kExitFailed;
  }
  if (!lock) return fail(lock.error());
  const auto journal = read_journal(path);
  if (!journal) return fail(journal.error());
  const auto online_text = read_kernel_file("/sys/devices/system/cpu/online");
  if (!online_text) return fail(online_text.error());
  const auto online = CpuSet::parse(*online_text);
  if (!online) return fail(online.error());
  SystemdUnits units;
  Isolator isolator({.journal = path, .places = places_here()}, units);
  const auto report = isolator.apply({.online = *online});
  if (!report) return fail(report.error());
  for (const Leftover& leftover : report->leftovers) {
    complain(fmt::format("{}: {}", leftover.what, leftover.reason));
  }
  if (!report->leftovers.empty()) return kExitFailed;
  return answer(fmt::format("{} given back\n", counted(journal->entries.size(), "value")));
}

}  // namespace

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
  released->callback([arguments, &exit_code] { exit_code = release(*arguments); });
}

}  // namespace corehold
