// SPDX-License-Identifier: Apache-2.0
//
// How a checked configuration is shown.
#pragma once

#include <string>

#include "config/read_config.h"

namespace corehold {

// "file.yaml:3: field: message"; without line or field where there is none.
std::string render_remark(const std::string& file, const ConfigRemark& remark);

// The settings in effect, a few aligned lines, then warnings and notes. REQUIRES: no mistakes.
std::string render_config_table(const std::string& file, const CheckedConfig& checked);

// Mistakes, warnings, notes and, without mistakes, the settings in effect.
std::string render_config_json(const std::string& file, const CheckedConfig& checked);

}  // namespace corehold
