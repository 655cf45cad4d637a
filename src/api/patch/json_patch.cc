// SPDX-License-Identifier: Apache-2.0
#include "api/patch/json_patch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "api/patch/patch_body.h"
#include "gotext/go_text.h"

namespace corehold {
namespace {

namespace json = boost::json;

using Pointer = std::vector<std::string>;

struct Measure {
  std::size_t nodes = 0;
  std::size_t bytes = 0;  // about what it takes as text
  std::size_t depth = 1;
};

void measure(const json::value& value, std::size_t depth, Measure& result) {
  ++result.nodes;
  result.bytes += 2;
  result.depth = std::max(result.depth, depth);
  if (const json::string* text = value.if_string()) result.bytes += text->size();
  if (const json::array* list = value.if_array()) {
    for (const json::value& item : *list) measure(item, depth + 1, result);
  } else if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      result.bytes += member.key().size() + 2;
      measure(member.value(), depth + 1, result);
    }
  }
}

std::optional<Pointer> parse_pointer(std::string_view text) {
  Pointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') return std::nullopt;
  for (const char c : text) {
    if (c == '/') {
      pointer.emplace_back();
    } else {
      pointer.back() += c;
    }
  }
  for (std::string& token : pointer) {
    std::size_t to = 0;
    for (std::size_t from = 0; from < token.size(); ++from, ++to) {
      token[to] = token[from];
      if (token[from] != '~') continue;
      const char escaped = from + 1 < token.size() ? token[from + 1] : '?';
      if (escaped != '0' && escaped != '1') return std::nullopt;
      token[to] = escaped == '0' ? '~' : '/';
      ++from;
    }
    token.resize(to);
  }
  return pointer;
}

