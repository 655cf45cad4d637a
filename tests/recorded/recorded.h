// SPDX-License-Identifier: Apache-2.0
//
// What a real API server of Kubernetes 1.37 was recorded to answer (the .json files here,
// unchanged), and the comparison of our answers with it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

namespace corehold {

// One exchange: {about, request, response}.
struct RecordedCase {
  std::string id{};  // "watch/03-list-errors-and-forms.json: not acceptable"
  boost::json::object exchange{};

  std::string path() const;                          // decoded, without the query
  std::map<std::string, std::string> query() const;  // decoded
  std::string accept() const;
  int code() const;
  const boost::json::value& body() const;
};

// REQUIRES: the file is there and is JSON. `name` such as "tables/pods.json".
boost::json::value read_recorded(std::string_view name);
std::vector<RecordedCase> recorded_cases(std::string_view name);
// The names of the files in a folder, with the folder's.
std::vector<std::string> recorded_files(std::string_view folder);

// Equal, but for what the recorder has cut out of `recorded`: in an object that says so
// ("cut") the rest may be missing, a null stands for an absent field, and an event reduced
// to {type, name, rv} stands for the whole.
testing::AssertionResult agrees(const boost::json::value& recorded, const boost::json::value& ours);
// Everything in `recorded` is in `ours`, which may have more.
testing::AssertionResult contains(const boost::json::value& recorded,
                                  const boost::json::value& ours);

}  // namespace corehold
