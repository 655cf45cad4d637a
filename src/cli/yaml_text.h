// SPDX-License-Identifier: Apache-2.0
//
// JSON values as YAML, for people. The adapter for yaml-cpp's writer.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace corehold {

// One document, members in their order. Any reader of YAML 1.1 or 1.2 gets the same value
// back: a text that some reader would take for something else ("yes", "1e3") is quoted. A
// newline at the end.
std::string yaml_text(const boost::json::value& value);

}  // namespace corehold
