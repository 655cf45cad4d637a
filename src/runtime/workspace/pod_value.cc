// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace/pod_value.h"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"

namespace corehold {
namespace {

constexpr std::array<std::string_view, 3> kFields{"metadata.name", "metadata.namespace",
                                                  "metadata.uid"};
constexpr std::array<std::string_view, 2> kMapFields{"metadata.labels", "metadata.annotations"};
constexpr std::array<std::string_view, 6> kEnvironmentFields{
    "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",
    "status.podIPs"};

template <typename List>
bool is_one_of(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// KEY of "metadata.labels['KEY']"; no value for anything else.
std::optional<std::string_view> key_in(std::string_view field, std::string_view map) {
  if (!field.starts_with(map)) return std::nullopt;
  field.remove_prefix(map.size());
  if (!field.starts_with("['") || !field.ends_with("']") || field.size() <= 4) return std::nullopt;
  return field.substr(2, field.size() - 4);
}

// As Go quotes a string.
std::string go_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char byte : text) {
    switch (byte) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\a':
        result += "\\a";
        break;
      case '\b':
        result += "\\b";
        break;
      case '\f':
        result += "\\f";
        break;
      case '\v':
        result += "\\v";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) {
          result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
        } else {
          result += byte;
        }
    }
  }
  return result + "\"";
}

std::string lines_of(const std::map<std::string, std::string>& entries) {
  std::string text;
  for (const auto& [key, value] : entries) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}={}", key, go_quoted(value));
  }
  return text;
}

std::string entry_in(const std::map<std::string, std::string>& entries, std::string_view key) {
  const auto found = entries.find(std::string(key));
  return found == entries.end() ? "" : found->second;
}

std::string spec_text(const Pod& pod, std::string_view key) {
  const boost::json::value* spec = field(pod.raw, "spec");
  if (spec == nullptr || !spec->is_object()) return "";
  const boost::json::value* value = field(spec->get_object(), key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::string field_text(std::string_view name, const Pod& pod, const LaunchContext& context) {
  if (name == "metadata.name") return pod.name;
  if (name == "metadata.namespace") {
    return pod.namespace_name.empty() ? "default" : pod.namespace_name;
  }
  if (name == "metadata.uid") return pod.uid;
  if (name == "metadata.labels") return lines_of(pod.labels);
  if (name == "metadata.annotations") return lines_of(pod.annotations);
  if (const auto key = key_in(name, "metadata.labels")) return entry_in(pod.labels, *key);
  if (const auto key = key_in(name, "metadata.annotations")) return entry_in(pod.annotations, *key);
  if (name == "spec.nodeName") return context.node_name;
  if (name == "spec.serviceAccountName") return spec_text(pod, "serviceAccountName");
  // A process of the machine has the machine's address.
  return context.node_address;
}

std::int64_t divided(std::int64_t amount, std::int64_t divisor) {
  return divisor <= 1 ? amount : amount / divisor + (amount % divisor > 0 ? 1 : 0);
}

std::string amount_text(const PodValue& value, const Container& container,
                        const LaunchContext& context) {
  const bool is_limit = value.resource.starts_with("limits.");
  const std::string name = value.resource.substr(value.resource.find('.') + 1);
  const ResourceList& list = is_limit ? container.resources.limits : container.resources.requests;
  const auto found = list.find(name);
  const bool is_cpu = name == kCpu;
  std::int64_t amount = 0;
  if (found != list.end()) {
    amount = is_cpu ? found->second.milli_value() : found->second.value();
  } else if (is_limit && is_cpu) {
    amount = context.cpu_millis;
  } else if (is_limit && name == kMemory) {
    amount = context.memory_bytes;
  }
  const std::int64_t divisor = is_cpu ? value.divisor.milli_value() : value.divisor.value();
  return std::to_string(divided(amount, divisor));
}

}  // namespace

std::string problem_with_field(std::string_view field, ValueUse use) {
  if (is_one_of(kFields, field)) return "";
  for (const std::string_view map : kMapFields) {
    if (key_in(field, map)) return "";
    if (field != map) continue;
    return use == ValueUse::kVolume ? "" : fmt::format("{} needs a key: {}['KEY']", field, field);
  }
  if (is_one_of(kEnvironmentFields, field)) {
    return use == ValueUse::kEnvironment ? "" : fmt::format("{} cannot be in a volume", field);
  }
  return fmt::format("{} is not a field that can be asked for", shown(field));
}

std::string problem_with_resource(std::string_view resource, ValueUse use) {
  if (resource == "assigned.cpuset" || resource == "assigned.memset") {
    if (use == ValueUse::kVolume) return "";
    return fmt::format(
        "{} cannot be in the environment, where it could never change: ask for it in a "
        "downwardAPI volume",
        resource);
  }
  for (const std::string_view kind : {"limits.", "requests."}) {
    if (!resource.starts_with(kind)) continue;
    const std::string_view name = resource.substr(kind.size());
    if (name == kCpu || name == kMemory || name == "ephemeral-storage" ||
        name.starts_with("hugepages-")) {
      return "";
    }
  }
  return fmt::format("{} is not a resource that can be asked for", shown(resource));
}

std::string text_of(const PodValue& value, const Pod& pod, const LaunchContext& context,
                    const AssignedByContainer& assigned) {
  if (!value.field.empty()) return field_text(value.field, pod, context);
  if (value.is_assigned()) {
    const auto found = assigned.find(value.container);
    if (found == assigned.end()) return "";
    return value.resource == "assigned.cpuset" ? found->second.cpus.str()
                                               : found->second.mems.str();
  }
  const Container* container = pod.find(value.container);
  return container == nullptr ? "" : amount_text(value, *container, context);
}

}  // namespace corehold
