// SPDX-License-Identifier: Apache-2.0
#include "cli/client/kubeconfig.h"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "pod/json_field.h"
#include "pod/yaml_document.h"
#include "sys/base64.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxFile = std::size_t{1} << 20U;

// The `kind` of that name in the list `list`.
Result<const json::object*> find_named(const json::object& document, const std::string& list,
                                       const std::string& kind, const std::string& name) {
  const json::array* items = TRY(array_field(document, Path(), list));
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const json::object* item = (*items)[i].if_object();
    const Path at = Path() / list / i;
    if (item == nullptr || TRY(string_field(*item, at, "name")) != name) continue;
    if (const json::object* found = TRY(object_field(*item, at, kind))) return found;
  }
  return Error{Code::kInvalid, fmt::format("there is no {} {:?}", kind, name)};
}

// The file that a field names, from `directory` unless it is absolute.
Result<std::string> read_named(const std::string& path, const std::string& directory) {
  return read_file(path.starts_with('/') ? path : directory + "/" + path, kMaxFile);
}

Result<std::string> authority_of(const json::object& cluster, const std::string& directory) {
  const std::string data = TRY(string_field(cluster, Path(), "certificate-authority-data"));
  if (!data.empty()) {
    auto bytes = from_base64(data);
    if (!bytes) return wrap("certificate-authority-data", bytes.error());
    return bytes;
  }
  const std::string path = TRY(string_field(cluster, Path(), "certificate-authority"));
  if (!path.empty()) return read_named(path, directory);
  return Error{Code::kInvalid, "the cluster has no certificate-authority-data"};
}

Result<std::string> token_of(const json::object& user, const std::string& directory) {
  std::string token = TRY(string_field(user, Path(), "token"));
  const std::string path = TRY(string_field(user, Path(), "tokenFile"));
  if (token.empty() && !path.empty()) token = TRY(read_named(path, directory));
  while (token.ends_with('\n')) token.pop_back();
  if (token.empty()) return Error{Code::kInvalid, "the user has no token"};
  return token;
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& directory) {
  const auto documents = TRY(parse_yaml(text));
  const json::object* document = documents.empty() ? nullptr : documents.front().if_object();
  if (document == nullptr || TRY(string_field(*document, Path(), "kind")) != "Config") {
    return Error{Code::kInvalid, "is no kubeconfig"};
  }
  const std::string current = TRY(string_field(*document, Path(), "current-context"));
  const json::object* context = TRY(find_named(*document, "contexts", "context", current));
  const std::string cluster_name = TRY(string_field(*context, Path(), "cluster"));
  const std::string user_name = TRY(string_field(*context, Path(), "user"));
  const json::object* cluster = TRY(find_named(*document, "clusters", "cluster", cluster_name));
  const json::object* user = TRY(find_named(*document, "users", "user", user_name));
  Kubeconfig found{.server = TRY(string_field(*cluster, Path(), "server"))};
  found.authority = TRY(authority_of(*cluster, directory));
  found.token = TRY(token_of(*user, directory));
  return found;
}

Result<Kubeconfig> read_kubeconfig(const std::string& path) {
  const std::string text = TRY(read_file(path, kMaxFile));
  const std::size_t slash = path.rfind('/');
  auto found = parse_kubeconfig(text, slash == std::string::npos ? "." : path.substr(0, slash + 1));
  if (!found) return wrap(path, found.error());
  return found;
}

}  // namespace corehold
