// SPDX-License-Identifier: Apache-2.0
//
// Lists, pages, tables, watches and discovery as recorded from a real API server: each case
// is replayed against src/api, or is named here with the reason why not.
#include <algorithm>
#include <map>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "api/json/time_text.h"
#include "api/patch/patch.h"
#include "api/serve/discovery.h"
#include "api/serve/media_type.h"
#include "api/serve/openapi.h"
#include "api/status.h"
#include "node_api.h"
#include "recorded.h"

namespace corehold {
namespace {

namespace json = boost::json;

RecordedCase only_case(std::string_view name) { return recorded_cases(name).front(); }

void expect_same(const RecordedCase& recorded, const NodeAnswer& ours) {
  EXPECT_EQ(recorded.code(), ours.code) << recorded.id;
  EXPECT_TRUE(agrees(recorded.body(), ours.body)) << recorded.id;
  const json::object& headers = recorded.exchange.at("response").at("headers").as_object();
  EXPECT_EQ(headers.at("Content-Type"), json::value(ours.content_type)) << recorded.id;
}

// ---- tables ----

// What the rows of the tables were made of: metadata is in the recorded rows, the rest, which
// the recorder had written himself, is here.
const std::map<std::string, std::string, std::less<>> kPods{
    {"creating", R"({"spec":{"nodeName":"node-0","containers":[{"name":"app"}]},
        "status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,
        "restartCount":0,"state":{"waiting":{"reason":"ContainerCreating"}}}]}})"},
    {"done", R"({"spec":{"nodeName":"node-0","containers":[{"name":"app"}]},
        "status":{"phase":"Succeeded","containerStatuses":[{"name":"app","ready":false,
        "restartCount":0,"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}})"},
    {"gated", R"({"spec":{"containers":[{"name":"app"}],"schedulingGates":[{"name":"x/y"}]},
        "status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
        "reason":"SchedulingGated"}]}})"},
    {"initing", R"({"spec":{"nodeName":"node-0","containers":[{"name":"app"}],"initContainers":
        [{"name":"one"},{"name":"two","restartPolicy":"Always"},{"name":"three"}]},
        "status":{"phase":"Pending","initContainerStatuses":[
        {"name":"one","restartCount":0,"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
        {"name":"two","restartCount":0,"state":{"waiting":{"reason":"PodInitializing"}}},
        {"name":"three","restartCount":0,"state":{"waiting":{"reason":"PodInitializing"}}}],
        "containerStatuses":[{"name":"app","restartCount":0,
        "state":{"waiting":{"reason":"PodInitializing"}}}]}})"},
    {"leaving", R"({"spec":{"nodeName":"node-0","containers":[{"name":"app"}]},
        "status":{"phase":"Running","containerStatuses":[{"name":"app","ready":true,
        "restartCount":0,"state":{"running":{}}}]}})"},
    {"oom", R"({"spec":{"nodeName":"node-0","containers":[{"name":"app"}]},
        "status":{"phase":"Failed","containerStatuses":[{"name":"app","ready":false,
        "restartCount":0,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}})"},
    {"pending", R"({"spec":{"containers":[{"name":"app"}]},"status":{"phase":"Pending"}})"},
    {"rejected", R"({"spec":{"nodeName":"node-0","containers":[{"name":"app"}]},
        "status":{"phase":"Failed","reason":"PodFeatureUnsupported"}})"},
    {"run", R"({"spec":{"nodeName":"node-0","containers":[{"name":"app"}]},
        "status":{"phase":"Running","podIP":"10.244.0.5","podIPs":[{"ip":"10.244.0.5"}],
        "containerStatuses":[{"name":"app","ready":true,"restartCount":0,
        "state":{"running":{"startedAt":"2026-11-15T20:10:00Z"}}}]}})"},
};

const std::map<std::string, std::string, std::less<>> kNodes{
    {"node-0", R"json({"status":{"conditions":[{"type":"Ready","status":"True"}],
        "addresses":[{"type":"InternalIP","address":"192.0.2.16"}],
        "nodeInfo":{"kubeletVersion":"v1.37.0","osImage":"Debian GNU/Linux 13 (trixie)",
        "kernelVersion":"6.12.0-amd64","architecture":"amd64",
        "containerRuntimeVersion":"containerd://2.1.9"}}})json"},
    {"node-1", R"json({"spec":{"unschedulable":true},
        "status":{"conditions":[{"type":"Ready","status":"False"}],
        "addresses":[{"type":"InternalIP","address":"192.0.2.17"}],
        "nodeInfo":{"kubeletVersion":"v1.37.0","osImage":"Debian GNU/Linux 13 (trixie)",
        "kernelVersion":"6.12.0-amd64","architecture":"amd64",
        "containerRuntimeVersion":"containerd://2.1.9"}}})json"},
};

