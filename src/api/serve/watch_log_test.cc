// SPDX-License-Identifier: Apache-2.0
#include "api/serve/watch_log.h"

#include <set>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/object/typed_reader.h"

namespace corehold {
namespace {

namespace json = boost::json;
using testing::ElementsAre;

json::object pod(std::string_view namespace_name, std::string_view name, std::string_view app) {
  return {{"kind", "Pod"},
          {"apiVersion", "v1"},
          {"metadata", json::object{{"name", name},
                                    {"namespace", namespace_name},
                                    {"labels", json::object{{"app", app}}}}},
          {"spec", json::object{{"containers", json::array()}}}};
}

class WatchLogOf : public testing::Test {
 protected:
  void put(std::string_view name, std::string_view app = "web",
           std::string_view where = "default") {
    log_.put(pod(where, name, app), log_.version() + 1);
  }
  void remove(std::string_view name) { log_.remove("default", name, log_.version() + 1); }

  Watch watch(const QueryParameters& query, const std::string& where = "") {
    auto options = watch_options(query, Resource::kPods);
    EXPECT_TRUE(options);
    options->namespace_name = where;
    return log_.watch(*options, {});
  }
  ListPage list(const QueryParameters& query, const std::string& where = "") {
    auto options = list_options(query, Resource::kPods);
    EXPECT_TRUE(options);
    options->namespace_name = where;
    auto page = log_.list(*options);
    EXPECT_TRUE(page) << page.error().message;
    return page ? *std::move(page) : ListPage{};
  }
  ApiStatus refusal(const QueryParameters& query) {
    const auto page = log_.list(*list_options(query, Resource::kPods));
    EXPECT_FALSE(page);
    return page ? ApiStatus{} : page.error();
  }
  static std::vector<std::string> names(const ListPage& page) {
    std::vector<std::string> found;
    for (const ObjectPtr& object : page.items) found.push_back(object->name());
    return found;
  }
  // "ADDED a 11"
  static std::vector<std::string> told(const Taken& taken) {
    std::vector<std::string> found;
    for (const WatchLine& line : taken.lines) {
      EXPECT_EQ(line->back(), '\n');
      const json::value event = json::parse(*line);
      const json::object& object = event.at("object").as_object();
      std::string text(event.at("type").as_string());
      if (object.at("kind") == "Status") {
        text += " " + std::string(object.at("message").as_string());
      } else {
        const json::object& metadata = object.at("metadata").as_object();
        if (metadata.contains("name")) text += " " + std::string(metadata.at("name").as_string());
        text += " " + std::string(metadata.at("resourceVersion").as_string());
      }
      found.push_back(std::move(text));
    }
    return found;
  }
  std::vector<std::string> take(Watch& watch) { return told(log_.take(watch, {})); }

