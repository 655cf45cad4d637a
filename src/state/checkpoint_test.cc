// SPDX-License-Identifier: Apache-2.0
#include "state/checkpoint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "state/checkpoint_checksum.h"

namespace corehold {
namespace {

using Version = CheckpointVersion;

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

State two_pods() {
  return {.policy = "static",
          .shared = cpus("0-1,8-15"),
          .pods = {{"db", {{"main", {.assigned = cpus("2-5"), .promised = cpus("2-3")}}}},
                   {"web", {{"a<b", {.assigned = cpus("6-7"), .promised = cpus("6-7")}}}}}};
}

std::string message_of(const Result<Checkpoint>& result) {
  return result ? "read as " + std::string(name_of(result->version)) : result.error().message;
}

TEST(CheckpointDecode, VerifiesThePublishedExample) {
  const auto checkpoint =
      decode_checkpoint(R"({"policyName":"static","defaultCpuSet":"0-63","checksum":1058907510})");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->version, Version::kV2);
  EXPECT_EQ(checkpoint->policy, "static");
  EXPECT_EQ(checkpoint->default_set, "0-63");
  EXPECT_EQ(checkpoint->checksum, 1058907510U);
}

TEST(CheckpointDecode, RefusesAWrongChecksum) {
  EXPECT_EQ(message_of(decode_checkpoint(
                R"({"policyName":"static","defaultCpuSet":"0-63","checksum":1058907511})")),
            "checkpoint is corrupted");
}

TEST(CheckpointDecode, HashesNullMapsAsNil) {
  // fnv1a of "...Entries:(map[string]map[string]string)<nil> Checksum:..." and so on.
  const SetTable nil{.is_nil = true};
  const auto number = checksum_of({.policy = "none", .default_set = "", .entries = &nil});
  const std::string with_null =
      R"({"policyName":"none","defaultCpuSet":"","entries":null,"checksum":)" +
      std::to_string(number) + "}";
  const std::string absent =
      R"({"policyName":"none","defaultCpuSet":"","checksum":)" + std::to_string(number) + "}";
  EXPECT_EQ(message_of(decode_checkpoint(with_null)), "read as v2");
  EXPECT_EQ(message_of(decode_checkpoint(absent)), "checkpoint is corrupted");
}

TEST(CheckpointDecode, MergesARepeatedMapButReplacesARepeatedPod) {
  const auto checkpoint = decode_checkpoint(
      R"({"entries":{"p":{"a":"1"},"p":{"b":"2"}},"Entries":{"q":{"c":"3"}},"checksum":0})");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->entries, (SetsByPod{{"p", {{"b", "2"}}}, {"q", {{"c", "3"}}}}));
}

TEST(CheckpointDecode, DoesNotFallBackWhenThereIsData) {
  const std::string head = R"({"policyName":"static","defaultCpuSet":"0-3","checksum":0,)";
  EXPECT_TRUE(message_of(decode_checkpoint(head + R"("data":"{}","dataChecksum":1})"))
                  .starts_with("could not load v4 checkpoint: checkpoint is corrupted"));
  EXPECT_TRUE(message_of(decode_checkpoint(head + R"("dataChecksum":12})"))
                  .starts_with("could not load v4 checkpoint: failed to deserialize"));
  // A value of the wrong kind does not hide that there is data.
  EXPECT_TRUE(message_of(decode_checkpoint(R"({"policyName":1,"data":"{}","dataChecksum":1})"))
                  .starts_with("could not load v4 checkpoint: failed to deserialize"));
}

TEST(CheckpointDecode, BoundsTheSetOfAPod) {
  const auto decoded = decode_checkpoint_as(
      R"({"podEntries":{"p":{"cpuSet":"0-9223372036854775807"}},"checksum":5})",
      Version::kKubeletV3);
  EXPECT_EQ(message_of(decoded), "failed to parse cpuset: more than 65536 CPUs");
}

TEST(CheckpointDecode, ReadsV1AndResolvesItsContainers) {
  const FlatTable flat{.rows = {{.key = "cid1", .set = "2-3"}}};
  const auto number = checksum_of({.policy = "static", .default_set = "0-1", .by_id = &flat});
  const auto checkpoint = decode_checkpoint(
      R"({"policyName":"static","defaultCpuSet":"0-1","entries":{"cid1":"2-3"},"checksum":)" +
      std::to_string(number) + "}");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->version, Version::kV1);

  const auto unresolved = state_of(*checkpoint);
  ASSERT_FALSE(unresolved);
  EXPECT_EQ(unresolved.error().code, Code::kNotFound);
  EXPECT_EQ(resolve_containers(*checkpoint, {{"other", {"p", "c"}}}).error().message,
            "container id cid1 is in a v1 checkpoint, which does not say whose it is, and not in "
            "the container map; give one with --container-map");

  const auto resolved = resolve_containers(*checkpoint, {{"cid1", {"p", "c"}}});
  ASSERT_TRUE(resolved);
  const State state = *state_of(*resolved);
  EXPECT_EQ(state.find({"p", "c"})->assigned, cpus("2-3"));
  EXPECT_EQ(state.find({"p", "c"})->promised, cpus("2-3"));
}