const std::map<std::string, std::string, std::less<>> kEvents{
    {"e0", R"({"type":"Warning","reason":"ResizeStarted","message":"Pod resize started: cpu 2 -> 4",
        "involvedObject":{"kind":"Pod","name":"run","namespace":"default"},"count":2,
        "source":{"component":"corehold","host":"node-0"},
        "firstTimestamp":"2026-11-15T20:10:00Z","lastTimestamp":"2026-11-15T20:10:00Z"})"},
    {"e1", R"({"type":"Normal","reason":"Starting","message":"Starting agent.\n",
        "involvedObject":{"kind":"Node","name":"node-0"},"source":{"component":"corehold"},
        "firstTimestamp":"2026-11-15T20:10:00Z","lastTimestamp":"2026-11-15T20:10:00Z"})"},
};

class RecordedTables : public testing::Test {
 protected:
  RecordedTables() {
    api_.now = *parse_time("2026-11-15T20:46:40Z");
    add_rows(Resource::kNamespaces, "tables/namespaces.json");
    add_rows(Resource::kNodes, "tables/nodes.json");
    add_rows(Resource::kPods, "tables/pods.json");
    add_rows(Resource::kEvents, "tables/events.json");
    api_.advance(2780);
  }

  // The objects of the rows of a table, oldest first.
  void add_rows(Resource resource, std::string_view file) {
    std::map<std::uint64_t, json::object> objects;
    const RecordedCase recorded = only_case(file);
    for (const json::value& row : recorded.body().at("rows").as_array()) {
      const json::object& metadata = row.at("object").at("metadata").as_object();
      json::object object = rest_of(resource, metadata.at("name").as_string());
      object["metadata"] = metadata;
      objects[std::stoull(std::string(metadata.at("resourceVersion").as_string()))] = object;
    }
    for (auto& [version, object] : objects) api_.put(resource, object);
  }

  static json::object rest_of(Resource resource, std::string_view name) {
    if (resource == Resource::kNamespaces) return {{"status", json::object{{"phase", "Active"}}}};
    if (name == "crash") {
      return only_case("tables/pods-include-object.json")
          .body()
          .at("rows")
          .at(0)
          .at("object")
          .as_object();
    }
    const auto& rest = resource == Resource::kPods    ? kPods
                       : resource == Resource::kNodes ? kNodes
                                                      : kEvents;
    return json::parse(rest.at(std::string(name))).as_object();
  }

  NodeApi api_{1};
};

TEST_F(RecordedTables, AreOurs) {
  const std::vector<std::string> files = recorded_files("tables");
  EXPECT_EQ(files.size(), 9U);
  for (const std::string& file : files) {
    for (const RecordedCase& recorded : recorded_cases(file)) {
      expect_same(recorded, api_.get(recorded));
    }
  }
}

// ---- lists and watches ----

// The five nodes of 01-list.json and the two of the tables.
void add_nodes(NodeApi& api) {
  for (const char* name : {"node-0", "node-1"}) {
    json::object node = json::parse(kNodes.at(name)).as_object();
    node["metadata"] =
        json::object{{"name", name}, {"resourceVersion", name[5] == '0' ? "7" : "8"}};
    api.put(Resource::kNodes, node);
  }
  const RecordedCase list = only_case("watch/01-list.json");
  for (const json::value& node : list.body().at("items").as_array()) {
    api.put(Resource::kNodes, node);
  }
}

// What happened while 04-watch.json was recorded, as its events tell it: a node created, one
// changed, the label taken from one and given back, the first one deleted.
void change_nodes(NodeApi& api) {
  const RecordedCase watch = only_case("watch/04-watch.json");
  const json::array& events = watch.body().as_array();
  for (const std::size_t i : {0U, 1U}) api.put(Resource::kNodes, events.at(i).at("object"));
  json::value unlabelled = events.at(2).at("object");
  unlabelled.at("metadata").at("labels").as_object().erase("set");
  api.put(Resource::kNodes, unlabelled);
  api.put(Resource::kNodes, events.at(3).at("object"));
  EXPECT_TRUE(api.log(Resource::kNodes).remove("", "list-9", 2869));
}

