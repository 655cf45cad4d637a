// SPDX-License-Identifier: Apache-2.0
//
// Which objects of the node a command means, by name, namespace and selectors: the options
// that say so, and how the API is asked for them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "api/serve/resource.h"
#include "base/result.h"
#include "cli/client/agent_client.h"

namespace corehold {

struct ObjectQuery {
  std::vector<std::string> names{};  // pods also as NAMESPACE/NAME
  std::string namespace_name{};      // "": not said
  bool all_namespaces = false;
  std::string labels{};
  std::string fields{};
};

// Adds -n and -A, with what is meant when neither is given.
void add_namespace_options(CLI::App& command, ObjectQuery& query, const std::string& about);
// Adds -l and --field-selector.
void add_selector_options(CLI::App& command, ObjectQuery& query);

// Fails with kInvalid for what cannot be meant: names with selectors or -A.
Result<void> check_query(const ObjectQuery& query);

// Decoded names and values; those without value are left out.
using QueryWords = std::vector<std::pair<std::string_view, std::string>>;
std::string with_query(std::string target, const QueryWords& words);

// Where a list of them is asked for, selectors aside: of one namespace or of all. Pods are
// those of namespace default where nothing is said, events those of all.
std::string list_path(Resource resource, const ObjectQuery& query);
// The selectors, and for a single name that name.
QueryWords list_words(const ObjectQuery& query);

struct FoundObjects {
  boost::json::value answer{};  // the API's own, or a List where it was asked several times
  boost::json::array objects{};
  std::vector<Error> missing{};  // names that there is nothing for, or that cannot be had
};

// Fails as AgentClient::get, and with kInvalid for a name that is none.
Result<FoundObjects> find_objects(const AgentClient& client, Resource resource,
                                  const ObjectQuery& query);

// The items of a list. Fails with kCorrupt for what is no list of that kind ("PodList").
Result<boost::json::array> items_of(const boost::json::value& list, std::string_view kind);

// Where one object is asked for. Fails with kInvalid for a name that is none.
Result<std::string> object_path(Resource resource, const std::string& name,
                                const std::string& namespace_name);

}  // namespace corehold