TEST(CheckpointDecode, RefusesTwoIdsOfV1ThatAreOneContainer) {
  const Checkpoint checkpoint{.version = Version::kV1, .by_id = {{"x", "1"}, {"y", "2"}}};
  const auto resolved = resolve_containers(checkpoint, {{"x", {"p", "c"}}, {"y", {"p", "c"}}});
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, Code::kConflict);
}

TEST(CheckpointRestore, HasTheKubeletsWords) {
  const auto why = [](const Checkpoint& checkpoint) {
    return restore_checkpoint(checkpoint, "static", {}).error().message;
  };
  EXPECT_EQ(why({.policy = "none"}),
            "configured policy \"static\" differs from state checkpoint policy \"none\"");
  EXPECT_EQ(why({.policy = "static", .default_set = "0-1,3-1"}),
            "could not parse default CPU set \"0-1,3-1\": invalid range \"3-1\" (3 > 1)");
  EXPECT_EQ(why({.policy = "static", .default_set = "0,,1"}),
            "could not parse default CPU set \"0,,1\": strconv.Atoi: parsing \"\": invalid syntax");
  EXPECT_EQ(
      why({.policy = "static", .entries = {{"p", {{"c", "1-x"}}}}}),
      "could not parse cpuset \"1-x\" for container \"c\" in pod \"p\": strconv.Atoi: parsing "
      "\"x\": invalid syntax");
}

TEST(CheckpointRestore, SeedsPromisedOnlyWhenThereIsNoneAtAll) {
  const CheckpointGates on{.exclusive_cpus = true};
  Checkpoint checkpoint{
      .version = Version::kV4, .policy = "static", .entries = {{"p", {{"a", "3,2"}, {"b", "4"}}}}};
  EXPECT_EQ(restore_checkpoint(checkpoint, "static", on)->promised,
            (SetsByPod{{"p", {{"a", "2-3"}, {"b", "4"}}}}));
  EXPECT_TRUE(restore_checkpoint(checkpoint, "static", {})->promised.empty());
  checkpoint.promised = {{"p", {{"a", "2"}}}};
  EXPECT_EQ(restore_checkpoint(checkpoint, "static", on)->promised, checkpoint.promised);
  EXPECT_TRUE(restore_checkpoint(checkpoint, "static", {})->promised.empty());
  checkpoint.version = Version::kV3;
  EXPECT_EQ(restore_checkpoint(checkpoint, "static", {})->promised, checkpoint.promised);
}

TEST(CheckpointPromised, OfAGrownContainerSurvivesARestart) {
  State grown{.policy = "static", .shared = cpus("0-1,8")};
  apply(grown, Assign{{"p", "a"}, cpus("2-3")});
  apply(grown, Assign{{"p", "b"}, cpus("4")});
  apply(grown, Reassign{{"p", "a"}, cpus("2-3,5-7")});
  for (const Version version : {Version::kV3, Version::kV4}) {
    const auto read =
        decode_checkpoint(encode_checkpoint(grown, {.version = version}), {.exclusive_cpus = true});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*state_of(*read), grown);
  }
}

TEST(CheckpointPromised, IsTheAssignmentWhereAnOlderVersionHasNone) {
  State grown{.policy = "static", .shared = cpus("0-1")};
  apply(grown, Assign{{"p", "a"}, cpus("2-3")});
  apply(grown, Reassign{{"p", "a"}, cpus("2-5")});
  const auto read = decode_checkpoint(encode_checkpoint(grown, {.version = Version::kV2}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(state_of(*read)->find({"p", "a"})->promised, cpus("2-5"));
}

TEST(CheckpointPromised, IsNotInventedForASingleContainerWithout) {
  Checkpoint checkpoint{.policy = "static", .default_set = "0-1"};
  checkpoint.entries = {{"p", {{"a", "2-3"}, {"b", "4-5"}}}};
  checkpoint.promised = {{"p", {{"a", "2"}}}};
  const auto state = state_of(checkpoint);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->find({"p", "a"})->promised, cpus("2"));
  EXPECT_TRUE(state->find({"p", "b"})->promised.empty());
}

TEST(CheckpointState, NamesACpuBeyondTheLimit) {
  const auto state = state_of({.entries = {{"p", {{"c", "2,4999-5000"}}}}});
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().message,
            "container c of pod p: CPU 5000 is outside 0 to 4095, the CPUs corehold can handle");
}

