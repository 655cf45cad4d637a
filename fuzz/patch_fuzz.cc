// SPDX-License-Identifier: Apache-2.0
//
// Patches: whatever is sent, patching ends, in bounds, with an object or a Status; a merge patch
// applied twice is one applied once; what was applied by a manager stays applied. The input is
// one byte that chooses the kind of object, the object, a zero byte, and the patch.
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/patch/json_patch.h"
#include "api/patch/managed_fields.h"
#include "api/patch/merge_patch.h"
#include "api/patch/patch.h"
#include "api/patch/patch_body.h"

namespace {

namespace json = boost::json;
using corehold::ApiResult;
using corehold::PatchKind;

// At most what was there, what was sent, and what copies may add, each byte a value or more.
void check_bounds(const json::object& before, std::string_view body, const json::object& after) {
  const std::size_t was = json::serialize(before).size();
  const std::size_t is = json::serialize(corehold::without_managed_fields(after)).size();
  CHECK(is <= was + 2 * (body.size() + corehold::kMaxJsonPatchCopiedBytes) + 4096);
  CHECK(corehold::depth_of(after) <= 2 * corehold::kMaxPatchDepth);
}

void check(std::string_view kind, const json::object& object, std::string_view body) {
  for (const PatchKind patch :
       {PatchKind::kJson, PatchKind::kMerge, PatchKind::kStrategic, PatchKind::kApply}) {
    corehold::PatchRequest request{.kind = patch, .body = body};
    if (patch == PatchKind::kApply) {
      request.field_manager = "fuzz";
      request.force = true;
    }
    const ApiResult<json::object> once = corehold::apply_patch(kind, object, request);
    if (!once) {
      CHECK(!once.error().message.empty() && once.error().message.size() < 200'000);
      CHECK(corehold::http_code(once.error()) >= 400);
      continue;
    }
    check_bounds(object, body, *once);
    const corehold::FieldWriter writer{.manager = "w"};
    const json::object recorded = corehold::record_update(kind, object, *once, writer);
    CHECK(corehold::managed_entries(recorded).has_value());
    if (patch == PatchKind::kJson) continue;
    const ApiResult<json::object> twice = corehold::apply_patch(kind, *once, request);
    if (patch == PatchKind::kMerge) CHECK(twice.has_value() && *twice == *once);
    if (patch == PatchKind::kApply) CHECK(twice.has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\0');
  if (text.empty() || end == std::string_view::npos) return 0;
  constexpr std::string_view kKinds[] = {"Pod", "Node", "Event", "Namespace", "Other"};
  const std::string_view kind = kKinds[data[0] % 5];
  const auto object = corehold::parse_patch_body(text.substr(1, end - 1));
  if (!object || !object->is_object()) return 0;
  check(kind, object->get_object(), text.substr(end + 1));
  return 0;
}
