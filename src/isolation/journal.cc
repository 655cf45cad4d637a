// SPDX-License-Identifier: Apache-2.0
#include "isolation/journal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/utf8.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::int64_t kVersion = 1;
constexpr std::array kKinds{Target::Kind::kFile, Target::Kind::kUnit,   Target::Kind::kIrqBalance,
                            Target::Kind::kTask, Target::Kind::kCpuset, Target::Kind::kMember};

// Leftover::Stays
constexpr std::string_view kForNow = "forNow";
constexpr std::string_view kByNature = "byNature";

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

// Names of the machine may be any bytes, texts in JSON may not.
json::string text_of(std::string_view text) { return json::string(valid_utf8(text)); }

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::optional<std::string> bytes_of(std::string_view hex) {
  std::string bytes;
  for (; hex.size() >= 2; hex.remove_prefix(2)) {
    unsigned char byte = 0;
    const auto parsed = std::from_chars(hex.data(), hex.data() + 2, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != hex.data() + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  if (!hex.empty()) return std::nullopt;
  return bytes;
}

json::object json_of(const Target& target, const JournalEntry& entry) {
  json::object object{
      {"kind", corehold::name_of(target.kind)},  {"name", text_of(target.name)},
      {"level", corehold::name_of(entry.level)}, {"before", text_of(entry.before)},
      {"written", text_of(entry.written)},       {"previous", text_of(entry.previous)},
      {"compare", name_of(entry.compare)},       {"repairs", entry.repairs}};
  // The path of a cgroup has to come back as it is.
  if (!is_utf8(target.name)) object["bytes"] = hex_of(target.name);
  if (entry.quiet != 0) object["quiet"] = entry.quiet;
  return object;
}

json::object json_of(pid_t tid, const TaskPin& pin) {
  return {
      {"tid", tid}, {"start", pin.start}, {"name", text_of(pin.name)}, {"cpus", pin.cpus.str()}};
}

json::object json_of(const Leftover& leftover) {
  return {{"level", corehold::name_of(leftover.level)},
          {"stays", leftover.stays == Leftover::Stays::kByNature ? kByNature : kForNow},
          {"what", text_of(leftover.what)},
          {"reason", text_of(leftover.reason)},
          {"advice", text_of(leftover.advice)}};
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

// The same for one that journals of earlier versions do not have.
template <typename Number>
Result<Number> number_or_none_in(const json::object& object, std::string_view key) {
  if (object.if_contains(key) == nullptr) return Number{};
  return number_in<Number>(object, key);
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
  if (object.if_contains("bytes") != nullptr) {
    const auto bytes = bytes_of(TRY(text_in(object, "bytes")));
    if (!bytes) return corrupt("bytes that are no bytes");
    target.name = *bytes;
  }
  entry.level = TRY(level_in(object));
  entry.before = TRY(text_in(object, "before"));
  entry.written = TRY(text_in(object, "written"));
  entry.previous = TRY(text_in(object, "previous"));
  entry.compare = TRY(text_in(object, "compare")) == "text" ? Compare::kText : Compare::kCpuList;
  entry.repairs = TRY(number_in<int>(object, "repairs"));
  entry.quiet = TRY(number_or_none_in<int>(object, "quiet"));
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
  // Journals of earlier versions do not say.
  const json::value* stays = object.if_contains("stays");
  if (stays != nullptr && stays->is_string() && stays->get_string() == kByNature) {
    leftover.stays = Leftover::Stays::kByNature;
  }
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

Result<std::vector<CpuSet>> rests_in(const json::object& object) {
  std::vector<CpuSet> rests;
  const json::value* value = object.if_contains("rests");
  if (value == nullptr) return rests;  // an earlier version
  if (!value->is_array()) return corrupt("no list \"rests\"");
  for (const json::value& each : value->get_array()) {
    const auto cpus = each.is_string() ? CpuSet::parse(std::string_view(each.get_string()))
                                       : Result<CpuSet>(corrupt("not CPUs"));
    if (!cpus) return corrupt("rests has something that is no list of CPUs");
    rests.push_back(*cpus);
  }
  return rests;
}

// Whether the change would overwrite a value that somebody else has put in the place of ours.
bool is_repair(const JournalEntry& entry, const Change& change) {
  if (change.before.empty() || is_ours(entry, change.before)) return false;
  if (change.target.kind != Target::Kind::kCpuset) return true;
  const auto now = CpuSet::parse(change.before);
  const auto written = CpuSet::parse(entry.written);
  return !now || !written || !now->is_subset_of(*written);
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
  for (const std::string& each : journal.displaced) displaced.emplace_back(text_of(each));
  json::array rests;
  for (const CpuSet& each : journal.rests) rests.emplace_back(each.str());
  const json::object object{{"version", kVersion},
                            {"boot", journal.boot},
                            {"level", corehold::name_of(journal.level)},
                            {"held", journal.held.str()},
                            {"since", journal.since},
                            {"rests", std::move(rests)},
                            {"looked", journal.pins.empty() ? 0 : journal.looked},
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
  journal.looked = TRY(number_or_none_in<std::uint64_t>(object, "looked"));
  journal.rests = TRY(rests_in(object));
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
  if (!is_new && is_repair(entry->second, change)) {
    ++entry->second.repairs;
    entry->second.quiet = 0;
  }
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

IsolationPlan check_writers(const IsolationJournal& journal, const Changes& changes) {
  IsolationPlan plan;
  for (const Change& change : changes) {
    const JournalEntry* entry = find_entry(journal, change.target);
    const bool is_insisting = change.restore == Restore::kBefore && entry != nullptr &&
                              entry->repairs >= kMostRepairs && is_repair(*entry, change);
    if (is_insisting) {
      plan.leftovers.push_back(insisting(*entry, change));
    } else {
      plan.changes.push_back(change);
    }
  }
  return plan;
}

void count_look(IsolationJournal& journal, IsolationLevel level, const Changes& changes) {
  std::set<Target> overwritten;
  for (const Change& change : changes) {
    const JournalEntry* entry = find_entry(journal, change.target);
    if (entry != nullptr && is_repair(*entry, change)) overwritten.insert(change.target);
  }
  for (auto& [target, entry] : journal.entries) {
    if (entry.level != level || entry.repairs == 0) continue;
    if (overwritten.contains(target)) {
      entry.quiet = 0;
    } else if (++entry.quiet >= kQuietLooks) {
      entry.repairs = 0;
      entry.quiet = 0;
    }
  }
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
