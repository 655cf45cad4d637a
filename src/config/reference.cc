// SPDX-License-Identifier: Apache-2.0
#include "config/reference.h"

#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "config/feature_gates.h"
#include "config/field.h"

namespace corehold {
namespace {

constexpr std::string_view kBeginning = R"(# Configuration

<!-- Made by `corehold config reference > docs/config.md`; a test fails when it is out of date. -->

A node reads one YAML file with one or both of two documents, in any order:

- `KubeletConfiguration`, a kubelet's own. Corehold honours the fields listed here; others are accepted, named
  by `corehold config check` and without effect, so that the file of a kubelet can be handed over as it is.
- `CoreholdConfiguration`, what a kubelet has no field for. Here a field that is not listed is a mistake.

`corehold config check FILE` says everything that is wrong with a file at once, each mistake with its line;
`--topology host` also compares it with the machine. No field has to be given. Mind that of a file without
`cpuManagerPolicy` the policy is `none`, as for a kubelet: no container gets CPUs of its own, and both `config check` and
the agent warn of it. An agent without a file (no `--config`) and `corehold plan` without one assume something more
useful: policy `static` with the core of the lowest CPU reserved, or on a machine of one core that CPU alone.

Users other than root may use a node when the file names a group of theirs; its members are then as good as root:

```yaml
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
---
apiVersion: corehold.dev/v1alpha1
kind: CoreholdConfiguration
listen:
  socketGroup: corehold
```

Everything at once looks like this:

```yaml
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
  scale-delay-time: "5s"
reservedSystemCPUs: "0-1"
topologyManagerPolicy: single-numa-node
featureGates:
  CPUManagerPolicyAlphaOptions: true
  InPlacePodVerticalScalingExclusiveCPUs: true
---
apiVersion: corehold.dev/v1alpha1
kind: CoreholdConfiguration
minSharedCPUs: 2
devices:
  - resource: example.com/nic
    devices:
      - {id: nic-0, numaNodes: [0]}
      - {id: nic-1, numaNodes: [1]}
```

More are in [examples](examples/). Types: a *duration* is written as Go does (`10s`, `1m30s`), and zero stands
for the default; an *amount* is a Kubernetes quantity of bytes (`64Gi`); a *CPU list* is the kernel's
(`0-3,8`). As for a kubelet, a string that looks like a number or a boolean needs quotes: `"true"`.
)";

// In a cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// A default as code, unless it is said in words.
std::string default_of(const FieldLine& line) {
  if (line.default_text.empty()) return "-";
  const bool is_prose = line.default_text.front() == '`';
  const bool is_words = line.default_text.starts_with("none") || line.default_text == "required" ||
                        line.default_text.starts_with("the ");
  const bool is_choice = line.type.starts_with('`');
  return is_prose || (is_words && !is_choice) ? line.default_text
                                              : fmt::format("`{}`", line.default_text);
}

void add_fields(std::string& page, std::string_view title, const std::vector<FieldLine>& lines) {
  page +=
      fmt::format("\n## {}\n\n| field | type | default | meaning |\n|---|---|---|---|\n", title);
  for (const FieldLine& line : lines) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", line.path, cell(line.type),
                        cell(default_of(line)), cell(line.meaning));
  }
}

void add_options(std::string& page, std::string_view title, std::string_view gate_prefix,
                 std::span<const OptionInfo> options) {
  page += fmt::format(
      "\n## {}\n\n| option | stage | feature gate | value | default | meaning |\n"
      "|---|---|---|---|---|---|\n",
      title);
  for (const OptionInfo& option : options) {
    const std::string gate = option.stage == OptionStage::kStable
                                 ? "none"
                                 : fmt::format("`{}`", gate_of_stage(gate_prefix, option.stage));
    page += fmt::format("| `{}` | {} | {} | {} | `{}` | {} |\n", option.name, name_of(option.stage),
                        gate, cell(option.values), option.default_value, cell(option.meaning));
  }
}

void add_gates(std::string& page) {
  page +=
      "\n## featureGates\n\n"
      "Other gates of Kubernetes are accepted, named by `corehold config check` and without "
      "effect. Of the [features](features.md#what-a-corehold-node-declares) that nodes can "
      "declare, "
      "this one has only those whose gates are here.\n\n"
      "| gate | stage | default | needs | meaning |\n|---|---|---|---|---|\n";
  for (const GateInfo& gate : gate_table()) {
    std::string needs;
    for (const Gate need : gate.needs) {
      needs += fmt::format("{}`{}`", needs.empty() ? "" : ", ", info(need).name);
    }
    page += fmt::format("| `{}` | {} | `{}` | {} | {} |\n", gate.name, name_of(gate.stage),
                        gate.is_on_by_default, needs.empty() ? "none" : needs, cell(gate.meaning));
  }
}

}  // namespace

std::string reference_page() {
  std::string page(kBeginning);
  add_fields(page, "KubeletConfiguration", kubelet_field_lines());
  add_options(page, "cpuManagerPolicyOptions", kCpuOptionGates, static_option_table());
  page +=
      "\n`full-pcpus-only` and `distribute-cpus-across-cores` exclude each other, and so do\n"
      "`distribute-cpus-across-numa` and `distribute-cpus-across-cores`. `align-by-socket` does "
      "not go with\n"
      "topology manager policy `single-numa-node`, nor with machines that have more sockets than "
      "NUMA nodes.\n"
      "`scale-delay-time` above zero needs `InPlacePodVerticalScalingExclusiveCPUs`. What each "
      "option does is\n"
      "in [policies](policies.md).\n";
  add_options(page, "topologyManagerPolicyOptions", kTopologyOptionGates, topology_option_table());
  page += fmt::format(
      "\nCorehold supports {} NUMA nodes; a higher `max-allowable-numa-nodes` is a mistake.\n",
      kMaxNodes);
  add_gates(page);
  add_fields(page, "CoreholdConfiguration", corehold_field_lines());
  return page;
}

}  // namespace corehold
