// SPDX-License-Identifier: Apache-2.0
#include "isolation/journal.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::int64_t kVersion = 1;
constexpr std::array kKinds{Target::Kind::kFile, Target::Kind::kUnit,   Target::Kind::kIrqBalance,
                            Target::Kind::kTask, Target::Kind::kCpuset, Target::Kind::kMember};

Error corrupt(std::string_view what) {
  return {Code::kCorrupt, fmt::format("not a journal of isolation: {}", what)};
}

std::string_view name_of(Compare compare) { return compare == Compare::kText ? "text" : "cpus"; }

using Noted = std::pair<const Target*, const JournalEntry*>;

// The entries in the order of their first writes.
std::vector<Noted> by_order(const IsolationJournal& journal) {
  std::vector<Noted> all;
  for (const auto& [target, entry] : journal.entries) all.emplace_back(&target, &entry);
  std::sort(all.begin(), all.end(),
            [](const Noted& a, const Noted& b) { return a.second->order < b.second->order; });
  return all;
}

json::object json_of(const Target& target, const JournalEntry& entry) {
  return {{"kind", corehold::name_of(target.kind)},
          {"name", target.name},
          {"level", corehold::name_of(entry.level)},
          {"before", entry.before},
          {"written", entry.written},
          {"previous", entry.previous},
          {"compare", name_of(entry.compare)},
          {"repairs", entry.repairs}};
}

json::object json_of(pid_t tid, const TaskPin& pin) {
  return {{"tid", tid}, {"start", pin.start}, {"name", pin.name}, {"cpus", pin.cpus.str()}};
}

json::object json_of(const Leftover& leftover) {
  return {{"level", corehold::name_of(leftover.level)},
          {"what", leftover.what},
          {"reason", leftover.reason},
          {"advice", leftover.advice}};
}

// A field of an object; fails when it is missing or of another type.
Result<std::string> text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return corrupt(fmt::format("no text {:?}", key));
  return std::string(value->get_string());
}

template <typename Number>
Result<Number> number_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return corrupt(fmt::format("no number {:?}", key));
  json::error_code error;
  const auto number = value->to_number<Number>(error);
  if (error) return corrupt(fmt::format("no number {:?}", key));
  return number;
}

Result<CpuSet> cpus_in(const json::object& object, std::string_view key) {
  const auto cpus = CpuSet::parse(TRY(text_in(object, key)));
  if (!cpus) return corrupt(fmt::format("{}: {}", key, cpus.error().message));
  return *cpus;
}

Result<IsolationLevel> level_in(const json::object& object) {
  const std::string text = TRY(text_in(object, "level"));
  const auto level = parse_level(text);
  if (!level) return corrupt(fmt::format("there is no level {:?}", text));
  return *level;
}

Result<Target::Kind> kind_in(const json::object& object) {
  const std::string text = TRY(text_in(object, "kind"));
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(), [&](Target::Kind kind) {
    return corehold::name_of(kind) == text;
  });
  if (found == kKinds.end()) return corrupt(fmt::format("there is no kind {:?}", text));
  return *found;
}

Result<std::pair<Target, JournalEntry>> entry_of(const json::object& object) {
  Target target;
  JournalEntry entry;
  target.kind = TRY(kind_in(object));
  target.name = TRY(text_in(object, "name"));
  entry.level = TRY(level_in(object));
  entry.before = TRY(text_in(object, "before"));
  entry.written = TRY(text_in(object, "written"));
  entry.previous = TRY(text_in(object, "previous"));
  entry.compare = TRY(text_in(object, "compare")) == "text" ? Compare::kText : Compare::kCpuList;
  entry.repairs = TRY(number_in<int>(object, "repairs"));
  return std::pair(target, entry);
}

Result<std::pair<pid_t, TaskPin>> pin_of(const json::object& object) {
  TaskPin pin;
  const auto tid = TRY(number_in<pid_t>(object, "tid"));
  pin.start = TRY(number_in<std::uint64_t>(object, "start"));
  pin.name = TRY(text_in(object, "name"));
  pin.cpus = TRY(cpus_in(object, "cpus"));
  return std::pair(tid, pin);
}

Result<Leftover> leftover_of(const json::object& object) {
  Leftover leftover;
  leftover.level = TRY(level_in(object));
  leftover.what = TRY(text_in(object, "what"));
  leftover.reason = TRY(text_in(object, "reason"));
  leftover.advice = TRY(text_in(object, "advice"));
  return leftover;
}

// Reads every item of a list of objects.
template <typename Item>
Result<std::vector<Item>> items_in(const json::object& object, std::string_view key,
                                   Result<Item> (*read)(const json::object&)) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_array()) return corrupt(fmt::format("no list {:?}", key));
  std::vector<Item> items;
  for (const json::value& each : value->get_array()) {
    if (!each.is_object()) return corrupt(fmt::format("{} has something that is no object", key));
    items.push_back(TRY(read(each.get_object())));
  }
  return items;
}

