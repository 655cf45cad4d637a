// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/simulated_journal.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "runtime/record_text.h"
#include "sys/descriptor.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxBytes = std::size_t{256} * 1024 * 1024;
constexpr std::size_t kSpareLines = 1000;  // outdated ones that are not worth writing anew

std::string string_in(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

bool is_set(const json::object& object, std::string_view key) {
  const json::value* value = field(object, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

void apply(SimulatedJournal::Records& records, json::object line) {
  const ContainerRef container{.pod = string_in(line, "pod"),
                               .container = string_in(line, "container")};
  if (is_set(line, "removed")) {
    records.erase(container);
  } else if (is_set(line, "changes")) {
    const auto found = records.find(container);
    if (found == records.end()) return;
    line.erase("changes");
    for (const auto& member : line) found->second[member.key()] = member.value();
  } else {
    records[container] = std::move(line);
  }
}

std::string line_of(const json::object& object) { return record_text(object) + "\n"; }

}  // namespace

Result<SimulatedJournal::Records> SimulatedJournal::load() {
  if (path_.empty()) return Records{};
  const auto text = read_file(path_, kMaxBytes);
  if (!text) {
    if (text.error().code == Code::kNotFound) return Records{};
    return text.error();
  }
  const Error corrupt{Code::kCorrupt, fmt::format("{}: not a list of simulated containers", path_)};
  const auto corrupt_line = [&](const Error& error) {
    return Error{Code::kCorrupt,
                 fmt::format("{}, line {}: {}", corrupt.message, lines_ + 1, error.message)};
  };
  Records records;
  if (text->starts_with('[')) {
    const auto all = parse_json(*text);
    if (!all || !all->is_array()) return corrupt;
    for (const json::value& value : all->get_array()) {
      if (value.is_object()) apply(records, value.get_object());
    }
    records_ = std::move(records);
    is_damaged_ = true;  // it has another form
    return records_;
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    auto line = read_record_text(std::string_view(*text).substr(begin, end - begin));
    if (!line) return corrupt_line(line.error());
    apply(records, *std::move(line));
    ++lines_;
  }
  is_damaged_ = begin != text->size();
  // A file without a whole line was never ours, and a line with something behind it was not torn.
  if (is_damaged_ &&
      (lines_ == 0 || goes_on_behind_record(std::string_view(*text).substr(begin)))) {
    return corrupt;
  }
  records_ = std::move(records);
  return records_;
}

Result<void> SimulatedJournal::write(const ContainerRef& container, const json::object& record) {
  return append({container}, record);
}

Result<void> SimulatedJournal::change(const std::vector<ContainerRef>& containers,
                                      const json::object& fields) {
  json::object line = fields;
  line["changes"] = true;
  return append(containers, line);
}

Result<void> SimulatedJournal::remove(const ContainerRef& container) {
  return append({container}, {{"removed", true}});
}

Result<void> SimulatedJournal::append(const std::vector<ContainerRef>& containers,
                                      const json::object& fields) {
  if (path_.empty() || containers.empty()) return {};
  std::vector<std::optional<json::object>> before;
  std::string text;
  for (const ContainerRef& container : containers) {
    const auto known = records_.find(container);
    before.push_back(known == records_.end() ? std::nullopt : std::optional(known->second));
    json::object line = fields;
    line["pod"] = container.pod;
    line["container"] = container.container;
    text += line_of(line);
    apply(records_, std::move(line));
  }
  Result<void> written;
  if (is_damaged_ || lines_ > 2 * records_.size() + kSpareLines) {
    written = write_anew();
  } else {
    const Descriptor file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    const int number = file.get() < 0 ? errno : write_all(file.get(), text);
    if (number == 0) {
      lines_ += containers.size();
      return {};
    }
    is_damaged_ = true;
    written = errno_error(fmt::format("write {}", path_), number);
  }
  if (written) return {};
  for (std::size_t at = 0; at < containers.size(); ++at) {
    if (before[at]) {
      records_[containers[at]] = *before[at];
    } else {
      records_.erase(containers[at]);
    }
  }
  return written;
}

Result<void> SimulatedJournal::write_anew() {
  std::string text;
  for (const auto& [container, record] : records_) text += line_of(record);
  TRY(replace_file(path_, text));
  lines_ = records_.size();
  is_damaged_ = false;
  return {};
}

}  // namespace corehold
