// SPDX-License-Identifier: Apache-2.0
#include "api/json/json_read.h"

#include <limits>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/time_text.h"

namespace corehold {

namespace json = boost::json;

Result<const json::object*> as_object(const json::value& value, const Path& path) {
  if (value.is_object()) return &value.get_object();
  if (path.str().empty()) return Error{Code::kInvalid, "must be an object"};
  return path.error("must be an object");
}

Result<void> expect_kind(const json::object& object, std::string_view kind) {
  const std::string found = TRY(string_field(object, Path(), "kind"));
  if (found == kind) return {};
  return (Path() / "kind").error(fmt::format("must be {}, not {}", kind, shown(found)));
}

Result<std::int64_t> integer_field(const json::object& object, const Path& path,
                                   std::string_view key, std::int64_t absent) {
  const json::value* found = field(object, key);
  if (found == nullptr) return absent;
  if (const std::int64_t* number = found->if_int64()) return *number;
  return (path / key).error("must be a whole number");
}

Result<int> id_field(const json::object& object, const Path& path, std::string_view key) {
  const std::int64_t number = TRY(integer_field(object, path, key, -1));
  if (number < 0 || number > std::numeric_limits<int>::max()) {
    return (path / key).error("must be a number from 0");
  }
  return static_cast<int>(number);
}

Result<bool> bool_field(const json::object& object, const Path& path, std::string_view key) {
  const json::value* found = field(object, key);
  if (found == nullptr) return false;
  if (found->is_bool()) return found->get_bool();
  return (path / key).error("must be true or false");
}

Result<std::vector<std::string>> strings_field(const json::object& object, const Path& path,
                                               std::string_view key) {
  std::vector<std::string> strings;
  const json::array* list = TRY(array_field(object, path, key));
  if (list == nullptr) return strings;
  strings.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::string* text = (*list)[i].if_string();
    if (text == nullptr) return (path / key / i).error("must be a string");
    strings.emplace_back(*text);
  }
  return strings;
}

Result<CpuSet> cpus_field(const json::object& object, const Path& path, std::string_view key) {
  auto cpus = CpuSet::parse(TRY(string_field(object, path, key)));
  if (!cpus) return (path / key).error(cpus.error().message);
  return cpus;
}

Result<NodeSet> nodes_field(const json::object& object, const Path& path, std::string_view key) {
  auto nodes = NodeSet::parse(TRY(string_field(object, path, key)));
  if (!nodes) return (path / key).error(nodes.error().message);
  return nodes;
}

Result<std::chrono::milliseconds> time_field(const json::object& object, const Path& path,
                                             std::string_view key) {
  const std::string text = TRY(string_field(object, path, key));
  if (text.empty()) return std::chrono::milliseconds{0};
  auto time = parse_time(text);
  if (!time) return (path / key).error(time.error().message);
  return time;
}

}  // namespace corehold
