// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_input.h"

#include <gtest/gtest.h>

namespace corehold {
namespace {

std::string pod(const std::string& name, const std::string& rest = "",
                const std::string& spec = "") {
  return "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"" + name + "\"" + rest + "}, \"spec\": {" +
         spec + "\"containers\": [{\"name\": \"c\"}]}";
}

std::string list(const std::vector<std::string>& pods) {
  std::string text = "{\"kind\": \"List\", \"items\": [";
  for (std::size_t i = 0; i < pods.size(); ++i) text += (i == 0 ? "" : ", ") + pods[i];
  return text + "]}";
}

std::string names(const PodChoice& choice) {
  std::string text;
  for (const Pod& pod : choice.pods) text += (text.empty() ? "" : " ") + pod.name;
  return text;
}

std::string error_of(const std::vector<PodFile>& files, std::string_view node = "") {
  const auto choice = choose_pods(files, node);
  return choice ? "no error" : choice.error().message;
}

TEST(ChoosePods, KeepsTheOrderOfFilesAndPods) {
  const auto choice = choose_pods(
      {{"a.json", list({pod("z") + "}", pod("y") + "}"})}, {"b.json", pod("x") + "}"}}, "");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(names(*choice), "z y x");
  EXPECT_TRUE(choice->notes.empty());
}

TEST(ChoosePods, LeavesOutPodsThatHaveEnded) {
  const auto choice =
      choose_pods({{"a", list({pod("done") + ", \"status\": {\"phase\": \"Succeeded\"}}",
                               pod("runs") + ", \"status\": {\"phase\": \"Running\"}}",
                               pod("failed") + ", \"status\": {\"phase\": \"Failed\"}}"})}},
                  "");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(names(*choice), "runs");
  EXPECT_EQ(choice->notes,
            std::vector<std::string>{"2 pods left out, ended: default/done, default/failed"});
}

TEST(ChoosePods, PodsOfADumpComeInTheOrderInWhichTheyStarted) {
  const auto started = [](const std::string& name, const std::string& time) {
    return pod(name) + ", \"status\": {\"startTime\": \"" + time + "\"}}";
  };
  const std::string dump =
      list({started("a", "2026-03-02T10:00:00Z"), started("b", "2026-03-01T23:00:00Z"),
            started("c", "2026-03-02T10:00:00Z")});
  auto choice = choose_pods({{"dump", dump}}, "");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(names(*choice), "b a c");
  EXPECT_EQ(choice->notes,
            std::vector<std::string>{
                "planned in the order in which the pods started (status.startTime)"});
  choice = choose_pods({{"dump", dump}, {"new", pod("new") + "}"}}, "");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(names(*choice), "b a c new");
  EXPECT_EQ(choice->notes,
            std::vector<std::string>{
                "the first 3 pods planned in the order in which they started (status.startTime)"});
  choice = choose_pods({{"new", pod("new") + "}"}, {"dump", dump}}, "");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(names(*choice), "new a b c");
  EXPECT_EQ(choice->notes,
            std::vector<std::string>{
                "not all pods have a status.startTime: planned in the order of the list"});
}

TEST(ChoosePods, NamesBothOfTwoWithOneName) {
  EXPECT_EQ(
      error_of({{"a.yaml", pod("x") + "}"}, {"b.yaml", list({pod("y") + "}", pod("x") + "}"})}}),
      "pod default/x is there twice: as pod 1 of a.yaml and as pod 2 of b.yaml");
  const std::string uid = ", \"uid\": \"u\"";
  EXPECT_EQ(error_of({{"a", list({pod("x", uid) + "}", pod("y", uid) + "}"})}}),
            "pods default/x and default/y have the same uid \"u\"");
}

TEST(ChoosePods, NamesTheFileAndTheKind) {
  EXPECT_EQ(error_of({{"d.yaml", "kind: Deployment\nspec: {}\n"}}),
            "d.yaml: kind: \"Deployment\" is not a Pod");
  EXPECT_EQ(error_of({{"empty.yaml", ""}}), "empty.yaml: no pod in the text");
}

TEST(ChoosePods, KeepsTheNodeAskedForAndPodsOfNone) {
  const std::vector<PodFile> files{
      {"dump", list({pod("a", "", "\"nodeName\": \"n1\", ") + "}",
                     pod("b", "", "\"nodeName\": \"n2\", ") + "}", pod("new") + "}"})}};
  const auto all = choose_pods(files, "");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(names(*all), "a b new");
  ASSERT_EQ(all->notes.size(), 1U);
  EXPECT_EQ(all->notes[0],
            "the pods are of 2 nodes (n1, n2), planned as if they were of one; --node NAME keeps "
            "those of one");
  const auto one = choose_pods(files, "n2");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(names(*one), "b new");
  EXPECT_EQ(one->notes, std::vector<std::string>{"1 pod left out, of other nodes than n2"});
  EXPECT_EQ(error_of(files, "n3"), "no pod is bound to node \"n3\"; there are n1, n2");
}

}  // namespace
}  // namespace corehold
