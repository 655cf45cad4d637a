// SPDX-License-Identifier: Apache-2.0
//
// Which form of an answer a client would like (Accept), and what the body of a request is
// (Content-Type). Everything is answered in JSON: who asks for YAML gets JSON too, which is
// YAML, and who asks for protobuf is told by the content type that it is JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace corehold {

enum class AnswerForm {
  kObject,               // as it is
  kTable,                // of meta.k8s.io
  kPartialMetadata,      // PartialObjectMetadata: kind, apiVersion, metadata
  kPartialMetadataList,  // a list of those
  kAggregatedDiscovery,  // APIGroupDiscoveryList of apidiscovery.k8s.io
};

struct AcceptedForm {
  AnswerForm form = AnswerForm::kObject;
  std::string version{};                          // "v1", "v1beta1", "v2"; "" for kObject
  std::string content_type = "application/json";  // of the answer

  bool operator==(const AcceptedForm&) const = default;
};

enum class Endpoint { kResource, kDiscovery };

// The best that the header `accept` asks for; "" asks for nothing in particular. Fails with
// kInvalid and the text for 406 when there is nothing the client would take.
Result<AcceptedForm> negotiate(std::string_view accept, Endpoint endpoint);

enum class BodyFormat { kJson, kYaml };

// Of an object that is created or replaced, or of options; "" is JSON. Fails with kInvalid
// and the text for 415. What a PATCH is, is in patch.h.
Result<BodyFormat> object_body_format(std::string_view content_type);

// The text for 415 to a PATCH of another type.
inline constexpr std::string_view kUnsupportedPatchText = "415: Unsupported Media Type";

}  // namespace corehold
