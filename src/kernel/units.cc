// SPDX-License-Identifier: Apache-2.0
#include "kernel/units.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sys/file/file.h"

namespace corehold {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr const char* kDestination = "org.freedesktop.systemd1";
constexpr int kBitsOfByte = 8;

// An error of the bus, freed at its end.
struct BusError {
  sd_bus_error error{};

  BusError() = default;
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  ~BusError() { ::sd_bus_error_free(&error); }

  bool is_unknown() const {
    return ::sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT) > 0 ||
           ::sd_bus_error_has_name(&error, "org.freedesktop.systemd1.NoSuchUnit") > 0;
  }
  std::string text(int number) const {
    return error.message == nullptr ? errno_name(-number) : error.message;
  }
};

using MessagePtr = std::unique_ptr<sd_bus_message, sd_bus_message* (*)(sd_bus_message*)>;

MessagePtr owned(sd_bus_message* message) { return {message, ::sd_bus_message_unref}; }

// The interface that has the properties of a unit: "org.freedesktop.systemd1.Slice".
std::string interface_of(std::string_view unit) {
  const std::size_t dot = unit.rfind('.');
  std::string type(dot == std::string_view::npos ? "service" : unit.substr(dot + 1));
  if (!type.empty()) type[0] = static_cast<char>(type[0] - 'a' + 'A');
  return fmt::format("{}.{}", kDestination, type);
}

// A mask with the lowest CPUs in the first byte.
std::vector<std::uint8_t> mask_of(const CpuSet& cpus) {
  std::vector<std::uint8_t> bytes;
  for (const CpuId cpu : cpus) {
    const auto index = static_cast<std::size_t>(cpu.value / kBitsOfByte);
    if (index >= bytes.size()) bytes.resize(index + 1);
    bytes[index] = static_cast<std::uint8_t>(bytes[index] | (1U << (cpu.value % kBitsOfByte)));
  }
  return bytes;
}

CpuSet cpus_of(const std::uint8_t* bytes, std::size_t size) {
  CpuSet cpus;
  for (std::size_t bit = 0; bit < size * kBitsOfByte && CpuSet::can_hold(static_cast<int>(bit));
       ++bit) {
    if ((bytes[bit / kBitsOfByte] >> (bit % kBitsOfByte) & 1U) == 0) continue;
    cpus.insert(CpuId{static_cast<int>(bit)});
  }
  return cpus;
}

}  // namespace

bool is_systemd_there() { return ::sd_booted() > 0; }

void SystemdUnits::Close::operator()(sd_bus* bus) const { ::sd_bus_close_unref(bus); }

void SystemdUnits::begin() {
  bus_.reset();
  failure_.reset();
}

Error SystemdUnits::failed(std::string_view attempted, int number) {
  Error error{Code::kIo, fmt::format("{}: {}", attempted, errno_name(-number)), -number};
  if (number == -ETIMEDOUT) {
    error.message = fmt::format("{}: no answer within {} ms", attempted, options_.patience.count());
  }
  bus_.reset();
  failure_ = error;
  return error;
}

// The library waits for the other side to say who it is, for ever if need be: so it is not asked to
// wait.
Result<void> SystemdUnits::open(const std::string& socket, bool is_bus) {
  const std::string attempted = fmt::format("talk to systemd over {}", socket);
  sd_bus* made = nullptr;
  int done = ::sd_bus_new(&made);
  if (done < 0) return failed(attempted, done);
  bus_.reset(made);
  done = ::sd_bus_set_address(made, fmt::format("unix:path={}", socket).c_str());
  if (done >= 0 && is_bus) done = ::sd_bus_set_bus_client(made, 1);
  if (done >= 0) done = ::sd_bus_start(made);
  const auto deadline = steady_clock::now() + options_.patience;
  while (done >= 0) {
    done = ::sd_bus_is_ready(made);
    if (done > 0) return {};
    if (done >= 0) done = ::sd_bus_process(made, nullptr);
    if (done != 0) continue;
    const auto left = std::chrono::ceil<microseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return failed(attempted, -ETIMEDOUT);
    done = ::sd_bus_wait(made, static_cast<std::uint64_t>(left.count()));
    if (done == -EINTR) done = 0;
  }
  return failed(attempted, done);
}

