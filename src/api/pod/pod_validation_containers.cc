// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/object/object_rules.h"
#include "api/pod/pod_validation_parts.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMostPort = 65535;
constexpr std::string_view kPortRange = "must be between 1 and 65535, inclusive";
constexpr std::string_view kNotNegative = "must be greater than or equal to 0";

// What is the same for all containers of a pod.
struct Context {
  const json::object& spec;
  const NameSet& volumes;
  const PodRules& rules;
  std::string_view restart_policy;  // of the pod
};

std::vector<std::string> port_name_problems(std::string_view name) {
  std::vector<std::string> problems;
  constexpr std::size_t kMost = 15;
  if (name.size() > kMost) problems.emplace_back("must be no more than 15 characters");
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_fine = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  if (!std::all_of(name.begin(), name.end(), is_fine))
    problems.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (std::none_of(name.begin(), name.end(), is_letter))
    problems.emplace_back("must contain at least one letter (a-z)");
  if (name.find("--") != std::string_view::npos)
    problems.emplace_back("must not contain consecutive hyphens");
  if (name.starts_with('-') || name.ends_with('-'))
    problems.emplace_back("must not begin or end with a hyphen");
  return problems;
}

void check_protocol(const json::object& port, const ErrorPath& path, FieldErrors& errors) {
  const std::string_view protocol = look_text(port, {"protocol"});
  if (protocol.empty()) {
    errors.required(path / "protocol");
  } else if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
    errors.not_supported(path / "protocol", protocol, {"SCTP", "TCP", "UDP"});
  }
}

void check_ports(const json::object& container, const ErrorPath& path, FieldErrors& errors) {
  const json::array& ports = look_array(container, {"ports"});
  NameSet names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const json::object& port = as_object_or_empty(ports[i]);
    const ErrorPath at = path / "ports" / i;
    const std::string_view name = look_text(port, {"name"});
    if (!name.empty()) {
      const std::vector<std::string> problems = port_name_problems(name);
      errors.add_all(at / "name", name, problems);
      if (problems.empty() && !names.emplace(name).second) errors.duplicate(at / "name", name);
    }
    const std::int64_t number = look_number(port, {"containerPort"});
    if (number == 0) {
      errors.required(at / "containerPort");
    } else if (number < 0 || number > kMostPort) {
      errors.invalid(at / "containerPort", number, kPortRange);
    }
    const std::int64_t host = look_number(port, {"hostPort"});
    if (host < 0 || host > kMostPort) errors.invalid(at / "hostPort", host, kPortRange);
    check_protocol(port, at, errors);
  }
}

std::vector<std::string> variable_name_problems(std::string_view name) {
  const bool is_right = std::all_of(name.begin(), name.end(),
                                    [](char c) { return c >= ' ' && c <= '~' && c != '='; });
  if (is_right) return {};
  return {
      "a valid environment variable name must consist only of printable ASCII characters other "
      "than '='"};
}

