// SPDX-License-Identifier: Apache-2.0
//
// Family hints: the CPU hints of the static policy, for a container, a pod, or a bare
// request. The whole list is compared, order included.
#include <fmt/format.h>

#include "alloc/reference.h"
#include "family.h"
#include "fields.h"
#include "hints/cpu_hints.h"
#include "hints/family.h"
#include "pod/pod_json.h"
#include "policy/request.h"
#include "policy/static_policy.h"

namespace corehold::vectors {
namespace {

namespace json = boost::json;

// The CPUs a kubelet reserves. On irregular machines ours are others, but hints can be
// compared all the same if both leave out the same ones.
CpuSet kubelet_reserved(const Topology& topology, const StaticConfig& config) {
  const StaticOptions& options = config.options;
  const int per_core = topology.cpu_count() / static_cast<int>(topology.cores().size());
  return reference_take(
             topology, topology.cpus(), config.reserved_count,
             {.order = options.distribute_across_cores ? CpuOrder::kSpread : CpuOrder::kPacked,
              .prefer_uncore = options.prefer_align_by_uncore,
              .across_numa = options.distribute_across_numa,
              .group_size = options.full_pcpus_only ? per_core : 1,
              .align_by_socket = options.align_by_socket})
      .value_or(CpuSet{});
}

Result<StaticPolicy> make_policy(const json::object& line, const Topology& topology) {
  StaticConfig config;
  config.options = TRY(parse_static_options(TRY(texts_of(line, "options")),
                                            {.alpha_options = true, .beta_options = true}));
  config.reserved = TRY(cpus_of(line, "reservedCPUs"));
  config.reserved_count = static_cast<int>(TRY(number_of(line, "numReservedCPUs")));
  if (config.reserved.empty() && !topology.is_regular()) {
    config.reserved = kubelet_reserved(topology, config);
  }
  return StaticPolicy::make(topology, config);
}

Result<std::optional<HintFamily>> generated(const json::object& line, const Topology& topology) {
  const auto options = TRY(texts_of(line, "options"));
  const auto align = options.find("align-by-socket");
  return std::optional(
      cpu_hints(topology, TRY(cpus_of(line, "available")), TRY(cpus_of(line, "reusable")),
                static_cast<int>(TRY(number_of(line, "request"))),
                align != options.end() && align->second == "true" ? SocketAlignment::kPreferred
                                                                  : SocketAlignment::kIgnored));
}

// The policy's hints for the line's pod or container.
Result<std::optional<HintFamily>> asked(const json::object& line, const Topology& topology) {
  const StaticPolicy policy = TRY(make_policy(line, topology));
  const Pod pod = TRY(pod_from_json(TRY(object_of(line, "pod"))));
  State state = TRY(state_of(line));
  state.reuse = {.pod = pod.uid, .cpus = TRY(cpus_of(line, "reusable"))};
  if (TRY(text_of(line, "op")) == "container") {
    const std::string name = TRY(text_of(line, "container"));
    const Container* container = pod.find(name);
    if (container == nullptr) return Error{Code::kInvalid, "no such container: " + name};
    return policy.hints(state, request_of(pod, *container, std::nullopt, PodGates{}));
  }
  std::vector<Request> requests;
  for (const Container* container : in_starting_order(pod)) {
    requests.push_back(request_of(pod, *container, std::nullopt, PodGates{}));
  }
  return policy.pod_hints(state, requests);
}

std::string shown(const std::optional<HintFamily>& family) {
  if (!family) return "no preference";
  std::string text = "[";
  for (const Hint& hint : list_hints(*family)) {
    fmt::format_to(std::back_inserter(text), "[{},{}]", hint.nodes->word(), hint.preferred);
  }
  return text + "]";
}

Result<std::string> expected(const json::object& line) {
  if (TRY(flag_of(line, "noHints"))) return std::string("no preference");
  const json::value* hints = find(line, "hints");
  std::string text = "[";
  for (const json::value& hint : hints->as_array()) {
    const json::array& pair = hint.as_array();
    fmt::format_to(std::back_inserter(text), "[{},{}]", pair.at(0).to_number<std::uint64_t>(),
                   pair.at(1).as_bool());
  }
  return text + "]";
}

}  // namespace

Result<Verdict> judge_hints(const json::object& line, const Machines& machines) {
  const Topology* topology = TRY(machine_of(line, machines));
  const std::string op = TRY(text_of(line, "op"));
  const auto family = TRY(op == "generate" ? generated(line, *topology) : asked(line, *topology));
  const std::string want = TRY(expected(line));
  const std::string got = shown(family);
  return want == got ? Verdict::passed() : Verdict::failed(want, got);
}

}  // namespace corehold::vectors