// By the part of the id that says why: the rest of the cases in the same file are replayed.
const std::map<std::string, std::string, std::less<>> kNotReplayed{
    {"watch/09-status-errors.json: bad bearer token", "who is asking is the agent's to find out"},
    {"watch/09-status-errors.json: no credentials at all (anonymous)", "no anonymous access"},
    {"watch/09-status-errors.json: known user without rights: list", "no users but one"},
    {"watch/09-status-errors.json: known user without rights: watch", "no users but one"},
    {"watch/09-status-errors.json: get one", "no users but one"},
    {"watch/09-status-errors.json: patch a subresource", "no users but one"},
    {"watch/09-status-errors.json: node status patch", "no users but one"},
    {"watch/09-status-errors.json: method not allowed", "routes are the agent's"},
    {"watch/09-status-errors.json: conflict: already exists", "nodes cannot be created here"},
    {"watch/09-status-errors.json: conflict: stale resourceVersion", "writing is the agent's"},
    {"watch/09-status-errors.json: conflict: patch with a stale resourceVersion",
     "writing is the agent's"},
    {"watch/09-status-errors.json: patch with a wrong uid", "writing is the agent's"},
    {"watch/09-status-errors.json: delete with a wrong uid precondition",
     "nodes cannot be deleted here"},
    {"watch/09-status-errors.json: body is not JSON", "nodes cannot be created here"},
    {"watch/09-status-errors.json: wrong kind", "nodes cannot be created here"},
};

// The cases of a file that are replayed; `left_out` collects the ids of the others.
std::vector<RecordedCase> replayed(std::string_view file,
                                   std::set<std::string>* left_out = nullptr) {
  std::vector<RecordedCase> cases = recorded_cases(file);
  std::erase_if(cases, [&](const RecordedCase& one) {
    const bool out = kNotReplayed.contains(one.id);
    if (out && left_out != nullptr) left_out->insert(one.id);
    return out;
  });
  return cases;
}

TEST(RecordedLists, AreOurs) {
  NodeApi api(1);
  add_nodes(api);
  for (const char* file : {"watch/01-list.json", "watch/03-list-errors-and-forms.json"}) {
    for (const RecordedCase& recorded : recorded_cases(file))
      expect_same(recorded, api.get(recorded));
  }
}

// The recorder has left of each item of a page but a part.
TEST(RecordedPages, AreOurs) {
  NodeApi api(1);
  add_nodes(api);
  for (const RecordedCase& recorded : recorded_cases("watch/02-list-paged.json")) {
    const NodeAnswer ours = api.get(recorded);
    EXPECT_EQ(recorded.code(), ours.code) << recorded.id;
    EXPECT_TRUE(contains(recorded.body(), ours.body)) << recorded.id;
    EXPECT_TRUE(agrees(recorded.body().at("metadata"), ours.body.at("metadata"))) << recorded.id;
  }
}

TEST(RecordedWatches, AreOurs) {
  NodeApi api(1);
  add_nodes(api);
  change_nodes(api);
  for (const char* file : {"watch/04-watch.json", "watch/05-watch-timeout-bookmark.json"}) {
    for (const RecordedCase& recorded : recorded_cases(file))
      expect_same(recorded, api.get(recorded));
  }
  api.advance(2873);
  const RecordedCase list = only_case("watch/06-watchlist.json");
  expect_same(list, api.get(list));
  for (const RecordedCase& recorded : recorded_cases("watch/07-watch-variants.json")) {
    NodeAnswer ours = api.get(recorded);
    // A refusal was recorded as if it were the one line of a stream.
    if (ours.code == 500) ours.body = json::array{ours.body};
    expect_same(recorded, ours);
  }
}

TEST(RecordedWatches, AsTheyGoOnAreOurs) {
  NodeApi api(1);
  add_nodes(api);
  const RecordedCase recorded = only_case("watch/04-watch.json");
  const WatchLog& log = api.log(Resource::kNodes);
  Watch watch = log.watch(*watch_options(recorded.query(), Resource::kNodes), {});
  EXPECT_TRUE(log.take(watch, {}).lines.empty());
  change_nodes(api);
  json::array events;
  for (const WatchLine& line : log.take(watch, {}).lines) events.push_back(json::parse(*line));
  EXPECT_TRUE(agrees(recorded.body(), events));
}