Leftover insisting(const JournalEntry& entry, const Change& change) {
  const Target& target = change.target;
  return {.level = change.level,
          .what = fmt::format("{} {}", corehold::name_of(target.kind), target.name),
          .reason = fmt::format("somebody else has set it to {:?} {} times after Corehold had set "
                                "it to {:?}; it is left alone",
                                change.before, kMostRepairs + 1, entry.written),
          .advice = "find out who writes there (tuned, a script), and end that"};
}

}  // namespace

std::string journal_text(const IsolationJournal& journal) {
  json::array entries;
  for (const auto& [target, entry] : by_order(journal)) entries.push_back(json_of(*target, *entry));
  json::array pins;
  for (const auto& [tid, pin] : journal.pins) pins.push_back(json_of(tid, pin));
  json::array leftovers;
  for (const Leftover& leftover : journal.leftovers) leftovers.push_back(json_of(leftover));
  json::array displaced;
  for (const std::string& each : journal.displaced) displaced.emplace_back(each);
  const json::object object{{"version", kVersion},
                            {"boot", journal.boot},
                            {"level", corehold::name_of(journal.level)},
                            {"held", journal.held.str()},
                            {"since", journal.since},
                            {"entries", std::move(entries)},
                            {"pins", std::move(pins)},
                            {"leftovers", std::move(leftovers)},
                            {"displaced", std::move(displaced)}};
  return json::serialize(object) + "\n";
}

Result<IsolationJournal> parse_journal(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return corrupt("no JSON object");
  const json::object& object = value.get_object();
  if (TRY(number_in<std::int64_t>(object, "version")) != kVersion) {
    return corrupt("of another version");
  }
  IsolationJournal journal;
  journal.boot = TRY(text_in(object, "boot"));
  journal.level = TRY(level_in(object));
  journal.held = TRY(cpus_in(object, "held"));
  journal.since = TRY(number_in<std::uint64_t>(object, "since"));
  auto entries = TRY(items_in(object, "entries", entry_of));
  for (auto& [target, entry] : entries) {
    entry.order = ++journal.writes;
    journal.entries.insert_or_assign(std::move(target), std::move(entry));
  }
  auto pins = TRY(items_in(object, "pins", pin_of));
  for (auto& [tid, pin] : pins) {
    journal.pins.insert_or_assign(tid, std::move(pin));
  }
  journal.leftovers = TRY(items_in(object, "leftovers", leftover_of));
  const json::value* displaced = object.if_contains("displaced");
  if (displaced == nullptr || !displaced->is_array()) return corrupt("no list \"displaced\"");
  for (const json::value& each : displaced->get_array()) {
    if (!each.is_string()) return corrupt("displaced has something that is no text");
    journal.displaced.emplace_back(each.get_string());
  }
  return journal;
}

const JournalEntry* find_entry(const IsolationJournal& journal, const Target& target) {
  const auto found = journal.entries.find(target);
  return found == journal.entries.end() ? nullptr : &found->second;
}

bool is_ours(const JournalEntry& entry, const std::string& value) {
  return is_same_value(entry.compare, value, entry.written) ||
         is_same_value(entry.compare, value, entry.previous);
}

void note(IsolationJournal& journal, const Change& change) {
  if (change.restore == Restore::kNever) return;
  const auto [entry, is_new] = journal.entries.try_emplace(change.target);
  if (!is_new && change.target.kind != Target::Kind::kCpuset &&
      !is_ours(entry->second, change.before)) {
    entry->second.before = change.before;
  }
  entry->second.previous = change.before;
  entry->second.written = change.value;
  if (!is_new) return;
  entry->second.order = ++journal.writes;
  entry->second.level = change.level;
  entry->second.before = change.before;
  entry->second.compare = change.compare;
}

void confirm(IsolationJournal& journal, const Target& target) {
  const auto entry = journal.entries.find(target);
  if (entry != journal.entries.end()) entry->second.previous = entry->second.written;
}

IsolationPlan check_writers(IsolationJournal& journal, const Changes& changes) {
  IsolationPlan plan;
  for (const Change& change : changes) {
    const auto entry = journal.entries.find(change.target);
    const bool is_anothers = change.restore == Restore::kBefore && entry != journal.entries.end() &&
                             !is_ours(entry->second, change.before);
    if (is_anothers && entry->second.repairs >= kMostRepairs) {
      plan.leftovers.push_back(insisting(entry->second, change));
      continue;
    }
    if (is_anothers) ++entry->second.repairs;
    plan.changes.push_back(change);
  }
  return plan;
}

Changes plan_restore(const IsolationJournal& journal, IsolationLevel keep) {
  Changes changes;
  for (const auto& [target, entry] : by_order(journal)) {
    if (entry->level <= keep) continue;
    changes.push_back({.target = *target,
                       .level = entry->level,
                       .before = entry->written,
                       .value = entry->before,
                       .compare = entry->compare});
  }
  std::reverse(changes.begin(), changes.end());
  return changes;
}

}  // namespace corehold
