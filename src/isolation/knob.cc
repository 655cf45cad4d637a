// SPDX-License-Identifier: Apache-2.0
#include "isolation/knob.h"

#include <cerrno>

namespace corehold {
namespace {

// The agent's service sees most of the kernel's settings read-only.
constexpr const char* kReadOnlyAdvice =
    "let the agent's service write there: /usr/share/corehold/isolation-full.conf says how";

// What the kernel says of the file of an interrupt that it moves for nobody.
bool is_final(const Knob& knob, const RefusedChange& refusal) {
  return knob.target.kind == Target::Kind::kFile &&
         (refusal.number == EIO || refusal.number == EPERM);
}

bool stands(const RefusedChange& refusal, const std::string& value) {
  return refusal.number == EIO || refusal.number == EPERM || refusal.value == value;
}

}  // namespace

std::string original_value(const IsolationJournal& journal, const Knob& knob) {
  const JournalEntry* entry = find_entry(journal, knob.target);
  return entry != nullptr && is_ours(*entry, knob.now) ? entry->before : knob.now;
}

CpuSet allowed_of(const CpuSet& own, const IsolationWish& wish) {
  const CpuSet allowed = own - wish.held;
  return allowed.intersects(wish.online) ? allowed : wish.rest();
}

void plan_value(const Knob& knob, const std::string& value, const Refusals& refused,
                IsolationPlan& plan) {
  if (is_same_value(knob.compare, knob.now, value)) return;
  const auto refusal = refused.find(knob.target);
  if (refusal != refused.end() && stands(refusal->second, value)) {
    if (knob.what.empty()) return;
    const bool is_read_only = refusal->second.number == EROFS;
    plan.leftovers.push_back({.level = knob.level,
                              .stays = is_final(knob, refusal->second) ? Leftover::Stays::kByNature
                                                                       : Leftover::Stays::kForNow,
                              .what = knob.what,
                              .reason = "the kernel refuses another value: " + refusal->second.name,
                              .advice = is_read_only ? kReadOnlyAdvice : knob.advice});
    return;
  }
  plan.changes.push_back({.target = knob.target,
                          .level = knob.level,
                          .before = knob.now,
                          .value = value,
                          .compare = knob.compare});
}

void append(IsolationPlan& plan, const IsolationPlan& more) {
  plan.changes.insert(plan.changes.end(), more.changes.begin(), more.changes.end());
  plan.leftovers.insert(plan.leftovers.end(), more.leftovers.begin(), more.leftovers.end());
}

}  // namespace corehold
