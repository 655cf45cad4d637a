// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint_unmarshal.h"

#include <charconv>

#include <fmt/format.h>

#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

using Kind = JsonValue::Kind;

// A pod's set is written out CPU by CPU under the checksum, so its size is bounded.
constexpr std::int64_t kMaxPodSetCpus = 1 << 16;

// Reads values into fields and remembers the first that does not fit.
class Reader {
 public:
  void read(const JsonValue& value, std::string_view field, std::string& out) {
    if (value.kind == Kind::kNull) return;
    if (value.kind != Kind::kString) return refuse(value, field, "string");
    out = value.text;
  }

  void read(const JsonValue& value, std::string_view field, std::uint64_t& out) {
    if (value.kind == Kind::kNull) return;
    const std::string& text = value.text;
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (value.kind != Kind::kNumber || parsed.ec != std::errc() ||
        parsed.ptr != text.data() + text.size()) {
      return refuse(value, field, "checksum");
    }
    out = number;
  }

  void read(const JsonValue& value, std::string_view field, PodSet& out) {
    if (value.kind == Kind::kNull) return;
    if (value.kind != Kind::kObject) return refuse(value, field, "pod entry");
    for (const JsonMember& member : value.members) {
      if (is_go_field(member.key, "cpuSet")) read(member.value, "cpuSet", out.text);
    }
    auto cpus = parse_kubelet_list(out.text);
    if (!cpus) return fail("failed to parse cpuset: " + cpus.error().message);
    std::int64_t count = 0;
    for (const NumberRange& range : *cpus) {
      if (range.last - range.first >= kMaxPodSetCpus - count) {
        return fail(fmt::format("failed to parse cpuset: more than {} CPUs", kMaxPodSetCpus));
      }
      count += range.last - range.first + 1;
    }
    out.cpus = *std::move(cpus);
    out.text = format_list(out.cpus);
  }

  // {"baseline": "0-3"}
  void read_baseline(const JsonValue& value, std::string_view field, std::string& out) {
    if (value.kind == Kind::kNull) return;
    if (value.kind != Kind::kObject) return refuse(value, field, "baseline");
    for (const JsonMember& member : value.members) {
      if (is_go_field(member.key, "baseline")) read(member.value, "baseline", out);
    }
  }

  template <typename T>
  void read(const JsonValue& value, std::string_view field, GoMap<T>& out) {
    read_map(value, field, out,
             [this](const JsonValue& item, std::string_view name, T& to) { read(item, name, to); });
  }

  void read_baselines(const JsonValue& value, std::string_view field,
                      GoMap<GoMap<std::string>>& out) {
    read_map(value, field, out,
             [this](const JsonValue& pod, std::string_view name, GoMap<std::string>& to) {
               read_map(pod, name, to,
                        [this](const JsonValue& item, std::string_view inner, std::string& text) {
                          read_baseline(item, inner, text);
                        });
             });
  }

  void refuse(const JsonValue& value, std::string_view field, std::string_view type) {
    const std::string number = value.kind == Kind::kNumber ? " " + value.text : "";
    fail(fmt::format("json: cannot unmarshal {}{} into field {} of type {}", name_of(value.kind),
                     number, field, type));
  }

  Result<void> result() const {
    if (error_) return Error{Code::kCorrupt, *error_};
    return {};
  }

 private:
  // Each member replaces an earlier one of its name; members of an earlier map stay.
  template <typename T, typename ReadItem>
  void read_map(const JsonValue& value, std::string_view field, GoMap<T>& out,
                const ReadItem& read_item) {
    if (value.kind == Kind::kNull) {
      out.reset();
      return;
    }
    if (value.kind != Kind::kObject) return refuse(value, field, "map");
    if (!out) out.emplace();
    for (const JsonMember& member : value.members) {
      T item{};
      read_item(member.value, field, item);
      out->insert_or_assign(member.key, std::move(item));
    }
  }

  void fail(std::string message) {
    if (!error_) error_ = std::move(message);
  }

  std::optional<std::string> error_{};
};

void read_member(Reader& reader, const JsonMember& member, CheckpointStruct type,
                 CheckpointFields& fields) {
  using Type = CheckpointStruct;
  const auto is = [&member](std::string_view field) { return is_go_field(member.key, field); };
  const JsonValue& value = member.value;
  if (is("policyName")) return reader.read(value, "policyName", fields.policy);
  if (is("defaultCpuSet")) return reader.read(value, "defaultCpuSet", fields.default_set);
  if (is("entries")) {
    if (type == Type::kV1) return reader.read(value, "entries", fields.by_id);
    return reader.read(value, "entries", fields.entries);
  }
  if (type == Type::kV3 && is("promised")) {
    return reader.read(value, "promised", fields.promised);
  }
  if ((type == Type::kKubeletV3 || type == Type::kV4Data) && is("podEntries")) {
    return reader.read(value, "podEntries", fields.pod_entries);
  }
  if (type == Type::kV4Data) {
    if (is("baselines")) reader.read_baselines(value, "baselines", fields.baselines);
    return;
  }
  if (is("checksum")) return reader.read(value, "checksum", fields.checksum);
  if (type == Type::kV4 && is("data")) return reader.read(value, "data", fields.data);
  if (type == Type::kV4 && is("dataChecksum")) {
    return reader.read(value, "dataChecksum", fields.data_checksum);
  }
}

bool is_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && text.front() != '-' && parsed.ec == std::errc() &&
         parsed.ptr == text.data() + text.size();
}

// What the kubelet says about an item that parse_list refuses.
std::string complaint_about(std::string_view item) {
  const std::size_t dash = item.find('-');
  const std::string_view first = item.substr(0, dash);
  const std::string_view bad =
      dash == std::string_view::npos || !is_number(first) ? first : item.substr(dash + 1);
  if (!is_number(bad)) {
    return fmt::format("strconv.Atoi: parsing {}: invalid syntax", go_quoted(bad));
  }
  const auto number = [](std::string_view text) {
    std::int64_t value = 0;
    if (text.starts_with('+')) text.remove_prefix(1);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  return fmt::format("invalid range {} ({} > {})", go_quoted(item), number(first), number(bad));
}

}  // namespace

Result<void> unmarshal(const JsonValue& value, CheckpointStruct type, CheckpointFields& fields) {
  Reader reader;
  if (value.kind == Kind::kNull) return {};
  if (value.kind != Kind::kObject) {
    reader.refuse(value, "(the whole)", "checkpoint");
    return reader.result();
  }
  for (const JsonMember& member : value.members) read_member(reader, member, type, fields);
  return reader.result();
}

Result<std::vector<NumberRange>> parse_kubelet_list(std::string_view text) {
  auto ranges = parse_list(text);
  if (ranges) return ranges;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (item.empty() || !parse_list(item)) return Error{Code::kInvalid, complaint_about(item)};
    if (comma == std::string_view::npos) return ranges;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace corehold