void check_value_from(const json::object& variable, const Context& context, const ErrorPath& path,
                      FieldErrors& errors) {
  const json::object* from = look_object(variable, {"valueFrom"});
  if (from == nullptr) return;
  if (const json::object* field = look_object(*from, {"fieldRef"}))
    check_field_ref(*field, DownwardUse::kEnvironment, path / "fieldRef", errors);
  if (const json::object* resource = look_object(*from, {"resourceFieldRef"})) {
    check_resource_field_ref(*resource, DownwardUse::kEnvironment, context.spec, context.rules,
                             path / "resourceFieldRef", errors);
  }
  for (const std::string_view named : {"configMapKeyRef", "secretKeyRef"}) {
    const json::object* one = look_object(*from, {named});
    if (one == nullptr) continue;
    if (look_text(*one, {"name"}).empty()) errors.required(path / named / "name");
    if (look_text(*one, {"key"}).empty()) errors.required(path / named / "key");
  }
  if (from->empty()) {
    errors.invalid(path, "",
                   "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                   "`secretKeyRef` or `fileKeyRef`");
  } else if (!look_text(variable, {"value"}).empty()) {
    errors.invalid(path, "", "may not be specified when `value` is not empty");
  } else if (from->size() > 1) {
    errors.invalid(path, "", "may not have more than one field specified at a time");
  }
}

void check_environment(const json::object& container, const Context& context, const ErrorPath& path,
                       FieldErrors& errors) {
  const json::array& variables = look_array(container, {"env"});
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const json::object& variable = as_object_or_empty(variables[i]);
    const ErrorPath at = path / "env" / i;
    const std::string_view name = look_text(variable, {"name"});
    if (name.empty()) {
      errors.required(at / "name");
    } else {
      errors.add_all(at / "name", name, variable_name_problems(name));
    }
    check_value_from(variable, context, at / "valueFrom", errors);
  }
  const json::array& sources = look_array(container, {"envFrom"});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const json::object& source = as_object_or_empty(sources[i]);
    const ErrorPath at = path / "envFrom" / i;
    std::size_t found = 0;
    for (const std::string_view named : {"configMapRef", "secretRef"}) {
      const json::object* one = look_object(source, {named});
      if (one == nullptr) continue;
      ++found;
      if (look_text(*one, {"name"}).empty()) errors.required(at / named / "name");
    }
    if (found == 0) {
      errors.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`");
    } else if (found > 1) {
      errors.invalid(at, "", "may not have more than one field specified at a time");
    }
  }
}

void check_mount_options(const json::object& mount, const ErrorPath& path, FieldErrors& errors) {
  const json::array& options = look_array(mount, {"bindMountOptions"});
  NameSet seen;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const json::string* text = options[i].if_string();
    const std::string_view option = text == nullptr ? std::string_view() : *text;
    if (!seen.emplace(option).second) {
      errors.duplicate(path / i, option);
    } else if (option != "nodev" && option != "noexec" && option != "nosuid") {
      errors.not_supported(path / i, option, {"nodev", "noexec", "nosuid"});
    }
  }
}

void check_mounts(const json::object& container, const Context& context, const ErrorPath& path,
                  FieldErrors& errors) {
  const json::array& mounts = look_array(container, {"volumeMounts"});
  NameSet places;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const json::object& mount = as_object_or_empty(mounts[i]);
    const ErrorPath at = path / "volumeMounts" / i;
    const std::string_view name = look_text(mount, {"name"});
    if (name.empty()) errors.required(at / "name");
    if (!context.volumes.contains(name)) errors.not_found(at / "name", name);
    const std::string_view place = look_text(mount, {"mountPath"});
    if (place.empty()) errors.required(at / "mountPath");
    if (!places.emplace(place).second) errors.invalid(at / "mountPath", place, "must be unique");
    const std::string_view inner = look_text(mount, {"subPath"});
    if (inner.starts_with('/'))
      errors.invalid(path / "volumeMounts" / "subPath", inner, "must be a relative path");
    if (inner == ".." || inner.starts_with("../") || inner.ends_with("/..") ||
        inner.find("/../") != std::string_view::npos) {
      errors.invalid(path / "volumeMounts" / "subPath", inner, "must not contain '..'");
    }
    check_mount_options(mount, at / "bindMountOptions", errors);
  }
}

void check_resize_policy(const json::object& container, const Context& context,
                         const ErrorPath& path, FieldErrors& errors) {
  const json::array& policies = look_array(container, {"resizePolicy"});
  const ErrorPath at = path / "resizePolicy";
  NameSet resources;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const json::object& policy = as_object_or_empty(policies[i]);
    const std::string_view resource = look_text(policy, {"resourceName"});
    const std::string_view restart = look_text(policy, {"restartPolicy"});
    if (!resources.emplace(resource).second) errors.duplicate(at / i, resource);
    if (resource.empty()) {
      errors.required(at);
    } else if (resource != "cpu" && resource != "memory") {
      errors.not_supported(at, resource, {"cpu", "memory"});
    }
    if (restart.empty()) {
      errors.required(at);
    } else if (restart != "NotRequired" && restart != "RestartContainer") {
      errors.not_supported(at, restart, {"NotRequired", "RestartContainer"});
    }
    if (context.restart_policy == "Never" && restart != "NotRequired") {
      errors.invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
  }
}

void check_security(const json::object& container, const ErrorPath& path, FieldErrors& errors) {
  const json::object* security = look_object(container, {"securityContext"});
  if (security == nullptr) return;
  const ErrorPath at = path / "securityContext";
  for (const std::string_view id : {"runAsUser", "runAsGroup"}) {
    const std::int64_t number = look_number(*security, {id});
    if (number < 0 || number > std::numeric_limits<std::int32_t>::max())
      errors.invalid(at / id, number, "must be between 0 and 2147483647, inclusive");
  }
  const json::value* escalation = look(*security, {"allowPrivilegeEscalation"});
  if (escalation == nullptr || look_true(*security, {"allowPrivilegeEscalation"})) return;
  if (look_true(*security, {"privileged"})) {
    errors.invalid_bare(at, "false",
                        "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  }
}

// The rules that hold for every kind of container.
void check_common(const json::object& container, const Context& context, const ErrorPath& path,
                  FieldErrors& errors) {
  const std::string_view name = look_text(container, {"name"});
  if (name.empty()) {
    errors.required(path / "name");
  } else {
    errors.add_all(path / "name", name, dns_label_problems(name));
  }
  const std::string_view image = look_text(container, {"image"});
  if (image.empty() && context.rules.image_required) {
    errors.required(path / "image");
  } else if (image.starts_with(' ') || image.ends_with(' ')) {
    errors.invalid(path / "image", image, "must not have leading or trailing whitespace");
  }
  const std::string_view message = look_text(container, {"terminationMessagePolicy"});
  if (message != "File" && message != "FallbackToLogsOnError") {
    errors.not_supported(path / "terminationMessagePolicy", message,
                         {"File", "FallbackToLogsOnError"});
  }
  check_ports(container, path, errors);
  check_environment(container, context, path, errors);
  check_mounts(container, context, path, errors);
  const std::string_view pull = look_text(container, {"imagePullPolicy"});
  if (pull != "Always" && pull != "IfNotPresent" && pull != "Never")
    errors.not_supported(path / "imagePullPolicy", pull, {"Always", "IfNotPresent", "Never"});
  check_container_resources(container, path / "resources", errors);
  check_resize_policy(container, context, path, errors);
  check_security(container, path, errors);
}

void check_handler(const json::object& handler, std::initializer_list<std::string_view> kinds,
                   const ErrorPath& path, FieldErrors& errors) {
  std::size_t found = 0;
  for (const std::string_view kind : kinds) {
    const json::object* one = look_object(handler, {kind});
    if (one == nullptr) continue;
    if (++found > 1) {
      errors.forbidden(path / kind, "may not specify more than 1 handler type");
      continue;
    }
    if (kind == "exec" && look_array(*one, {"command"}).empty())
      errors.required(path / kind / "command");
    const json::value* port = look(*one, {"port"});
    if (port != nullptr && port->is_int64() &&
        (port->get_int64() < 1 || port->get_int64() > kMostPort)) {
      errors.invalid(path / kind / "port", port->get_int64(), kPortRange);
    }
    if (port != nullptr && port->is_string())
      errors.add_all(path / kind / "port", port->get_string(),
                     port_name_problems(port->get_string()));
  }
  if (found == 0) errors.required(path, "must specify a handler type");
}

void check_probe(const json::object& container, std::string_view name, const ErrorPath& path,
                 FieldErrors& errors) {
  const json::object* probe = look_object(container, {name});
  if (probe == nullptr) return;
  const ErrorPath at = path / name;
  check_handler(*probe, {"exec", "httpGet", "tcpSocket", "grpc"}, at, errors);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"}) {
    const std::int64_t number = look_number(*probe, {field});
    if (number < 0) errors.invalid(at / field, number, kNotNegative);
  }
  const std::int64_t successes = look_number(*probe, {"successThreshold"});
  if (name != "readinessProbe" && successes != 1)
    errors.invalid(at / "successThreshold", successes, "must be 1");
  const json::value* grace = look(*probe, {"terminationGracePeriodSeconds"});
  if (grace == nullptr) return;
  if (name == "readinessProbe") {
    errors.invalid(at / "terminationGracePeriodSeconds", grace->get_int64(),
                   "must not be set for readinessProbes");
  } else if (grace->get_int64() <= 0) {
    errors.invalid(at / "terminationGracePeriodSeconds", grace->get_int64(),
                   "must be greater than 0");
  }
}

void check_lifecycle(const json::object& container, const ErrorPath& path, FieldErrors& errors) {
  for (const std::string_view hook : {"postStart", "preStop"}) {
    const json::object* handler = look_object(container, {"lifecycle", hook});
    if (handler == nullptr) continue;
    check_handler(*handler, {"exec", "httpGet", "tcpSocket", "sleep"}, path / "lifecycle" / hook,
                  errors);
  }
}

void check_running(const json::object& container, const ErrorPath& path, FieldErrors& errors) {
  check_lifecycle(container, path, errors);
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    check_probe(container, probe, path, errors);
}

void check_host_ports(const json::array& containers, const ErrorPath& path, FieldErrors& errors) {
  std::set<std::tuple<std::string_view, std::string_view, std::int64_t>> taken;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const json::array& ports = look_array(as_object_or_empty(containers[i]), {"ports"});
    for (std::size_t j = 0; j < ports.size(); ++j) {
      const json::object& port = as_object_or_empty(ports[j]);
      const std::int64_t number = look_number(port, {"hostPort"});
      if (number == 0) continue;
      const std::string_view protocol = look_text(port, {"protocol"});
      const std::string_view address = look_text(port, {"hostIP"});
      if (taken.emplace(protocol, address, number).second) continue;
      errors.duplicate(path / i / "ports" / j / "hostPort",
                       fmt::format("{}/{}/{}", protocol, address, number));
    }
  }
}

void check_init_containers(const Context& context, NameSet& names, FieldErrors& errors) {
  const json::array& containers = look_array(context.spec, {"initContainers"});
  for (std::size_t i = 0; i < containers.size() && !errors.full(); ++i) {
    const json::object& container = as_object_or_empty(containers[i]);
    const ErrorPath path = ErrorPath("spec") / "initContainers" / i;
    check_common(container, context, path, errors);
    check_restart_policy(container, path, errors);
    const std::string_view name = look_text(container, {"name"});
    if (!name.empty() && !names.emplace(name).second) errors.duplicate(path / "name", name);
    if (look_text(container, {"restartPolicy"}) == "Always") {
      check_running(container, path, errors);
      continue;
    }
    for (const std::string_view field :
         {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
      if (look_object(container, {field}) == nullptr) continue;
      errors.forbidden(path / field,
                       "may not be set for init containers without restartPolicy=Always");
    }
  }
}

}  // namespace

void check_containers(const json::object& spec, const NameSet& volumes, const PodRules& rules,
                      FieldErrors& errors) {
  const Context context{.spec = spec,
                        .volumes = volumes,
                        .rules = rules,
                        .restart_policy = look_text(spec, {"restartPolicy"})};
  const ErrorPath list = ErrorPath("spec") / "containers";
  const json::array& containers = look_array(spec, {"containers"});
  if (containers.empty()) errors.required(list);
  NameSet names;
  for (std::size_t i = 0; i < containers.size() && !errors.full(); ++i) {
    const json::object& container = as_object_or_empty(containers[i]);
    const ErrorPath path = list / i;
    check_common(container, context, path, errors);
    const std::string_view name = look_text(container, {"name"});
    if (!names.emplace(name).second) errors.duplicate(path / "name", name);
    check_running(container, path, errors);
    check_restart_policy(container, path, errors);
  }
  check_host_ports(containers, list, errors);
  check_init_containers(context, names, errors);
}

}  // namespace corehold
