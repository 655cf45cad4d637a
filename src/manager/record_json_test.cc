// SPDX-License-Identifier: Apache-2.0
#include "manager/record_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/pod_json.h"
#include "pod/testing.h"
#include "topology/testing.h"

namespace corehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

PodRecord full_record() {
  PodRecord record{
      .pod = *pod_from_json(to_json(pod_of("db", {"init:setup cpu=1", "main cpu=2 memory=1Gi"}))),
      .source = Source::kRunWaiting,
      .sequence = 17,
      .created_at = milliseconds(1'700'000'000'123),
      .deleted_at = milliseconds(1'700'000'000'999),
      .grace = seconds(12),
      .started_at = milliseconds(1'700'000'000'500)};
  record.containers["setup"] = {.attempt = 2,
                                .exits = 3,
                                .began = 1,
                                .ended = true,
                                .last_exit = ContainerExit{.code = 137,
                                                           .signal = 9,
                                                           .cause = ExitCause::kOutOfMemory,
                                                           .message = "it \"died\"",
                                                           .started_at = milliseconds(5),
                                                           .finished_at = milliseconds(6)}};
  record.containers["main"] = {.started_at = milliseconds(77),
                               .actual = Resources{.requests = {{"cpu", *Quantity::parse("1")}}}};
  record.wish =
      ResizeWish{.resources = {{"", Resources{.limits = {{"cpu", *Quantity::parse("4")}}}},
                               {"main", Resources{.limits = {{"cpu", *Quantity::parse("2500m")}}}}},
                 .since = milliseconds(1'700'000'000'700)};
  record.resize_began_at = milliseconds(1'700'000'000'600);
  record.memory["main"] = {.nodes = nodes("0-1"), .bytes = {{"memory", std::int64_t{1} << 40}}};
  record.devices["main"] = {{"example.com/nic", {"nic0", "nic2"}}};
  record.restart_all = {.under_way = true, .since = milliseconds(1'700'000'000'650)};
  record.reason = "Unschedulable";
  record.message = "not enough";
  record.failed = true;
  return record;
}

TEST(PodRecordText, ReadsWhatItWrites) {
  const PodRecord record = full_record();
  const auto again = read_record(write_record(record));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, record);
}

TEST(PodRecordText, IgnoresFieldsThatItDoesNotKnow) {
  std::string text = write_record(full_record());
  text.insert(1, R"("later":{"x":[1]},)");
  const auto again = read_record(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, full_record());
}

TEST(PodRecordText, MissingFieldsHaveTheirDefaults) {
  const auto record =
      read_record(R"({"source":"api","pod":{"metadata":{"name":"a","uid":"u"},"spec":{}}})");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->pod.uid, "u");
  EXPECT_EQ(record->sequence, 0);
}

TEST(PodRecordText, RefusesALaterVersion) {
  std::string text = write_record(full_record());
  const std::string_view mine = R"("version":1,)";
  ASSERT_EQ(text.find(mine), 1U);
  const auto later = read_record(text.replace(1, mine.size(), R"("version":2,)"));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error(),
            (Error{Code::kUnsupported,
                   "record of a pod: written by a later Corehold (version 2, this one knows 1); "
                   "start the later one again, or delete the pod there before going back"}));
}

TEST(PodRecordText, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto record = read_record(text);
    EXPECT_FALSE(record.has_value());
    if (record) return std::string();
    EXPECT_EQ(record.error().code, Code::kCorrupt);
    return record.error().message;
  };
  EXPECT_THAT(message("{"), HasSubstr("record of a pod: "));
  EXPECT_THAT(message("[]"), HasSubstr("is not an object"));
  EXPECT_THAT(message("{}"), HasSubstr("pod: required"));
  EXPECT_THAT(message(R"({"version":"one"})"), HasSubstr("version: is not a whole number"));
  EXPECT_THAT(message(R"({"pod":{"spec":{}},"source":"moon"})"),
              HasSubstr("source: \"moon\" is unknown"));
  EXPECT_THAT(message(R"({"pod":{"spec":{}},"source":"api","grace":-1})"),
              HasSubstr("grace: is not a"));
  EXPECT_THAT(message(R"({"pod":{"spec":{}},"source":"api","containers":{"a":7}})"),
              HasSubstr("containers.a: is not an object"));
  EXPECT_THAT(message(R"({"pod":{"spec":{}},"source":"api","memory":{"a":{"nodes":"x"}}})"),
              HasSubstr("memory.a.nodes"));
  EXPECT_THAT(message(R"({"pod":{"spec":{}},"source":"api","devices":{"a":{"r":[1]}}})"),
              HasSubstr("devices.a.r"));
}

}  // namespace
}  // namespace corehold
