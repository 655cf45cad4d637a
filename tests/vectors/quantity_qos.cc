// SPDX-License-Identifier: Apache-2.0
//
// Judges quantity_qos lines: quantities (parse, print, round), their comparison and
// sums, and the QoS class of pods.
//
// Skipped as "quantity beyond int64": lines that differ only in fields where the
// kubelet's 64-bit arithmetic wraps around or gives up. Every other field of such a
// line is still compared.
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "family.h"
#include "fields.h"
#include "pod/pod_json.h"
#include "pod/qos.h"
#include "pod/quantity.h"

namespace corehold::vectors {
namespace {

namespace json = boost::json;

constexpr std::string_view kBeyondInt64 = "quantity beyond int64";

Error missing(std::string_view key) {
  return Error{Code::kInvalid, fmt::format("the line has no usable field {:?}", key)};
}

// Gathers the fields that differ: those that count, and those beyond int64.
class Comparison {
 public:
  template <typename T>
  void compare(std::string_view name, const T& expected, const T& actual, bool is_exempt = false) {
    if (expected == actual) return;
    if (is_exempt) {
      has_exempt_ = true;
      return;
    }
    expected_.push_back(fmt::format("{}={}", name, expected));
    actual_.push_back(fmt::format("{}={}", name, actual));
  }

  Verdict verdict() const {
    if (!expected_.empty()) {
      return Verdict::failed(fmt::format("{}", fmt::join(expected_, ", ")),
                             fmt::format("{}", fmt::join(actual_, ", ")));
    }
    return has_exempt_ ? Verdict::skipped(std::string(kBeyondInt64)) : Verdict::passed();
  }

 private:
  std::vector<std::string> expected_{};
  std::vector<std::string> actual_{};
  bool has_exempt_ = false;
};

bool fits(const Quantity& quantity, int exponent) { return quantity.scaled(exponent).has_value(); }

// The kubelet holds long numbers in billionths, and cuts those of negative ones to 64
// bits before it rounds; so theirs must fit whatever the field.
bool kubelet_fits(const Quantity& quantity, int exponent) {
  return fits(quantity, exponent) && (quantity.sign() >= 0 || fits(quantity, -9));
}

Result<Verdict> judge_quantity(const json::object& line) {
  const std::string text = TRY(text_of(line, "in"));
  const auto parsed = Quantity::parse(text);
  Comparison comparison;
  const bool is_valid = TRY(flag_of(line, "ok"));
  comparison.compare("ok", is_valid, parsed.has_value());
  if (!is_valid || !parsed) {
    if (!is_valid) {
      comparison.compare("error", TRY(text_of(line, "error")),
                         parsed ? std::string() : parsed.error().message);
    }
    return comparison.verdict();
  }
  const Quantity& quantity = *parsed;
  const bool value_fits = kubelet_fits(quantity, 0);
  const bool milli_fits = kubelet_fits(quantity, -3);
  comparison.compare("string", TRY(text_of(line, "string")), quantity.str(), !fits(quantity, 0));
  comparison.compare("milli", TRY(number_of(line, "milli")), quantity.milli_value(), !milli_fits);
  comparison.compare("value", TRY(number_of(line, "value")), quantity.value(), !value_fits);
  comparison.compare("format", TRY(text_of(line, "format")),
                     std::string(name_of(quantity.format())));
  comparison.compare("sign", TRY(number_of(line, "sign")),
                     static_cast<std::int64_t>(quantity.sign()));
  comparison.compare("integralCPU", TRY(flag_of(line, "integralCPU")), quantity.is_integral_cpu(),
                     !milli_fits || !value_fits);
  return comparison.verdict();
}

Result<Verdict> judge_compare(const json::object& line) {
  const std::string a_text = TRY(text_of(line, "a"));
  const std::string b_text = TRY(text_of(line, "b"));
  const Quantity a = TRY(Quantity::parse(a_text));
  const Quantity b = TRY(Quantity::parse(b_text));
  const Quantity sum = a + b;
  const Quantity difference = a - b;
  const std::int64_t order = a < b ? -1 : a > b ? 1 : 0;
  Comparison comparison;
  comparison.compare("cmp", TRY(number_of(line, "cmp")), order);
  comparison.compare("equal", TRY(flag_of(line, "equal")), a == b);
  comparison.compare("sum", TRY(text_of(line, "sum")), sum.str(), !fits(sum, 0));
  comparison.compare("diff", TRY(text_of(line, "diff")), difference.str(), !fits(difference, 0));
  return comparison.verdict();
}

Result<Verdict> judge_qos(const json::object& line) {
  const json::value* pod_value = line.if_contains("pod");
  const json::value* gates_value = line.if_contains("gates");
  if (pod_value == nullptr || !pod_value->is_object()) return missing("pod");
  if (gates_value == nullptr || !gates_value->is_object()) return missing("gates");
  const json::object& gates = gates_value->get_object();
  const Pod pod = TRY(pod_from_json(pod_value->get_object()));
  const QosClass qos =
      qos_class(pod, {.pod_level_resources = TRY(flag_of(gates, "PodLevelResources")),
                      .pod_level_resources_fix_kubelet_qos_class =
                          TRY(flag_of(gates, "PodLevelResourcesFixKubeletQOSClass"))});
  Comparison comparison;
  comparison.compare("qos", TRY(text_of(line, "qos")), std::string(name_of(qos)));
  return comparison.verdict();
}

}  // namespace

Result<Verdict> judge_quantity_qos(const json::object& line, const Machines&) {
  const std::string op = TRY(text_of(line, "op"));
  if (op == "quantity") return judge_quantity(line);
  if (op == "compare") return judge_compare(line);
  if (op == "qos") return judge_qos(line);
  return Error{Code::kUnsupported, fmt::format("unknown operation {:?}", op)};
}

}  // namespace corehold::vectors
