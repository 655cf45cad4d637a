// SPDX-License-Identifier: Apache-2.0
#include "base/code.h"

#include <array>

namespace corehold {
namespace {

struct Row {
  Code code;
  std::string_view name;
  std::string_view admission_reason;
};

constexpr std::string_view kUnexpected = "UnexpectedAdmissionError";

constexpr std::array<Row, 8> kTable{{
    {Code::kInvalid, "invalid", kUnexpected},
    {Code::kUnaligned, "unaligned", "SMTAlignmentError"},
    {Code::kExhausted, "exhausted", "OutOfcpu"},
    {Code::kNotFound, "not-found", kUnexpected},
    {Code::kConflict, "conflict", kUnexpected},
    {Code::kCorrupt, "corrupt", kUnexpected},
    {Code::kUnsupported, "unsupported", kUnexpected},
    {Code::kIo, "io", kUnexpected},
}};

const Row& row_of(Code code) {
  for (const Row& row : kTable) {
    if (row.code == code) return row;
  }
  check_failed("every Code has a row", __FILE__, __LINE__);
}

}  // namespace

std::string_view name_of(Code code) { return row_of(code).name; }
std::string_view admission_reason(Code code) { return row_of(code).admission_reason; }

}  // namespace corehold