Result<void> SystemdUnits::connect() {
  if (bus_ != nullptr) return {};
  if (failure_) return *failure_;
  const auto direct = open(options_.own_socket, false);
  if (direct) return {};
  failure_.reset();
  const auto over_bus = open(options_.bus_socket, true);
  if (over_bus) return {};
  failure_ =
      Error{Code::kIo, fmt::format("{}; {}", direct.error().message, over_bus.error().message),
            over_bus.error().number};
  return *failure_;
}

Result<CpuSet> SystemdUnits::allowed_cpus(const std::string& unit) {
  TRY(connect());
  char* encoded = nullptr;
  if (::sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit.c_str(), &encoded) < 0) {
    return Error{Code::kInvalid, fmt::format("{:?} is no name of a unit", unit)};
  }
  const std::unique_ptr<char, void (*)(void*)> path(encoded, std::free);
  sd_bus_message* call = nullptr;
  int done = ::sd_bus_message_new_method_call(bus_.get(), &call, kDestination, path.get(),
                                              "org.freedesktop.DBus.Properties", "Get");
  const MessagePtr call_owner = owned(call);
  if (done >= 0) {
    done = ::sd_bus_message_append(call, "ss", interface_of(unit).c_str(), "AllowedCPUs");
  }
  BusError error;
  sd_bus_message* answer = nullptr;
  if (done >= 0) {
    done = ::sd_bus_call(bus_.get(), call,
                         static_cast<std::uint64_t>(microseconds(options_.patience).count()),
                         &error.error, &answer);
  }
  const MessagePtr answer_owner = owned(answer);
  const std::string attempted = fmt::format("read AllowedCPUs of {}", unit);
  if (done == -ETIMEDOUT) return failed(attempted, done);
  if (done < 0) {
    return Error{error.is_unknown() ? Code::kNotFound : Code::kIo,
                 fmt::format("{}: {}", attempted, error.text(done)), -done};
  }
  done = ::sd_bus_message_enter_container(answer, 'v', "ay");
  const void* bytes = nullptr;
  std::size_t size = 0;
  if (done >= 0) done = ::sd_bus_message_read_array(answer, 'y', &bytes, &size);
  if (done < 0) return errno_error(attempted, -done);
  return cpus_of(static_cast<const std::uint8_t*>(bytes), size);
}

Result<void> SystemdUnits::set_allowed_cpus(const std::string& unit, const CpuSet& cpus) {
  TRY(connect());
  const std::vector<std::uint8_t> mask = mask_of(cpus);
  sd_bus_message* call = nullptr;
  int done =
      ::sd_bus_message_new_method_call(bus_.get(), &call, kDestination, "/org/freedesktop/systemd1",
                                       "org.freedesktop.systemd1.Manager", "SetUnitProperties");
  const MessagePtr call_owner = owned(call);
  const int until_boot = 1;
  if (done >= 0) done = ::sd_bus_message_append(call, "sb", unit.c_str(), until_boot);
  if (done >= 0) done = ::sd_bus_message_open_container(call, 'a', "(sv)");
  if (done >= 0) done = ::sd_bus_message_open_container(call, 'r', "sv");
  if (done >= 0) done = ::sd_bus_message_append(call, "s", "AllowedCPUs");
  if (done >= 0) done = ::sd_bus_message_open_container(call, 'v', "ay");
  if (done >= 0) done = ::sd_bus_message_append_array(call, 'y', mask.data(), mask.size());
  for (int level = 0; level < 3; ++level) {
    if (done >= 0) done = ::sd_bus_message_close_container(call);
  }
  BusError error;
  if (done >= 0) {
    done = ::sd_bus_call(bus_.get(), call,
                         static_cast<std::uint64_t>(microseconds(options_.patience).count()),
                         &error.error, nullptr);
  }
  const std::string attempted = fmt::format("set AllowedCPUs of {} to {:?}", unit, cpus.str());
  if (done == -ETIMEDOUT) return failed(attempted, done);
  if (done < 0) {
    return Error{Code::kIo, fmt::format("{}: {}", attempted, error.text(done)), -done};
  }
  return {};
}

}  // namespace corehold
