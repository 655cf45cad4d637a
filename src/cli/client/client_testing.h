// SPDX-License-Identifier: Apache-2.0
//
// What an agent that tests make up knows: answers by request, a pod, a map of CPUs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/own/cpu_map.h"
#include "api/status.h"
#include "cli/client/agent_testing.h"

namespace corehold {

// Pod default/web with two CPUs and a label.
extern const char* const kWebManifest;

inline const std::string kPodsPath = "/api/v1/namespaces/default/pods";
inline const std::string kCpusPath = "/apis/corehold.dev/v1alpha1/cpus";

using Answers = std::map<std::string, HttpResponse>;  // by "METHOD target"

HttpResponse ok(const boost::json::value& body);
HttpResponse refusal(StatusReason reason, const std::string& message);

// Whatever it has no answer for is not found.
FakeAgent::Handler answering(const Answers& answers);

// The first pod of a manifest as an agent shows it.
boost::json::object pod_object(const std::string& manifest, std::string_view phase);

// Of a machine of 16 CPUs on which pod default/web holds 2-3.
CpuMap map_of_box();

}  // namespace corehold
