// SPDX-License-Identifier: Apache-2.0
//
// Field<T>: one row of the table of a struct's fields. The row says everything about the
// field: its name in the file, how it is read into a T, what it is when it is not given,
// and what the reference page says of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/reading.h"

namespace corehold {

// A line of the reference page.
struct FieldLine {
  std::string path{};  // "devices[].resource"
  std::string_view type{};
  std::string default_text{};  // what holds when it is not given
  std::string_view meaning{};
};

template <typename T>
struct Field {
  std::string_view name{};
  std::string_view type{};
  std::string_view meaning{};
  // Reads a value that is there into its place.
  void (*read)(const Node& node, T& into, Reading& reading) = nullptr;
  // The default, from a T that nothing was read into.
  std::string (*show)(const T& from) = nullptr;
  // Instead of that, where the default depends on something.
  std::string_view default_text{};
  // The fields of what is inside, for an object or a list of objects.
  void (*describe)(const std::string& prefix, std::vector<FieldLine>& lines) = nullptr;
};

// What to do with a field that is not in the table.
enum class UnknownField { kNote, kMistake };

// What a field is called and is about.
struct FieldText {
  std::string_view name{};
  std::string_view type{};
  std::string_view meaning{};
  std::string_view default_text{};
};

// A field whose place in a T is given by `At` and that is read by `Read`, two lambdas
// without captures.
template <typename T, typename At, typename Read>
constexpr Field<T> plain_field(const FieldText& text, At, Read) {
  return {.name = text.name,
          .type = text.type,
          .meaning = text.meaning,
          .read = [](const Node& node, T& into,
                     Reading& reading) { Read{}(node, At{}(into), reading); },
          .show = [](const T& from) { return show_value(At{}(from)); },
          .default_text = text.default_text};
}

// The same, read as its type is usually read.
template <typename T, typename At>
constexpr Field<T> plain_field(const FieldText& text, At at) {
  return plain_field<T>(text, at, [](const Node& node, auto& into, Reading& reading) {
    read_value(node, into, reading);
  });
}

// A field that is read by a function of its own into any part of a T.
template <typename T>
constexpr Field<T> free_field(const FieldText& text,
                              void (*read)(const Node& node, T& into, Reading& reading)) {
  return {.name = text.name,
          .type = text.type,
          .meaning = text.meaning,
          .read = read,
          .default_text = text.default_text};
}

// A field that says what the document is: whoever read that has checked it.
template <typename T>
constexpr Field<T> document_field(const FieldText& text) {
  return free_field<T>(text, [](const Node&, T&, Reading&) {});
}

template <typename T>
void describe_fields(std::span<const Field<T>> fields, const std::string& prefix,
                     std::vector<FieldLine>& lines) {
  const T untouched{};
  for (const Field<T>& field : fields) {
    std::string default_text(field.default_text);
    if (default_text.empty() && field.show != nullptr) default_text = field.show(untouched);
    lines.push_back({.path = prefix + std::string(field.name),
                     .type = field.type,
                     .default_text = default_text,
                     .meaning = field.meaning});
    if (field.describe != nullptr) field.describe(lines.back().path, lines);
  }
}

// Says that the field is not known, and which one may have been meant, or that it belongs
// in the other document.
void report_unknown(const Node& node, std::string_view name,
                    std::span<const std::string_view> known, UnknownField unknown,
                    Reading& reading);

template <typename T>
void read_fields(const Node& node, std::span<const Field<T>> fields, UnknownField unknown, T& into,
                 Reading& reading) {
  if (!expect_object(node, reading)) return;
  for (const auto& [name, member] : node.members()) {
    const Field<T>* found = nullptr;
    for (const Field<T>& field : fields) {
      if (field.name == name) found = &field;
    }
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const Field<T>& field : fields) known.push_back(field.name);
      report_unknown(member, name, known, unknown, reading);
    } else if (!member.is_absent()) {
      reading.given(member);
      found->read(member, into, reading);
    }
  }
}

// A field that is a list of objects with the fields of `Fields`, an array of Field<Item>.
template <typename T, typename Item, auto& Fields>
constexpr Field<T> list_field(const FieldText& text,
                              void (*read)(const Node& node, T& into, Reading& reading)) {
  Field<T> field = free_field<T>(text, read);
  field.describe = [](const std::string& path, std::vector<FieldLine>& lines) {
    describe_fields<Item>(Fields, path + "[].", lines);
  };
  return field;
}

// The same for a list that another file reads and describes.
template <typename T>
constexpr Field<T> list_field(const FieldText& text,
                              void (*read)(const Node& node, T& into, Reading& reading),
                              void (*describe)(const std::string& path,
                                               std::vector<FieldLine>& lines)) {
  Field<T> field = free_field<T>(text, read);
  field.describe = describe;
  return field;
}

// A field that is an object with the fields of `Fields`, an array of Field<V>.
template <typename T, auto& Fields, typename At>
constexpr Field<T> object_field(const FieldText& text, At) {
  using Inner = std::remove_cvref_t<std::invoke_result_t<At, T&>>;
  return {.name = text.name,
          .type = text.type,
          .meaning = text.meaning,
          .read =
              [](const Node& node, T& into, Reading& reading) {
                read_fields<Inner>(node, Fields, UnknownField::kMistake, At{}(into), reading);
              },
          .describe =
              [](const std::string& path, std::vector<FieldLine>& lines) {
                describe_fields<Inner>(Fields, path + ".", lines);
              }};
}

// The fields of the two documents, for the reference page.
std::vector<FieldLine> kubelet_field_lines();
std::vector<FieldLine> corehold_field_lines();

}  // namespace corehold