TEST(CheckpointEncode, WritesOurV3WithPromisedAfterEntries) {
  EXPECT_EQ(
      encode_checkpoint(two_pods(), {.version = Version::kV3}),
      R"({"policyName":"static","defaultCpuSet":"0-1,8-15","entries":{"db":{"main":"2-5"},)"
      R"("web":{"a\u003cb":"6-7"}},"promised":{"db":{"main":"2-3"},"web":{"a\u003cb":"6-7"}},)"
      R"("checksum":)" +
          std::to_string(
              fnv1a("(*state.CPUManagerCheckpoint){PolicyName:(string)static "
                    "DefaultCPUSet:(string)0-1,8-15 Entries:(map[string]map[string]string)"
                    "map[db:map[main:2-5] web:map[a<b:6-7]] "
                    "Promised:(map[string]map[string]string)"
                    "map[db:map[main:2-3] web:map[a<b:6-7]] Checksum:(checksum.Checksum)0}")) +
          "}");
}

TEST(CheckpointEncode, AnOlderKubeletReadsTheTopLevelOfV4AsV2) {
  const std::string bytes = encode_checkpoint(two_pods(), {.version = Version::kV4});
  const auto as_v2 = decode_checkpoint_as(bytes, Version::kV2);
  ASSERT_TRUE(as_v2) << as_v2.error().message;
  EXPECT_EQ(as_v2->entries, checkpoint_of(two_pods()).entries);
}

TEST(CheckpointEncode, LeavesOutBaselinesOnRequestInV4Only) {
  const auto promised = [](Version version) {
    const std::string bytes =
        encode_checkpoint(two_pods(), {.version = version, .without_baselines = true});
    return decode_checkpoint(bytes)->promised;
  };
  EXPECT_TRUE(promised(Version::kV4).empty());
  EXPECT_EQ(promised(Version::kV3), checkpoint_of(two_pods()).promised);
}

// A state with disjoint holdings; keys of any bytes that JSON can carry.
rc::Gen<std::string> any_key() {
  return rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
}

State any_state() {
  State state{.policy = *any_key()};
  const int last = *rc::gen::inRange(0, 300);
  for (int cpu = 0; cpu < last; ++cpu) {
    if (*rc::gen::inRange(0, 3) == 0) state.shared.insert(CpuId(cpu));
  }
  const int pods = *rc::gen::inRange(0, 5);
  for (int pod = 0; pod < pods; ++pod) {
    const std::string uid = *any_key();
    PodHoldings containers;
    const int count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i) {
      Holding& holding = containers[*any_key()];
      const int first = *rc::gen::inRange(0, 4096 - 8);
      holding.assigned.insert_range(CpuId(first), CpuId(first + *rc::gen::inRange(0, 8)));
      holding.promised = holding.assigned;
      if (holding.assigned.size() > 1 && *rc::gen::arbitrary<bool>()) {
        holding.promised.erase(CpuId(first));
      }
    }
    state.pods.set(uid, std::move(containers));
  }
  return state;
}

RC_GTEST_PROP(CheckpointRoundTrip, EncodeThenDecodeIsIdentity, ()) {
  State state = any_state();
  for (const Version version : {Version::kV3, Version::kV4}) {
    const std::string bytes = encode_checkpoint(state, {.version = version});
    RC_ASSERT(bytes == encode_checkpoint(state, {.version = version}));
    RC_ASSERT(bytes == encode_checkpoint(checkpoint_of(state), {.version = version}));
    const auto decoded = decode_checkpoint(bytes);
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(decoded->version == version);
    RC_ASSERT(*state_of(*decoded) == state);
  }
  const CpuHoldings pods = state.pods;
  for (const auto& [pod, containers] : pods) {
    PodHoldings kept = containers;
    for (auto& [name, holding] : kept) holding.promised = holding.assigned;
    state.pods.set(pod, std::move(kept));
  }
  for (const Version version : {Version::kV2, Version::kKubeletV3}) {
    const std::string bytes = encode_checkpoint(state, {.version = version});
    const auto decoded = decode_checkpoint(bytes);
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(decoded->version == version);
    RC_ASSERT(*state_of(*decoded) == state);
  }
}

}  // namespace
}  // namespace corehold
