// SPDX-License-Identifier: Apache-2.0
//
// Bookings: everything that is given away on a node, and the part of it that decisions about
// one pod change. That part, kept from before a decision, takes the decision back:
//
//     const PodBooking before = booking_of(bookings, uid);
//     admit(rules, bookings, pod);
//     restore(bookings, uid, before);  // as if it had not been
//
// Several decisions are taken back in reverse order, whatever pods they were about.
#pragma once

#include <optional>
#include <string>

#include "hints/devices.h"
#include "hints/memory.h"
#include "state/state.h"

namespace corehold {

struct Bookings {
  State cpus{};
  MemoryBook memory{};
  DeviceBook devices{};

  bool operator==(const Bookings&) const = default;
};

// What the bookings say of one pod, and what else an admission, a release or a resize of this pod
// changes.
struct PodBooking {
  std::optional<PodHoldings> cpus{};  // no value: it holds none
  CpuSet shared{};
  Reuse reuse{};
  MemoryBook::PodPart memory{};
  DeviceBook::PodPart devices{};

  bool operator==(const PodBooking&) const = default;
};

PodBooking booking_of(const Bookings& bookings, const std::string& pod_uid);

// The bookings as they were at booking_of(), if only admissions, releases and resizes of this pod
// came between, or those of other pods that came between have been taken back.
void restore(Bookings& bookings, const std::string& pod_uid, const PodBooking& booking);

// Whether the pod holds CPUs, memory or devices.
bool holds_anything(const Bookings& bookings, const std::string& pod_uid);

}  // namespace corehold
