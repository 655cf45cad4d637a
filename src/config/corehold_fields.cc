// SPDX-License-Identifier: Apache-2.0
//
// The fields of CoreholdConfiguration.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "config/draft.h"
#include "config/field.h"
#include "config/words.h"

namespace corehold {
namespace {

bool is_ip_address(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// "127.0.0.1:10270", "[::1]:10270"; "" is none.
bool is_listen_address(const std::string& text) {
  if (text.empty()) return true;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  std::string host = text.substr(0, colon);
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (has_brackets != (host.find(':') != std::string::npos) || !is_ip_address(host)) return false;
  int port = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  return parsed.ec == std::errc() && parsed.ptr == end && port >= 1 && port <= 65535;
}

void read_address(const Node& node, std::string& into, Reading& reading) {
  auto text = text_of(node, reading);
  if (!text) return;
  if (!is_listen_address(*text)) {
    return reading.mistake(node,
                           fmt::format("{:?} is not an IP address and port; write it as in "
                                       "\"127.0.0.1:10270\" or \"[::1]:10270\", or \"\" for none",
                                       clipped(*text)));
  }
  into = *std::move(text);
}

// unix:///run/x.sock, or the path alone.
void read_endpoint(const Node& node, std::string& into, Reading& reading) {
  std::string text;
  const std::size_t before = reading.mistake_count();
  read_value(node, text, reading);
  if (reading.mistake_count() > before) return;
  constexpr std::string_view kScheme = "unix://";
  const std::string_view path =
      text.starts_with(kScheme) ? std::string_view(text).substr(kScheme.size()) : text;
  if (path.starts_with('/')) {
    into = text;
  } else {
    reading.mistake(node, fmt::format("{:?} is not a socket; write it as in "
                                      "unix:///run/containerd/containerd.sock",
                                      clipped(text)));
  }
}

constexpr auto kReadPath = [](const Node& node, std::string& into, Reading& reading) {
  read_path(node, into, reading);
};

constexpr std::array kRuntimeFields{
    plain_field<RuntimeConfig>(
        {.name = "kind",
         .type = "`process`, `cri` or `nri`",
         .meaning = "containers as processes in cgroups of Corehold's own; through containerd or "
                    "CRI-O without a kubelet; or as their plugin under a kubelet"},
        [](auto& runtime) -> auto& { return runtime.kind; },
        [](const Node& node, RuntimeKind& into, Reading& reading) {
          read_choice<3>(node, into, reading);
        }),
    plain_field<RuntimeConfig>(
        {.name = "endpoint",
         .type = "socket",
         .meaning = "where the runtime serves CRI; needed for `cri` and "
                    "`nri`, as in `unix:///run/containerd/containerd.sock`",
         .standard = "none"},
        [](auto& runtime) -> auto& { return runtime.endpoint; },
        [](const Node& node, std::string& into, Reading& reading) {
          read_endpoint(node, into, reading);
        }),
    plain_field<RuntimeConfig>(
        {.name = "nriSocket", .type = "path", .meaning = "where the runtime serves NRI; for `nri`"},
        [](auto& runtime) -> auto& { return runtime.nri_socket; }, kReadPath),
};

constexpr std::array kListenFields{
    plain_field<ListenConfig>(
        {.name = "address",
         .type = "address and port",
         .meaning = "where the API is served over TLS beside the Unix socket; "
                    "`\"\"`: nowhere"},
        [](auto& listen) -> auto& { return listen.address; },
        [](const Node& node, std::string& into, Reading& reading) {
          read_address(node, into, reading);
        }),
    plain_field<ListenConfig>(
        {.name = "socketGroup",
         .type = "group",
         .meaning = "a group of users that may use the Unix socket and is "
                    "then as good as root",
         .standard = "none: root only"},
        [](auto& listen) -> auto& { return listen.socket_group; }),
};

constexpr std::array kPathsFields{
    plain_field<PathsConfig>(
        {.name = "root",
         .type = "path",
         .meaning = "where the checkpoint, the store and the sockets are; "
                    "`--root` wins over it"},
        [](auto& paths) -> auto& { return paths.root; }, kReadPath),
    plain_field<PathsConfig>(
        {.name = "podinfo",
         .type = "path",
         .meaning = "where `assigned.cpuset` and `assigned.memset` of "
                    "containers are kept",
         .standard = "`<root>/podinfo`"},
        [](auto& paths) -> auto& { return paths.podinfo; }, kReadPath),
    plain_field<PathsConfig>(
        {.name = "podResourcesSocket",
         .type = "path",
         .meaning = "where the kubelet's `podresources` API is served",
         .standard = "`<root>/pod-resources/kubelet.sock`"},
        [](auto& paths) -> auto& { return paths.pod_resources_socket; }, kReadPath),
};

constexpr std::array kPodinfoFields{
    plain_field<PodinfoConfig>(
        {.name = "annotations",
         .type = "boolean",
         .meaning = "pods may ask for the files by the annotation "
                    "`corehold.dev/podinfo`, where the API server does not "
                    "know `assigned.cpuset`"},
        [](auto& podinfo) -> auto& { return podinfo.annotations; }),
};

constexpr auto kReadNode = [](const Node& node, int& into, Reading& reading) {
  if (const auto number = number_of(node, 0, kMaxNodes - 1, reading)) into = *number;
};

void read_nodes(const Node& node, NodeSet& into, Reading& reading) {
  if (!expect_list(node, reading)) return;
  for (const Node& item : node.items()) {
    int number = -1;
    kReadNode(item, number, reading);
    if (number >= 0) into.insert(NodeId(number));
  }
}

constexpr std::array kDeviceFields{
    plain_field<Device>(
        {.name = "id", .type = "string", .meaning = "its name", .standard = "required"},
        [](auto& device) -> auto& { return device.id; }),
    free_field<Device>({.name = "numaNodes",
                        .type = "list of numbers",
                        .meaning = "the NUMA nodes it is near",
                        .standard = "none: any will do"},
                       [](const Node& node, Device& into, Reading& reading) {
                         read_nodes(node, into.nodes, reading);
                       }),
};

struct DeviceGroup {
  std::string resource{};
  std::vector<Device> devices{};
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

void read_devices(const Node& node, DeviceGroup& into, Reading& reading) {
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
      into.devices.push_back(std::move(device));
    }
  }
}

constexpr std::array kDeviceGroupFields{
    plain_field<DeviceGroup>(
        {.name = "resource",
         .type = "string",
         .meaning = "what containers ask for, as in `example.com/nic`",
         .standard = "required"},
        [](auto& group) -> auto& { return group.resource; },
        [](const Node& node, std::string& into, Reading& reading) {
          read_resource(node, into, reading);
        }),
    list_field<DeviceGroup, Device, kDeviceFields>({.name = "devices",
                                                    .type = "list",
                                                    .meaning = "the devices that there are of it",
                                                    .standard = "none"},
                                                   read_devices),
};

void read_device_groups(const Node& node, Config& config, Reading& reading) {
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
    if (is_new) continue;
    reading.mistake(item, fmt::format("devices of {} are listed already; put them in one list",
                                      group.resource));
  }
}

// One item of `memory`: a NUMA node and its amounts side by side.
struct MachineMemory {
  int node = -1;
  NodeMemory amounts{};
};

// Stands for huge pages of any size.
constexpr std::string_view kHugePages = "hugepages-<size>";

void read_amount(const std::string& name, const Node& node, MachineMemory& into, Reading& reading) {
  if (const auto bytes = bytes_of(node, reading)) into.amounts[name] = *bytes;
}

constexpr std::array kMachineMemoryFields{
    plain_field<MachineMemory>(
        {.name = "numaNode", .type = "number", .meaning = "the NUMA node", .standard = "required"},
        [](auto& memory) -> auto& { return memory.node; }, kReadNode),
    free_field<MachineMemory>({.name = "memory",
                               .type = "amount",
                               .meaning = "its memory, without what huge pages take",
                               .standard = "none"},
                              [](const Node& node, MachineMemory& into, Reading& reading) {
                                read_amount("memory", node, into, reading);
                              }),
    free_field<MachineMemory>({.name = kHugePages,
                               .type = "amount",
                               .meaning = "its huge pages of that size, as in `hugepages-1Gi: 4Gi`",
                               .standard = "none"},
                              [](const Node& node, MachineMemory& into, Reading& reading) {
                                const std::size_t dot = node.path().rfind("hugepages-");
                                read_amount(node.path().substr(dot), node, into, reading);
                              }),
};

void read_memory_item(const Node& item, MachineMemory& into, Reading& reading) {
  if (!expect_object(item, reading)) return;
  for (const auto& [name, member] : item.members()) {
    if (member.is_absent()) continue;
    const bool is_huge = name.starts_with("hugepages-");
    const std::string_view row = is_huge ? kHugePages : std::string_view(name);
    const auto* field = std::find_if(kMachineMemoryFields.begin(), kMachineMemoryFields.end(),
                                     [row](const auto& each) { return each.name == row; });
    if (field == kMachineMemoryFields.end() || (is_huge && !is_memory_resource(name))) {
      constexpr std::array<std::string_view, 4> kKnown{"numaNode", "memory", "hugepages-2Mi",
                                                       "hugepages-1Gi"};
      report_unknown(member, name, kKnown, UnknownField::kMistake, reading);
      continue;
    }
    reading.given(member);
    field->read(member, into, reading);
  }
}

void read_memory(const Node& node, Config& config, Reading& reading) {
  if (!expect_list(node, reading)) return;
  config.memory.emplace();
  for (const Node& item : node.items()) {
    MachineMemory memory;
    const std::size_t before = reading.mistake_count();
    read_memory_item(item, memory, reading);
    if (reading.mistake_count() > before) continue;
    if (memory.node < 0) {
      reading.mistake(item, "numaNode is missing");
    } else if (!config.memory->emplace(NodeId(memory.node), std::move(memory.amounts)).second) {
      reading.mistake(item, fmt::format("NUMA node {} is listed already", memory.node));
    }
  }
}

constexpr std::array kCoreholdFields{
    document_field<Config>({.name = "apiVersion",
                            .type = "string",
                            .meaning = "always `corehold.dev/v1alpha1`",
                            .standard = "required"}),
    document_field<Config>({.name = "kind",
                            .type = "string",
                            .meaning = "always `CoreholdConfiguration`",
                            .standard = "required"}),
    object_field<Config, kRuntimeFields>(
        {.name = "runtime", .type = "object", .meaning = "how containers are run"},
        [](auto& config) -> auto& { return config.runtime; }),
    object_field<Config, kListenFields>(
        {.name = "listen", .type = "object", .meaning = "where the agent serves its API"},
        [](auto& config) -> auto& { return config.listen; }),
    object_field<Config, kPathsFields>(
        {.name = "paths", .type = "object", .meaning = "where things are kept"},
        [](auto& config) -> auto& { return config.paths; }),
    object_field<Config, kPodinfoFields>(
        {.name = "podinfo", .type = "object", .meaning = "how containers learn their CPUs"},
        [](auto& config) -> auto& { return config.podinfo; }),
    plain_field<Config>(
        {.name = "minSharedCPUs",
         .type = "number",
         .meaning = "with `strict-cpu-reservation`, how many CPUs the shared pool "
                    "keeps at least"},
        [](auto& config) -> auto& { return config.static_options.min_shared_cpus; },
        [](const Node& node, int& into, Reading& reading) {
          if (const auto number = number_of(node, 1, kMaxCpus, reading)) {
            into = *number;
          }
        }),
    plain_field<Config>(
        {.name = "checkpointFormat",
         .type = "`corehold` or `kubelet`",
         .meaning = "how `cpu_manager_state` is written: with the promises of "
                    "KEP-5554, or as kubelet 1.37 does"},
        [](auto& config) -> auto& { return config.checkpoint_format; },
        [](const Node& node, CheckpointStyle& into, Reading& reading) {
          read_choice<2>(node, into, reading);
        }),
    plain_field<Config>(
        {.name = "memoryPinning",
         .type = "boolean",
         .meaning = "containers also get the NUMA nodes their memory comes from "
                    "(`cpuset.mems`)"},
        [](auto& config) -> auto& { return config.memory_pinning; }),
    list_field<Config, DeviceGroup, kDeviceGroupFields>(
        {.name = "devices",
         .type = "list",
         .meaning = "devices of the machine, for alignment with CPUs",
         .standard = "none"},
        read_device_groups),
    list_field<Config, MachineMemory, kMachineMemoryFields>(
        {.name = "memory",
         .type = "list",
         .meaning = "memory by NUMA node, instead of the machine's own: for plans about machines "
                    "that one does not have",
         .standard = "the machine's"},
        read_memory),
};

}  // namespace

void read_corehold_fields(const Node& document, Draft& draft, Reading& reading) {
  read_fields<Config>(document, kCoreholdFields, UnknownField::kMistake, draft.config, reading);
}

std::vector<FieldLine> corehold_field_lines() {
  std::vector<FieldLine> lines;
  describe_fields<Config>(kCoreholdFields, "", lines);
  return lines;
}

}  // namespace corehold
