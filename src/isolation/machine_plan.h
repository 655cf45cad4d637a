// SPDX-License-Identifier: Apache-2.0
//
// What the levels `irqs` and `full` keep off held CPUs beside tasks, as pure functions from what
// the kernel shows to the changes that are missing. When nothing is held every value goes back to
// what it was; a lower level than asked for by a part plans nothing there (the journal gives back).
// Values that somebody else has written are theirs: they are only narrowed, never put back to what
// was there before them.
//
// The kernel takes a new affinity of an interrupt with the next interrupt: one more may come.
#pragma once

#include "isolation/change.h"
#include "isolation/journal.h"
#include "isolation/machine_view.h"
#include "isolation/wish.h"

namespace corehold {

// Level irqs: every interrupt, and the CPUs of interrupts that appear later, to the CPUs of nobody.
// Managed interrupts are named where they come to a held CPU.
IsolationPlan plan_interrupts(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal);

// Level irqs: irqbalance keeps off the held CPUs as well as off those that it was told before.
IsolationPlan plan_irqbalance(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal);

// Level full. Unbound work; not where partitions are in use on 6.8 and later: the kernel does it
// then, and a write would undo that.
IsolationPlan plan_workqueues(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal);

// Level full. Threads of the kernel whose affinity may be set. Each keeps what is left of its own
// CPUs, so that kswapd and kcompactd stay on their NUMA node. With partitions the kernel does it
// from 7.0 on.
IsolationPlan plan_kernel_threads(const MachineView& view, const IsolationWish& wish,
                                  const IsolationJournal& journal);

// Drops the notes of kernel threads that have ended.
void forget_ended_threads(IsolationJournal& journal, const MachineView& view);

// Level full: the soft-lockup detector.
IsolationPlan plan_watchdog(const MachineView& view, const IsolationWish& wish,
                            const IsolationJournal& journal);

// Level full: idle CPUs do not hand their timers to busy ones while any CPU is held. Not from 7.0
// on, where the kernel chooses the CPUs for that itself.
IsolationPlan plan_timer_migration(const MachineView& view, const IsolationWish& wish,
                                   const IsolationJournal& journal);

// Level full: held CPUs do not enter sleep states that take time to leave.
IsolationPlan plan_sleep_states(const MachineView& view, const IsolationWish& wish,
                                const IsolationJournal& journal);

// All of a level, in the order in which it is made: irqbalance first, which would bring interrupts
// back.
IsolationPlan plan_irqs_level(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal);
IsolationPlan plan_full_level(const MachineView& view, const IsolationWish& wish,
                              const IsolationJournal& journal);

}  // namespace corehold