TEST(RecordedBookmarks, AreOurs) {
  NodeApi api(1413);
  const RecordedCase recorded = only_case("watch/05b-watch-minute-bookmarks.json");
  const WatchLog& log = api.log(Resource::kNodes);
  Watch watch = log.watch(*watch_options(recorded.query(), Resource::kNodes), {});
  json::array events;
  for (const WatchLine& line : log.take(watch, {}).lines) events.push_back(json::parse(*line));
  for (const std::uint64_t version : {2590U, 2696U}) {
    api.advance(version);
    EXPECT_TRUE(log.take(watch, {}).lines.empty());
    events.push_back(json::parse(*log.bookmark(watch, {})));
  }
  EXPECT_TRUE(agrees(recorded.body(), events));
}

TEST(RecordedAnswersOfWhatIsGone, AreOurs) {
  NodeApi api(2733);
  for (const RecordedCase& recorded : recorded_cases("watch/08-gone-410.json")) {
    expect_same(recorded, api.get(recorded));
  }
}

TEST(RecordedErrors, AreOurs) {
  NodeApi api(1);
  add_nodes(api);
  std::set<std::string> left_out;
  for (const RecordedCase& recorded : replayed("watch/09-status-errors.json", &left_out)) {
    const json::object& request = recorded.exchange.at("request").as_object();
    if (request.at("method") == "PATCH") {
      ASSERT_FALSE(patch_kind(request.at("headers").at("Content-Type").as_string()));
      const ApiStatus status{.reason = StatusReason::kUnsupportedMedia,
                             .message = std::string(kUnsupportedPatchText),
                             .has_details = true};
      expect_same(recorded, {.code = http_code(status), .body = to_json(status)});
      continue;
    }
    ASSERT_EQ(request.at("method"), "GET") << recorded.id;
    expect_same(recorded, api.get(recorded));
  }
  EXPECT_EQ(left_out.size(), kNotReplayed.size()) << "a reason for a case that is not there";
}

TEST(RecordedWatches, NoneIsForgotten) {
  EXPECT_EQ(recorded_files("watch"),
            (std::vector<std::string>{"watch/01-list.json", "watch/02-list-paged.json",
                                      "watch/03-list-errors-and-forms.json", "watch/04-watch.json",
                                      "watch/05-watch-timeout-bookmark.json",
                                      "watch/05b-watch-minute-bookmarks.json",
                                      "watch/06-watchlist.json", "watch/07-watch-variants.json",
                                      "watch/08-gone-410.json", "watch/09-status-errors.json"}));
}

// ---- discovery ----

const json::value* named(const json::value& list, std::string_view key, const json::value& name) {
  for (const json::value& one : list.as_array()) {
    if (one.at(key) == name) return &one;
  }
  return nullptr;
}

bool all_of_these(const json::value& ours, const json::value& recorded) {
  const json::array& known = recorded.as_array();
  return std::all_of(ours.as_array().begin(), ours.as_array().end(), [&](const json::value& verb) {
    return std::find(known.begin(), known.end(), verb) != known.end();
  });
}

// What we serve is told as recorded; of verbs and subresources we may have fewer.
void expect_cut(const json::value& recorded, const json::value& ours, std::string_view key) {
  for (const json::value& one : ours.as_array()) {
    const json::value* found = named(recorded, key, one.at(key));
    ASSERT_NE(found, nullptr) << one;
    json::object left = found->as_object();
    json::object right = one.as_object();
    EXPECT_TRUE(all_of_these(right.at("verbs"), left.at("verbs"))) << one;
    left.erase("verbs");
    right.erase("verbs");
    left.erase("storageVersionHash");  // for those who move stored objects, which we do not
    if (right.contains("subresources")) {
      expect_cut(left.at("subresources"), right.at("subresources"), "subresource");
    }
    left.erase("subresources");
    right.erase("subresources");
    EXPECT_TRUE(agrees(left, right)) << one;
  }
}

