// SPDX-License-Identifier: Apache-2.0
//
// The parts of pod_validation.h, by what they check. All REQUIRE canonical JSON with
// defaults, so fields are of their types, and may be absent only where Go has a zero.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "api/field_errors.h"
#include "api/pod/pod_rules.h"

namespace corehold {

using NameSet = std::set<std::string, std::less<>>;

// The volumes; gives the names of those without mistakes, which containers may mount.
NameSet check_volumes(const boost::json::object& spec, const PodRules& rules, FieldErrors& errors);

// spec.containers, then spec.initContainers, then spec.ephemeralContainers.
void check_containers(const boost::json::object& spec, const NameSet& volumes,
                      const PodRules& rules, FieldErrors& errors);

// restartPolicy and restartPolicyRules of one container.
void check_restart_policy(const boost::json::object& container, const ErrorPath& path,
                          FieldErrors& errors);

// limits and requests of one container. `path` is that of its resources.
void check_container_resources(const boost::json::object& container, const ErrorPath& path,
                               FieldErrors& errors);
// spec.resources, and whether the containers fit in it.
void check_pod_resources(const boost::json::object& spec, FieldErrors& errors);
// spec.overhead.
void check_overhead(const boost::json::object& spec, FieldErrors& errors);

// Where a downward API field is used: not all may be everywhere.
enum class DownwardUse { kEnvironment, kVolume };

// fieldRef and resourceFieldRef. `spec` is the pod's.
void check_field_ref(const boost::json::object& field, DownwardUse use, const ErrorPath& path,
                     FieldErrors& errors);
void check_resource_field_ref(const boost::json::object& field, DownwardUse use,
                              const boost::json::object& spec, const PodRules& rules,
                              const ErrorPath& path, FieldErrors& errors);

}  // namespace corehold
