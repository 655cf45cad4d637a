// SPDX-License-Identifier: Apache-2.0
//
// get -w against an agent that tells what it is told to, and then goes.
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/pod/pod_object.h"
#include "cli/client/client_testing.h"
#include "cli/testing.h"

namespace corehold {
namespace {

namespace json = boost::json;

json::object pod_at(int version, std::string_view phase = "Running") {
  json::object pod = pod_object(kWebManifest, phase);
  pod["metadata"].get_object()["resourceVersion"] = std::to_string(version);
  return pod;
}

std::string line(std::string_view type, const json::value& object) {
  return json::serialize(json::object{{"type", type}, {"object", object}}) + "\n";
}

std::string expired() {
  return line("ERROR", to_json(ApiStatus{.reason = StatusReason::kExpired, .message = "too old"}));
}

// The nth list has the nth pods, the nth watch says the nth text and ends; after the last
// one the agent has had enough.
FakeAgent::Handler telling(const std::vector<json::value>& lists,
                           const std::vector<std::string>& watches) {
  return [lists, watches, listed = 0U, watched = 0U](const HttpExchangePtr& exchange) mutable {
    const std::string& target = exchange->request().target;
    if (target == kCpusPath) return exchange->answer(ok(to_json(map_of_box())));
    if (target.find("watch=true") == std::string::npos) {
      return exchange->answer(ok(lists.at(std::min<std::size_t>(listed++, lists.size() - 1))));
    }
    if (watched == watches.size()) {
      return exchange->answer(refusal(StatusReason::kUnavailable, "enough"));
    }
    exchange->begin(200, "application/json");
    exchange->write(watches[watched++]);
    exchange->end();
  };
}

// Without what is different each time.
std::string without_ages(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) {
    const std::size_t begin = text.find_last_of(' ', at);
    if (text.compare(begin + 1, 3, "AGE") == 0) continue;
    text.replace(begin + 1, at - begin - 1, "?");
    at = text.find('\n', begin);
  }
  return text;
}

const std::string kBookmark =
    line("BOOKMARK",
         json::object{{"kind", "Pod"}, {"metadata", json::object{{"resourceVersion", "9"}}}});

TEST(GetWatch, ShowsARowForEveryChange) {
  const FakeAgent agent(
      telling({pod_list_json({pod_at(3, "Pending")}, 4)},
              {line("MODIFIED", pod_at(5)) + kBookmark, line("DELETED", pod_at(10))}));
  const Outcome outcome = run("get pods -w " + agent.option() + " 2>/dev/null");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(without_ages(outcome.text),
            "NAMESPACE  NAME  READY  STATUS   RESTARTS  CPUS  AGE\n"
            "default    web   1/1    Pending  0         2-3   ?\n"
            "default    web   1/1    Running  0         2-3   ?\n"
            "default    web   1/1    Deleted  0         2-3   ?\n");
  const std::string watch =
      "GET " + kPodsPath + "?watch=true&allowWatchBookmarks=true&resourceVersion=";
  const std::string requests = agent.requests();
  EXPECT_NE(requests.find(watch + "4\n"), std::string::npos) << requests;
  EXPECT_NE(requests.find(watch + "9\n"), std::string::npos) << "from the bookmark on";
  EXPECT_NE(requests.find(watch + "10\n"), std::string::npos) << requests;
}

TEST(GetWatch, ListsAgainWhenTheAgentHasForgotten) {
  json::object other = pod_at(7);
  other["metadata"].get_object()["name"] = "other";
  const FakeAgent agent(
      telling({pod_list_json({pod_at(3), other}, 7), pod_list_json({pod_at(8, "Failed")}, 9)},
              {expired(), line("MODIFIED", pod_at(10))}));
  const Outcome outcome = run("get pods -w -o json " + agent.option() + " 2>/dev/null");
  EXPECT_EQ(outcome.text, line("ADDED", pod_at(3)) + line("ADDED", other) +
                              line("MODIFIED", pod_at(8, "Failed")) + line("DELETED", other) +
                              line("MODIFIED", pod_at(10)));
}

TEST(GetWatch, MakesColumnsAsWideAsWhatIsThereNeeds) {
  json::object longer = pod_at(7);
  longer["metadata"].get_object()["name"] = "web-of-a-long-name";
  const FakeAgent agent(telling({pod_list_json({pod_at(3), longer}, 7)}, {}));
  const Outcome outcome = run("get pods -w " + agent.option() + " 2>/dev/null");
  EXPECT_EQ(without_ages(outcome.text),
            "NAMESPACE  NAME                READY  STATUS   RESTARTS  CPUS  AGE\n"
            "default    web                 1/1    Running  0         2-3   ?\n"
            "default    web-of-a-long-name  1/1    Running  0         2-3   ?\n");
}

TEST(GetWatch, OfOnePodByItsName) {
  const FakeAgent agent(telling({pod_list_json({}, 4)}, {line("ADDED", pod_at(5))}));
  const Outcome outcome = run("get pods db/web -w " + agent.option() + " 2>/dev/null");
  EXPECT_NE(agent.requests().find(
                "GET /api/v1/namespaces/db/pods?fieldSelector=metadata.name%3Dweb&watch=true&"),
            std::string::npos)
      << agent.requests();
  EXPECT_TRUE(outcome.text.starts_with("NAMESPACE  NAME ")) << outcome.text;
}

TEST(GetWatch, TellsWhyItEnds) {
  const FakeAgent agent(telling({pod_list_json({}, 4)}, {}));
  const Outcome gone = run("get pods -w " + agent.option() + " 2>&1");
  EXPECT_EQ(gone.code, 1);
  EXPECT_EQ(gone.text, "corehold: enough\n");
  const FakeAgent odd(telling({pod_list_json({}, 4)}, {"what?\n"}));
  EXPECT_TRUE(run("get pods -w " + odd.option() + " 2>&1")
                  .text.starts_with("corehold: the agent's watch says what is no event: "));
  EXPECT_EQ(run("get pods a b -w 2>/dev/null").code, 2);
  EXPECT_EQ(run("get cpus -w -o svg 2>/dev/null").code, 2);
}

TEST(GetCpusWatch, ShowsTheMapAgainWhenItHasChanged) {
  CpuMap later = map_of_box();
  later.containers.clear();
  later.shared = later.topology.cpus();
  const std::string before = json::serialize(to_json(map_of_box()));
  const std::string after = json::serialize(to_json(later));
  const std::string watch = line("MODIFIED", pod_at(5)) + line("DELETED", pod_at(6));
  const FakeAgent agent(
      [before, after, watch, asked = 0, watched = false](const HttpExchangePtr& exchange) mutable {
        const std::string& target = exchange->request().target;
        if (target == kCpusPath) return answer_with(exchange, 200, ++asked < 3 ? before : after);
        if (target == "/api/v1/pods") return exchange->answer(ok(pod_list_json({pod_at(3)}, 4)));
        if (std::exchange(watched, true)) {
          return exchange->answer(refusal(StatusReason::kUnavailable, "enough"));
        }
        exchange->begin(200, "application/json");
        exchange->write(watch);
        exchange->end();
      });
  const Outcome outcome = run("get cpus -w -o json " + agent.option() + " 2>/dev/null");
  EXPECT_EQ(outcome.text, before + "\n" + after + "\n");
}

}  // namespace
}  // namespace corehold