TEST(RecordedDiscovery, OfCoreResourcesIsOursCutToWhatANodeServes) {
  const json::value aggregated = only_case("discovery/api-aggregated.json").body();
  const json::object ours = aggregated_core_json("v2");
  const json::value& recorded_version = aggregated.at("items").at(0).at("versions").at(0);
  const json::value& our_version = ours.at("items").at(0).at("versions").at(0);
  expect_cut(recorded_version.at("resources"), our_version.at("resources"), "resource");
  json::value rest = aggregated;
  json::value our_rest = ours;
  rest.at("items").at(0).at("versions").at(0).as_object().erase("resources");
  our_rest.at("items").at(0).at("versions").at(0).as_object().erase("resources");
  EXPECT_TRUE(agrees(rest, our_rest));

  const json::value plain = only_case("discovery/api-v1-plain.json").body();
  const json::object our_plain = core_resource_list_json();
  expect_cut(plain.at("resources"), our_plain.at("resources"), "name");
  EXPECT_EQ(plain.at("kind"), our_plain.at("kind"));
  EXPECT_EQ(plain.at("groupVersion"), our_plain.at("groupVersion"));

  EXPECT_TRUE(
      agrees(only_case("discovery/api-plain.json").body(), api_versions_json("127.0.0.1:16443")));
}

// The groups themselves are others: none of those recorded is served.
TEST(RecordedDiscovery, OfGroupsHasTheSameShape) {
  const auto keys = [](const json::value& value) {
    std::set<std::string> names;
    for (const auto& field : value.as_object()) names.insert(std::string(field.key()));
    return names;
  };
  const json::value plain = only_case("discovery/apis-plain.json").body();
  const json::value ours = api_group_list_json();
  EXPECT_EQ(keys(plain), keys(ours));
  EXPECT_EQ(keys(plain.at("groups").at(0)), keys(ours.at("groups").at(0)));
  const json::value aggregated = only_case("discovery/apis-aggregated.json").body();
  const json::value our_aggregated = aggregated_groups_json("v2");
  EXPECT_EQ(keys(aggregated), keys(our_aggregated));
  EXPECT_EQ(keys(aggregated.at("items").at(0)), keys(our_aggregated.at("items").at(0)));
  EXPECT_EQ(keys(aggregated.at("items").at(0).at("versions").at(0)),
            keys(our_aggregated.at("items").at(0).at("versions").at(0)));
}

TEST(RecordedDiscovery, IsNegotiatedAndRevalidated) {
  const auto form =
      negotiate(only_case("discovery/api-aggregated.json").accept(), Endpoint::kDiscovery);
  ASSERT_TRUE(form);
  EXPECT_EQ(json::value(form->content_type), only_case("discovery/api-aggregated.json")
                                                 .exchange.at("response")
                                                 .at("headers")
                                                 .at("Content-Type"));
  const std::vector<RecordedCase> cases = recorded_cases("discovery/etag.json");
  const json::value& sent = cases.at(1).exchange.at("request").at("headers").at("If-None-Match");
  const json::value& given = cases.at(0).exchange.at("response").at("headers").at("Etag");
  EXPECT_TRUE(etag_matches(sent.as_string(), given.as_string()));
}

TEST(RecordedDiscovery, OfTheVersionHasTheSameFields) {
  const json::value recorded = only_case("discovery/version.json").body();
  const json::object ours = version_json({.corehold = "0.1.0", .platform = "linux/amd64"});
  for (const auto& field : recorded.as_object()) {
    ASSERT_TRUE(ours.contains(field.key())) << std::string(field.key());
    EXPECT_TRUE(ours.at(field.key()).is_string()) << std::string(field.key());
  }
  EXPECT_EQ(ours.size(), recorded.as_object().size());
  for (const char* same : {"major", "minor", "minCompatibilityMinor", "platform"}) {
    EXPECT_EQ(ours.at(same), recorded.at(same)) << same;
  }
}

TEST(RecordedDiscovery, OfOpenApiLeadsToTheDocument) {
  const json::value recorded = only_case("discovery/openapi-v3-index.json").body();
  const json::object ours = openapi_index_json();
  constexpr std::string_view kBefore = "/openapi/v3/api/v1?hash=";
  for (const json::value& index : {recorded, json::value(ours)}) {
    const json::value& address = index.at("paths").at("api/v1").at("serverRelativeURL");
    EXPECT_TRUE(std::string_view(address.as_string()).starts_with(kBefore)) << address;
  }
}

// discovery/health.json is not here: its answers are plain text of the agent's own checks.
TEST(RecordedDiscovery, NoneIsForgotten) {
  EXPECT_EQ(
      recorded_files("discovery"),
      (std::vector<std::string>{"discovery/api-aggregated.json", "discovery/api-plain.json",
                                "discovery/api-v1-plain.json", "discovery/apis-aggregated.json",
                                "discovery/apis-plain.json", "discovery/etag.json",
                                "discovery/openapi-v3-index.json", "discovery/version.json"}));
}

}  // namespace
}  // namespace corehold
