// SPDX-License-Identifier: Apache-2.0
//
// The devices of CoreholdConfiguration.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "config/list_fields.h"
#include "config/words.h"

namespace corehold {
namespace {

void read_nodes(const Node& node, NodeSet& into, Reading& reading) {
  if (!expect_list(node, reading)) return;
  for (const Node& item : node.items()) {
    int number = -1;
    read_numa_node(item, number, reading);
    if (number >= 0) into.insert(NodeId(number));
  }
}

constexpr std::array kDeviceFields{
    plain_field<Device>(
        {.name = "id", .type = "string", .meaning = "its name", .default_text = "required"},
        [](auto& device) -> auto& { return device.id; }),
    free_field<Device>({.name = "numaNodes",
                        .type = "list of numbers",
                        .meaning = "the NUMA nodes it is near",
                        .default_text = "none: any will do"},
                       [](const Node& node, Device& into, Reading& reading) {
                         read_nodes(node, into.nodes, reading);
                       }),
};

struct DeviceGroup {
  std::string resource{};
  std::vector<Device> devices{};
  std::map<std::string, std::string> places{};  // in the file, by id
};

// "example.com/nic": a domain, a slash and a name, as Kubernetes writes extended resources.
bool is_extended_resource(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const auto is_part = [](std::string_view part, std::size_t longest) {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !part.empty() && part.size() <= longest && is_letter(part.front()) &&
           is_letter(part.back()) && std::all_of(part.begin(), part.end(), [&](char c) {
             return is_letter(c) || c == '-' || c == '.' || c == '_';
           });
  };
  return is_part(name.substr(0, slash), 253) && is_part(name.substr(slash + 1), 63);
}

void read_resource(const Node& node, std::string& into, Reading& reading) {
  auto text = text_of(node, reading);
  if (!text) return;
  if (!is_extended_resource(*text)) {
    return reading.mistake(node,
                           fmt::format("{:?} is not the name of an extended resource; write a "
                                       "domain and a name, as in example.com/nic",
                                       clipped(*text)));
  }
  into = *std::move(text);
}

void read_group(const Node& node, DeviceGroup& into, Reading& reading) {
  if (!expect_list(node, reading)) return;
  std::set<std::string> ids;
  for (const Node& item : node.items()) {
    Device device;
    const std::size_t before = reading.mistake_count();
    read_fields<Device>(item, kDeviceFields, UnknownField::kMistake, device, reading);
    if (reading.mistake_count() > before) continue;
    if (device.id.empty()) {
      reading.mistake(item, "id is missing");
    } else if (!ids.insert(device.id).second) {
      reading.mistake(item, fmt::format("device {:?} is there already; each needs an id of its own",
                                        clipped(device.id)));
    } else {
      into.places[device.id] = item.path();
      into.devices.push_back(std::move(device));
    }
  }
}

constexpr std::array kDeviceGroupFields{
    plain_field<DeviceGroup>(
        {.name = "resource",
         .type = "string",
         .meaning = "what containers ask for, as in `example.com/nic`",
         .default_text = "required"},
        [](auto& group) -> auto& { return group.resource; },
        [](const Node& node, std::string& into, Reading& reading) {
          read_resource(node, into, reading);
        }),
    list_field<DeviceGroup, Device, kDeviceFields>({.name = "devices",
                                                    .type = "list",
                                                    .meaning = "the devices that there are of it",
                                                    .default_text = "none"},
                                                   read_group),
};

}  // namespace

void read_devices(const Node& node, Config& config, Reading& reading) {
  if (!expect_list(node, reading)) return;
  for (const Node& item : node.items()) {
    DeviceGroup group;
    const std::size_t before = reading.mistake_count();
    read_fields<DeviceGroup>(item, kDeviceGroupFields, UnknownField::kMistake, group, reading);
    if (group.resource.empty()) {
      if (reading.mistake_count() == before) reading.mistake(item, "resource is missing");
      continue;
    }
    const bool is_new = config.devices.emplace(group.resource, std::move(group.devices)).second;
    if (is_new) {
      config.places.devices[group.resource] = std::move(group.places);
      continue;
    }
    reading.mistake(item, fmt::format("devices of {} are listed already; put them in one list",
                                      group.resource));
  }
}

void describe_devices(const std::string& path, std::vector<FieldLine>& lines) {
  describe_fields<DeviceGroup>(kDeviceGroupFields, path + "[].", lines);
}

}  // namespace corehold
