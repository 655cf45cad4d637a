// SPDX-License-Identifier: Apache-2.0
//
// A record of a runtime as text: one JSON object whose last member, "digest", is of the text
// without that member. Records without it are of versions that wrote none, and are believed.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/result.h"

namespace corehold {

// Without a newline. REQUIRES: the object has a member, and none called "digest".
std::string record_text(const boost::json::object& object);

// The object without its digest. A newline at the end of the text is left out. Fails with kCorrupt
// when the text is no object, or not the one that was written.
Result<boost::json::object> read_record_text(std::string_view text);

// Whether the text begins with a whole record and goes on: no write that was interrupted leaves
// such a text.
bool goes_on_behind_record(std::string_view text);

}  // namespace corehold
