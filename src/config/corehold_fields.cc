// SPDX-License-Identifier: Apache-2.0
//
// The fields of CoreholdConfiguration.
#include <arpa/inet.h>

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "config/draft.h"
#include "config/field.h"
#include "config/list_fields.h"
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
  return parsed.ec == std::errc() && parsed.ptr == end && port >= 0 && port <= 65535;
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
         .default_text = "none"},
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
         .meaning = "where the API is served over TLS beside the Unix socket; port 0: one that is "
                    "free; `\"\"`: nowhere, as it is by default with `--simulate`"},
        [](auto& listen) -> auto& { return listen.address; },
        [](const Node& node, std::string& into, Reading& reading) {
          read_address(node, into, reading);
        }),
    plain_field<ListenConfig>(
        {.name = "socketGroup",
         .type = "group",
         .meaning = "a group of users that may use the Unix socket and is "
                    "then as good as root",
         .default_text = "none: root only"},
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
         .default_text = "`<root>/podinfo`"},
        [](auto& paths) -> auto& { return paths.podinfo; }, kReadPath),
    plain_field<PathsConfig>(
        {.name = "podResourcesSocket",
         .type = "path",
         .meaning = "where the kubelet's `podresources` API is served",
         .default_text = "`<root>/pod-resources/kubelet.sock`"},
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

constexpr std::array kIsolationFields{
    free_field<IsolationConfig>(
        {.name = "level",
         .type = "`containers`, `fence`, `irqs` or `full`",
         .meaning =
             "what is kept off CPUs that a container holds: other containers; every task of "
             "the machine; movable interrupts as well; kernel threads, timers and deep sleep "
             "as well (docs/isolation.md)",
         .default_text = "`fence` as root with cgroups to write, else `containers`"},
        [](const Node& node, IsolationConfig& into, Reading& reading) {
          const std::size_t before = reading.mistake_count();
          IsolationLevel level{};
          read_choice<kIsolationLevels.size()>(node, level, reading);
          if (reading.mistake_count() == before) into.level = level;
        }),
    plain_field<IsolationConfig>(
        {.name = "minSystemCPUs",
         .type = "number",
         .meaning = "from level `fence` on, how many CPUs are always left to the rest of the "
                    "machine: reserved and shared ones count"},
        [](auto& isolation) -> auto& { return isolation.min_system_cpus; },
        [](const Node& node, int& into, Reading& reading) {
          if (const auto number = number_of(node, 1, kMaxCpus, reading)) into = *number;
        }),
};

constexpr std::array kCoreholdFields{
    document_field<Config>({.name = "apiVersion",
                            .type = "string",
                            .meaning = "always `corehold.dev/v1alpha1`",
                            .default_text = "required"}),
    document_field<Config>({.name = "kind",
                            .type = "string",
                            .meaning = "always `CoreholdConfiguration`",
                            .default_text = "required"}),
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
    object_field<Config, kIsolationFields>(
        {.name = "isolation",
         .type = "object",
         .meaning = "what of the machine is kept off CPUs that containers hold"},
        [](auto& config) -> auto& { return config.isolation; }),
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
    list_field<Config>({.name = "devices",
                        .type = "list",
                        .meaning = "devices of the machine, for alignment with CPUs",
                        .default_text = "none"},
                       read_devices, describe_devices),
    list_field<Config>(
        {.name = "memory",
         .type = "list",
         .meaning = "memory by NUMA node, instead of the machine's own: for plans about machines "
                    "that one does not have",
         .default_text = "the machine's"},
        read_memory, describe_memory),
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