  WatchLog log_{Resource::kPods, 10, {.changes = 4}};
};

TEST_F(WatchLogOf, TheSameObjectAgainIsNoChange) {
  EXPECT_TRUE(log_.put_if_other(pod("default", "a", "web"), log_.version() + 1));
  const std::uint64_t first = log_.version();
  EXPECT_FALSE(log_.put_if_other(pod("default", "a", "web"), first + 1));
  EXPECT_EQ(log_.version(), first);
  EXPECT_EQ(log_.find("default", "a")->version(), first);
  EXPECT_TRUE(log_.put_if_other(pod("default", "a", "db"), first + 1));
  EXPECT_EQ(log_.find("default", "a")->version(), first + 1);
}

TEST_F(WatchLogOf, TellsChangesAsTheSelectorSeesThem) {
  Watch all = watch({{"resourceVersion", "10"}});
  Watch web = watch({{"resourceVersion", "10"}, {"labelSelector", "app=web"}});
  put("a", "web");
  put("a", "db");
  put("a", "web");
  remove("a");
  EXPECT_THAT(take(all),
              ElementsAre("ADDED a 11", "MODIFIED a 12", "MODIFIED a 13", "DELETED a 14"));
  EXPECT_THAT(take(web), ElementsAre("ADDED a 11", "DELETED a 12", "ADDED a 13", "DELETED a 14"));
  EXPECT_THAT(take(all), ElementsAre());
}

TEST_F(WatchLogOf, TellsOneNamespaceOrOneNameOnly) {
  Watch there = watch({{"resourceVersion", "10"}}, "there");
  Watch named = watch({{"resourceVersion", "10"}, {"fieldSelector", "metadata.name=b"}});
  put("a", "web", "there");
  put("b");
  EXPECT_THAT(take(there), ElementsAre("ADDED a 11"));
  EXPECT_THAT(take(named), ElementsAre("ADDED b 12"));
}

TEST_F(WatchLogOf, BeginsWithWhatThereIsAndMarksTheEndOfIt) {
  put("b");
  put("a");
  Watch marked = watch({{"allowWatchBookmarks", "true"},
                        {"sendInitialEvents", "true"},
                        {"resourceVersionMatch", "NotOlderThan"}});
  Watch plain = watch({{"resourceVersion", "0"}});
  put("c");
  const Taken taken = log_.take(marked, {});
  EXPECT_THAT(told(taken), ElementsAre("ADDED a 12", "ADDED b 11", "BOOKMARK 12", "ADDED c 13"));
  EXPECT_EQ(json::parse(*taken.lines[2]).at("object").at("metadata").at("annotations"),
            (json::value{{"k8s.io/initial-events-end", "true"}}));
  EXPECT_THAT(take(plain), ElementsAre("ADDED a 12", "ADDED b 11", "ADDED c 13"));
}

TEST_F(WatchLogOf, AThousandWatchersOfOneChangeShareItsBytes) {
  std::vector<Watch> watches(1000, watch({{"resourceVersion", "10"}}));
  for (std::size_t i = 0; i < watches.size(); i += 2) {
    watches[i] = watch({{"resourceVersion", "10"}, {"labelSelector", "app in (web,db)"}});
  }
  put("a");
  std::set<const std::string*> lines;
  for (Watch& one : watches) {
    const Taken taken = log_.take(one, {});
    ASSERT_EQ(taken.lines.size(), 1U);
    lines.insert(taken.lines.front().get());
  }
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(WatchLogOf, RendersATableAnewWhenAgesHaveChanged) {
  const auto options = *watch_options({{"resourceVersion", "10"}}, Resource::kPods);
  const ObjectView view{AnswerForm::kTable, "v1"};
  std::vector<Watch> watches(3, log_.watch(options, view));
  put("a");
  const auto line = [&](std::size_t i, int at) {
    return log_.take(watches[i], std::chrono::milliseconds(at)).lines.front();
  };
  const WatchLine first = line(0, 1000);
  EXPECT_EQ(line(1, 1999), first);
  EXPECT_NE(line(2, 2000), first);
  EXPECT_NE(json::parse(*first).at("object").at("columnDefinitions"), json::value(nullptr));
  put("b");
  EXPECT_EQ(json::parse(*line(0, 3000)).at("object").at("columnDefinitions"), json::value(nullptr));
}

TEST_F(WatchLogOf, TellsAWatcherThatIsTooSlowToBeginAnew) {
  Watch slow = watch({{"resourceVersion", "10"}});
  for (int i = 0; i < 5; ++i) put("a");
  EXPECT_EQ(log_.oldest(), 11U);
  const Taken taken = log_.take(slow, {});
  EXPECT_TRUE(taken.ended);
  EXPECT_THAT(told(taken), ElementsAre("ERROR too old resource version: 10 (11)"));
  Watch just = watch({{"resourceVersion", "11"}});
  EXPECT_EQ(take(just).size(), 4U);
}

TEST_F(WatchLogOf, ForgetsEarlierWhenObjectsAreLarge) {
  WatchLog small(Resource::kPods, 10, {.changes = 1000, .bytes = 300});
  for (std::uint64_t version = 11; version < 20; ++version) {
    small.put(pod("default", "a", "web"), version);
  }
  EXPECT_GT(small.oldest(), 15U);
  EXPECT_LT(small.oldest(), 19U);
  EXPECT_EQ(small.find("default", "a")->version(), 19U);
}

// A watcher that takes nothing meanwhile, because it is still being sent the first.
TEST(WatchLogLimits, HoldTheWholeLifeOfTheLargestObject) {
  WatchLog log(Resource::kPods, 10);
  auto options = watch_options({{"resourceVersion", "10"}}, Resource::kPods);
  ASSERT_TRUE(options);
  Watch watch = log.watch(*options, {});
  constexpr int kChanges = 16;  // created, scheduled, started, ready, ..., deleted
  for (int i = 0; i < kChanges; ++i) {
    json::object large = pod("default", "large", std::to_string(i));
    large["padding"] = std::string(kMaxObjectBytes, 'x');
    log.put(std::move(large), log.version() + 1);
  }
  int taken = 0;
  for (bool more = true; more;) {
    const Taken lines = log.take(watch, {});
    ASSERT_FALSE(lines.ended) << "410 after " << taken;
    taken += static_cast<int>(lines.lines.size());
    more = lines.more;
  }
  EXPECT_EQ(taken, kChanges);
}

TEST_F(WatchLogOf, GivesNoMoreThanIsAskedForAtOnce) {
  for (const char* name : {"a", "b", "c"}) put(name);
  Watch one = watch({{"resourceVersion", "0"}});
  Taken taken = log_.take(one, {}, 1);
  EXPECT_THAT(told(taken), ElementsAre("ADDED a 11"));
  EXPECT_TRUE(taken.more);
  taken = log_.take(one, {});
  EXPECT_THAT(told(taken), ElementsAre("ADDED b 12", "ADDED c 13"));
  EXPECT_FALSE(taken.more);
}

TEST_F(WatchLogOf, BookmarksSpeakOfTheNewestVersionOfAnyResource) {
  Watch one = watch({{"resourceVersion", "10"}, {"allowWatchBookmarks", "true"}});
  log_.advance(99);
  log_.advance(50);
  const json::value event = json::parse(*log_.bookmark(one, {}));
  EXPECT_EQ(event.at("object").at("metadata"), (json::value{{"resourceVersion", "99"}}));
  EXPECT_EQ(event.at("object").at("spec"), (json::value{{"containers", nullptr}}));
}

TEST_F(WatchLogOf, PagesStayAsOldAsTheFirst) {
  for (const char* name : {"a", "b", "c"}) put(name);
  const ListPage first = list({{"limit", "2"}}, "default");
  EXPECT_THAT(names(first), ElementsAre("a", "b"));
  EXPECT_EQ(first.metadata.remaining, 1);
  put("d");
  remove("c");
  const ListPage second =
      list({{"limit", "2"}, {"continue", first.metadata.continue_token}}, "default");
  EXPECT_THAT(names(second), ElementsAre("c"));
  EXPECT_EQ(second.metadata.version, 13U);
  EXPECT_EQ(second.metadata.continue_token, "");
  EXPECT_THAT(names(list({{"resourceVersion", "12"}, {"resourceVersionMatch", "Exact"}})),
              ElementsAre("a", "b"));
}

TEST_F(WatchLogOf, PagesThatAreTooOldGoOnWithWhatThereIs) {
  for (const char* name : {"a", "b", "c"}) put(name);
  const ListPage first = list({{"limit", "1"}});
  for (int i = 0; i < 5; ++i) put("bb");
  const ApiStatus expired = refusal({{"limit", "1"}, {"continue", first.metadata.continue_token}});
  EXPECT_EQ(http_code(expired), 410);
  const ListPage rest = list({{"limit", "2"}, {"continue", expired.continue_token}});
  EXPECT_THAT(names(rest), ElementsAre("b", "bb"));
  EXPECT_EQ(rest.metadata.version, log_.version());
  EXPECT_THAT(names(list({{"continue", rest.metadata.continue_token}})), ElementsAre("c"));
}

TEST_F(WatchLogOf, ListsByNamespaceAndNameAndCountsOnlyWhatIsCertain) {
  put("z", "web", "a-b");
  put("a", "web", "a");
  put("b", "db", "a");
  EXPECT_THAT(names(list({})), ElementsAre("z", "a", "b"));
  EXPECT_THAT(names(list({}, "a")), ElementsAre("a", "b"));
  const ListPage web = list({{"labelSelector", "app"}, {"limit", "1"}});
  EXPECT_NE(web.metadata.continue_token, "");
  EXPECT_EQ(web.metadata.remaining, std::nullopt);
  EXPECT_EQ(list({{"labelSelector", "app=db"}, {"limit", "1"}}).metadata.continue_token, "");
}

TEST_F(WatchLogOf, AnswersListsOfVersionsToComeWithWait) {
  const ApiStatus status =
      refusal({{"resourceVersion", "99"}, {"resourceVersionMatch", "NotOlderThan"}});
  EXPECT_EQ(http_code(status), 504);
  EXPECT_EQ(status.retry_after, 1);
}

TEST_F(WatchLogOf, RemovingWhatIsNotThereIsNoChange) {
  EXPECT_FALSE(log_.remove("default", "nope", 11));
  EXPECT_EQ(log_.version(), 10U);
}

TEST(Views, RefuseAListAsOneObjectAndTheOtherWayRound) {
  const AcceptedForm one{AnswerForm::kPartialMetadata, "v1"};
  const AcceptedForm many{AnswerForm::kPartialMetadataList, "v1"};
  const auto view = [](const AcceptedForm& form, AnswerShape shape) {
    return view_of(form, IncludeObject::kMetadata, Resource::kPods, shape);
  };
  EXPECT_TRUE(view(one, AnswerShape::kOne));
  EXPECT_TRUE(view(many, AnswerShape::kList));
  EXPECT_EQ(view(one, AnswerShape::kList).error().message,
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*core.PodList)");
  EXPECT_FALSE(view(many, AnswerShape::kOne));
}

// The number of the version is the only thing that two versions may differ in.
TEST(ObjectVersions, AreTheSameButForTheirNumbers) {
  const auto version = [](json::object object, std::uint64_t number) {
    return ObjectVersion(Resource::kPods, std::move(object), number);
  };
  const auto annotated = [](std::string_view text) {
    json::object object = pod("default", "a", "web");
    object["metadata"].as_object()["annotations"] = json::object{{"resourceVersion", text}};
    return object;
  };
  const ObjectVersion nine = version(annotated("9"), 9);
  for (const std::uint64_t other : {9U, 7U, 90U, 123U}) {
    EXPECT_TRUE(nine.is_same_but_version(version(annotated("9"), other))) << other;
    EXPECT_TRUE(version(annotated("9"), other).is_same_but_version(nine)) << other;
    EXPECT_FALSE(nine.is_same_but_version(version(annotated("90"), other))) << other;
    EXPECT_FALSE(nine.is_same_but_version(version(pod("default", "a", "web"), other))) << other;
    EXPECT_FALSE(nine.is_same_but_version(version(pod("default", "a", "db"), other))) << other;
  }
  EXPECT_FALSE(nine.is_same_but_version(version(annotated("10"), 10)));
}

}  // namespace
}  // namespace corehold
