// SPDX-License-Identifier: Apache-2.0
//
// Reads fields of a pod's JSON and goes on after a mistake, so that a user hears of all of
// them at once. A field that is missing or wrong reads as empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "runtime/workspace/mistake_list.h"

namespace corehold {

class FieldReader {
 protected:
  void add(const Path& path, std::string_view problem) {
    mistakes_.add(fmt::format("{}: {}", path.str(), problem));
  }

  template <typename T>
  T kept(Result<T> result, T fallback) {
    if (result) return *std::move(result);
    mistakes_.add(result.error().message);
    return fallback;
  }

  const boost::json::object& object_at(const boost::json::object& object, const Path& path,
                                       std::string_view key) {
    const boost::json::object* found =
        kept<const boost::json::object*>(object_field(object, path, key), nullptr);
    return found != nullptr ? *found : kNoObject;
  }

  boost::json::array array_at(const boost::json::object& object, const Path& path,
                              std::string_view key) {
    const boost::json::array* found =
        kept<const boost::json::array*>(array_field(object, path, key), nullptr);
    return found != nullptr ? *found : boost::json::array{};
  }

  std::string text_at(const boost::json::object& object, const Path& path, std::string_view key) {
    return kept<std::string>(string_field(object, path, key), "");
  }

  // Text that names something on disk.
  std::string name_at(const boost::json::object& object, const Path& path, std::string_view key) {
    std::string text = text_at(object, path, key);
    if (has_control_bytes(text)) add(path / key, "must not hold control characters");
    return text;
  }

  bool flag_at(const boost::json::object& object, const Path& path, std::string_view key) {
    const boost::json::value* found = field(object, key);
    if (found == nullptr) return false;
    if (!found->is_bool()) add(path / key, "must be true or false");
    return found->is_bool() && found->get_bool();
  }

  std::optional<std::int64_t> number_at(const boost::json::object& object, const Path& path,
                                        std::string_view key, std::int64_t most) {
    const boost::json::value* found = field(object, key);
    if (found == nullptr) return std::nullopt;
    if (!found->is_int64() || found->get_int64() < 0 || found->get_int64() > most) {
      add(path / key, fmt::format("must be a number from 0 to {}", most));
      return std::nullopt;
    }
    return found->get_int64();
  }

  template <typename Read>
  void each(const boost::json::object& object, const Path& path, std::string_view key, Read read) {
    const boost::json::array list = array_at(object, path, key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Path here = path / key / i;
      if (list[i].is_object()) {
        read(list[i].get_object(), here);
      } else {
        add(here, "must be an object");
      }
    }
  }

  std::vector<std::string> texts_at(const boost::json::object& object, const Path& path,
                                    std::string_view key) {
    std::vector<std::string> texts;
    const boost::json::array list = array_at(object, path, key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_string()) {
        add(path / key / i, "must be a string");
      } else if (list[i].get_string().find('\0') != boost::json::string::npos) {
        add(path / key / i, "must not hold a zero byte");
      } else {
        texts.emplace_back(list[i].get_string());
      }
    }
    return texts;
  }

  std::vector<std::string> take_mistakes() { return mistakes_.take(); }

 private:
  inline static const boost::json::object kNoObject{};

  MistakeList mistakes_{};  // "field path: what is wrong"
};

}  // namespace corehold
