// SPDX-License-Identifier: Apache-2.0
#include "policy/bookings.h"

namespace corehold {

PodBooking booking_of(const Bookings& bookings, const std::string& pod_uid) {
  PodBooking booking{.shared = bookings.cpus.shared,
                     .reuse = bookings.cpus.reuse,
                     .memory = bookings.memory.part_of(pod_uid),
                     .devices = bookings.devices.part_of(pod_uid)};
  const auto pod = bookings.cpus.pods.find(pod_uid);
  if (pod != bookings.cpus.pods.end()) booking.cpus = pod->second;
  return booking;
}

void restore(Bookings& bookings, const std::string& pod_uid, const PodBooking& booking) {
  State& cpus = bookings.cpus;
  cpus.shared = booking.shared;
  cpus.reuse = booking.reuse;
  if (booking.cpus) {
    cpus.pods.set(pod_uid, *booking.cpus);
  } else {
    cpus.pods.erase(pod_uid);
  }
  bookings.memory.put_back(pod_uid, booking.memory);
  bookings.devices.put_back(pod_uid, booking.devices);
}

bool holds_anything(const Bookings& bookings, const std::string& pod_uid) {
  return bookings.cpus.pods.contains(pod_uid) || bookings.memory.pods().contains(pod_uid) ||
         bookings.devices.pods().contains(pod_uid);
}

}  // namespace corehold
