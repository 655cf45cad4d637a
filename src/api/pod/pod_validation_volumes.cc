// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/json/json_look.h"
#include "api/object/object_rules.h"
#include "api/pod/pod_validation_parts.h"
#include "pod/quantity.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::string_view kModeText =
    "must be a number between 0 and 0777 (octal), both inclusive";
constexpr std::int64_t kMostMode = 0777;

void check_mode(const json::object& owner, std::string_view field, const ErrorPath& path,
                FieldErrors& errors) {
  const json::value* mode = owner.if_contains(field);
  if (mode == nullptr || !mode->is_int64()) return;
  if (mode->get_int64() < 0 || mode->get_int64() > kMostMode)
    errors.invalid(path / field, mode->get_int64(), kModeText);
}

void check_relative_path(std::string_view text, const ErrorPath& path, FieldErrors& errors) {
  if (text.starts_with('/')) errors.invalid(path, text, "must be a relative path");
  std::string_view rest = text;
  for (;;) {
    const std::size_t slash = rest.find('/');
    if (rest.substr(0, slash) == "..") {
      errors.invalid(path, text, "must not contain '..'");
      break;
    }
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (text.starts_with("..") && !text.starts_with("../") && text != "..")
    errors.invalid(path, text, "must not start with '..'");
}

void check_keys(const json::object& source, const ErrorPath& path, FieldErrors& errors) {
  const json::array& items = look_array(source, {"items"});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const json::object& item = as_object_or_empty(items[i]);
    const ErrorPath at = path / "items" / i;
    if (look_text(item, {"key"}).empty()) errors.required(at / "key");
    const std::string_view to = look_text(item, {"path"});
    if (to.empty()) errors.required(at / "path");
    check_relative_path(to, at / "path", errors);
    check_mode(item, "mode", at, errors);
  }
}

// Items have no number in the paths of their mistakes.
void check_downward(const json::object& source, const json::object& spec, const PodRules& rules,
                    const ErrorPath& path, FieldErrors& errors) {
  check_mode(source, "defaultMode", path, errors);
  for (const json::value& element : look_array(source, {"items"})) {
    const json::object& item = as_object_or_empty(element);
    const std::string_view to = look_text(item, {"path"});
    if (to.empty()) errors.required(path / "path");
    check_relative_path(to, path / "path", errors);
    const json::object* field = look_object(item, {"fieldRef"});
    const json::object* resource = look_object(item, {"resourceFieldRef"});
    if (field != nullptr) {
      check_field_ref(*field, DownwardUse::kVolume, path / "fieldRef", errors);
      if (resource != nullptr) {
        errors.invalid(path, "resource",
                       "fieldRef and resourceFieldRef can not be specified simultaneously");
      }
    } else if (resource != nullptr) {
      check_resource_field_ref(*resource, DownwardUse::kVolume, spec, rules,
                               path / "resourceFieldRef", errors);
    } else {
      errors.required(path, "one of fieldRef and resourceFieldRef is required");
    }
    check_mode(item, "mode", path, errors);
  }
}

void check_projected(const json::object& source, const json::object& spec, const PodRules& rules,
                     const ErrorPath& path, FieldErrors& errors) {
  check_mode(source, "defaultMode", path, errors);
  const json::array& sources = look_array(source, {"sources"});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const json::object& projection = as_object_or_empty(sources[i]);
    const ErrorPath at = path / "sources" / i;
    if (projection.size() > 1)
      errors.forbidden(at / projection.begin()->key(), "may not specify more than 1 volume type");
    for (const std::string_view named : {"secret", "configMap"}) {
      const json::object* one = look_object(projection, {named});
      if (one == nullptr) continue;
      if (look_text(*one, {"name"}).empty()) errors.required(at / named / "name");
      check_keys(*one, at / named, errors);
    }
    if (const json::object* downward = look_object(projection, {"downwardAPI"}))
      check_downward(*downward, spec, rules, at / "downwardAPI", errors);
    if (const json::object* token = look_object(projection, {"serviceAccountToken"})) {
      if (look_text(*token, {"path"}).empty()) errors.required(at / "serviceAccountToken" / "path");
    }
  }
}

void check_host_path(const json::object& source, const ErrorPath& path, FieldErrors& errors) {
  const std::string_view host = look_text(source, {"path"});
  if (host.empty()) return errors.required(path / "path");
  for (std::string_view rest = host;;) {
    const std::size_t slash = rest.find('/');
    if (rest.substr(0, slash) == "..") {
      errors.invalid(path / "path", host, "must not contain '..'");
      break;
    }
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  constexpr auto kTypes =
      std::to_array<std::string_view>({"", "BlockDevice", "CharDevice", "Directory",
                                       "DirectoryOrCreate", "File", "FileOrCreate", "Socket"});
  const std::string_view type = look_text(source, {"type"});
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
    errors.not_supported(path / "type", type,
                         {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                          "FileOrCreate", "Socket"});
  }
}

void check_required_text(const json::object& source, std::string_view field, const ErrorPath& path,
                         FieldErrors& errors) {
  if (look_text(source, {field}).empty()) errors.required(path / field);
}

void check_source(std::string_view kind, const json::object& source, const json::object& spec,
                  const PodRules& rules, const ErrorPath& path, FieldErrors& errors) {
  if (kind == "emptyDir") {
    const auto limit = Quantity::parse(look_text(source, {"sizeLimit"}));
    if (limit && limit->sign() < 0) {
      errors.forbidden(path / "sizeLimit", "SizeLimit field must be a valid resource quantity");
    }
  } else if (kind == "hostPath") {
    check_host_path(source, path, errors);
  } else if (kind == "secret") {
    check_required_text(source, "secretName", path, errors);
    check_mode(source, "defaultMode", path, errors);
    check_keys(source, path, errors);
  } else if (kind == "configMap") {
    check_required_text(source, "name", path, errors);
    check_mode(source, "defaultMode", path, errors);
    check_keys(source, path, errors);
  } else if (kind == "persistentVolumeClaim") {
    check_required_text(source, "claimName", path, errors);
  } else if (kind == "nfs") {
    check_required_text(source, "server", path, errors);
    check_required_text(source, "path", path, errors);
  } else if (kind == "csi") {
    check_required_text(source, "driver", path, errors);
  } else if (kind == "downwardAPI") {
    check_downward(source, spec, rules, path, errors);
  } else if (kind == "projected") {
    check_projected(source, spec, rules, path, errors);
  }
}

}  // namespace

NameSet check_volumes(const json::object& spec, const PodRules& rules, FieldErrors& errors) {
  NameSet names;
  const json::array& volumes = look_array(spec, {"volumes"});
  for (std::size_t i = 0; i < volumes.size() && !errors.full(); ++i) {
    const json::object& volume = as_object_or_empty(volumes[i]);
    const ErrorPath path = ErrorPath("spec") / "volumes" / i;
    FieldErrors found;
    std::size_t sources = 0;
    for (const auto& [kind, source] : volume) {
      if (kind == "name") continue;
      if (++sources > 1) {
        found.forbidden(path / kind, "may not specify more than 1 volume type");
      } else {
        check_source(kind, as_object_or_empty(source), spec, rules, path / kind, found);
      }
    }
    if (sources == 0) found.required(path, "must specify a volume type");
    const std::string_view name = look_text(volume, {"name"});
    if (name.empty()) {
      found.required(path / "name");
    } else {
      found.add_all(path / "name", name, dns_label_problems(name));
    }
    if (names.contains(name)) found.duplicate(path / "name", name);
    if (found.empty()) names.emplace(name);
    errors.append(std::move(found));
  }
  return names;
}

}  // namespace corehold