// Which of `size` places of a list; none for what is no number or not within.
std::optional<std::size_t> index_in(std::string_view token, std::size_t size) {
  std::int64_t index = 0;
  const auto [end, problem] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (problem != std::errc() || end != token.data() + token.size()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

json::value* member_of(json::value& container, std::string_view token) {
  if (json::object* object = container.if_object()) return object->if_contains(token);
  if (json::array* list = container.if_array()) {
    const auto index = index_in(token, list->size());
    return index ? &(*list)[*index] : nullptr;
  }
  return nullptr;
}

struct Operation {
  std::string_view name{};
  Pointer path{};
  std::optional<Pointer> from{};
  const json::value* value = nullptr;
};

class Patcher {
 public:
  explicit Patcher(const json::object& current) : document_(current) {}

  // False: it does not fit.
  bool apply(const Operation& operation) {
    if (operation.name == "add") return operation.value && insert(operation.path, *operation.value);
    if (operation.name == "remove") return take(operation.path).has_value();
    if (operation.name == "replace") return operation.value && replace(operation);
    if (operation.name == "test") return operation.value && test(operation);
    if (operation.name == "move") return operation.from && move(operation);
    if (operation.name == "copy") return operation.from && copy(operation);
    return false;
  }

  json::value& document() { return document_; }

 private:
  // What the first `count` tokens lead to; null when there is nothing.
  json::value* find(const Pointer& pointer, std::size_t count) {
    json::value* at = &document_;
    for (std::size_t i = 0; i < count && at != nullptr; ++i) at = member_of(*at, pointer[i]);
    return at;
  }
  json::value* find(const Pointer& pointer) { return find(pointer, pointer.size()); }
  json::value* container_of(const Pointer& pointer) { return find(pointer, pointer.size() - 1); }

  bool may_work(std::size_t amount) {
    work_ += amount;
    return work_ <= kMaxJsonPatchWork;
  }

  bool insert(const Pointer& pointer, json::value value) {
    Measure size;
    measure(value, pointer.size() + 1, size);
    if (size.depth > kMaxPatchDepth || !may_work(size.nodes)) return false;
    if (pointer.empty()) {
      document_ = std::move(value);
      return true;
    }
    json::value* container = container_of(pointer);
    if (container == nullptr) return false;
    if (json::object* object = container->if_object()) {
      object->insert_or_assign(pointer.back(), std::move(value));
      return true;
    }
    json::array* list = container->if_array();
    if (list == nullptr) return false;
    const auto index = pointer.back() == "-" ? std::optional(list->size())
                                             : index_in(pointer.back(), list->size() + 1);
    if (!index || !may_work(list->size() - *index)) return false;
    list->insert(list->begin() + *index, std::move(value));
    return true;
  }

  // Removes what is there.
  std::optional<json::value> take(const Pointer& pointer) {
    if (pointer.empty()) return std::nullopt;
    json::value* container = container_of(pointer);
    json::value* there = container == nullptr ? nullptr : member_of(*container, pointer.back());
    if (there == nullptr) return std::nullopt;
    json::value taken = std::move(*there);
    if (json::object* object = container->if_object()) {
      if (!may_work(object->size())) return std::nullopt;
      object->stable_erase(pointer.back());
    } else {
      json::array& list = container->get_array();
      const std::size_t index = *index_in(pointer.back(), list.size());
      if (!may_work(list.size() - index)) return std::nullopt;
      list.erase(list.begin() + index);
    }
    return taken;
  }

  bool replace(const Operation& operation) {
    if (operation.path.empty()) return insert(operation.path, *operation.value);
    json::value* container = container_of(operation.path);
    if (container == nullptr) return false;
    if (container->is_object()) return insert(operation.path, *operation.value);
    json::value* there = member_of(*container, operation.path.back());
    if (there == nullptr) return false;
    Measure size;
    measure(*operation.value, operation.path.size() + 1, size);
    if (size.depth > kMaxPatchDepth) return false;
    *there = *operation.value;
    return true;
  }

  bool test(const Operation& operation) {
    const json::value* there = find(operation.path);
    if (there == nullptr) {
      return operation.value->is_null() && container_of(operation.path) != nullptr;
    }
    return *there == *operation.value;
  }

  bool move(const Operation& operation) {
    const Pointer& from = *operation.from;
    if (from == operation.path) return find(from) != nullptr;
    // Into itself: what it is moved to would be gone.
    if (from.size() < operation.path.size() &&
        std::equal(from.begin(), from.end(), operation.path.begin())) {
      return false;
    }
    auto taken = take(from);
    return taken && insert(operation.path, *std::move(taken));
  }

  bool copy(const Operation& operation) {
    const json::value* there = find(*operation.from);
    if (there == nullptr) return false;
    Measure size;
    measure(*there, 1, size);
    copied_ += size.bytes;
    return copied_ <= kMaxJsonPatchCopiedBytes && insert(operation.path, *there);
  }

  json::value document_;
  std::size_t copied_ = 0;
  std::size_t work_ = 0;
};

ApiStatus cannot_read(const json::value& value, std::string_view into) {
  return bad_patch(fmt::format("error decoding patch: json: cannot unmarshal {} into Go {}",
                               go_json_type(value), into));
}

// A text of an operation; empty when it is not there.
ApiResult<std::optional<std::string_view>> text_of(const json::object& operation,
                                                   std::string_view key) {
  const json::value* found = operation.if_contains(key);
  if (found == nullptr || found->is_null()) return std::optional<std::string_view>();
  if (const json::string* text = found->if_string()) return std::optional<std::string_view>(*text);
  return cannot_read(*found, fmt::format("struct field jsonPatchOp.{} of type string", key));
}

ApiResult<Operation> read_operation(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return cannot_read(value, "value of type handlers.jsonPatchOp");
  const auto name = TRY(text_of(*object, "op"));
  const auto path = TRY(text_of(*object, "path"));
  const auto from = TRY(text_of(*object, "from"));
  Operation operation{.name = name.value_or(""), .value = object->if_contains("value")};
  auto pointer = path ? parse_pointer(*path) : std::nullopt;
  if (!pointer) return patch_does_not_fit();
  operation.path = *std::move(pointer);
  if (from) {
    operation.from = parse_pointer(*from);
    if (!operation.from) return patch_does_not_fit();
  }
  return operation;
}

}  // namespace

ApiResult<json::object> apply_json_patch(const json::object& current, const json::value& patch) {
  if (patch.is_null()) return current;
  const json::array* operations = patch.if_array();
  if (operations == nullptr) return cannot_read(patch, "value of type []handlers.jsonPatchOp");
  if (operations->size() > kMaxJsonPatchOperations) {
    return patch_too_large(
        fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                    kMaxJsonPatchOperations, operations->size()));
  }
  Patcher patcher(current);
  for (const json::value& one : *operations) {
    if (!patcher.apply(TRY(read_operation(one)))) return patch_does_not_fit();
  }
  if (!patcher.document().is_object()) return patch_does_not_fit();
  return std::move(patcher.document().get_object());
}

}  // namespace corehold
