// SPDX-License-Identifier: Apache-2.0
//
// As much OpenAPI as kubectl needs before it sends an object: that each kind can be patched
// and that the server checks fields (fieldValidation), so that kubectl leaves both to it.
// There are no schemas of the objects: kubectl 1.20, which reads another format, is used
// with --validate=false.
#pragma once

#include <boost/json/object.hpp>

namespace corehold {

// GET /openapi/v3: where the documents are. The hash in each address is the document's.
boost::json::object openapi_index_json();

// GET /openapi/v3/api/v1.
boost::json::object openapi_core_json();

}  // namespace corehold
