// SPDX-License-Identifier: Apache-2.0
//
// SimulatedJournal: the file in which simulated containers outlive the agent. Each change adds
// one line, so that it costs the same however many containers there are; once most lines are
// outdated the file is written anew. A line is a JSON object with "pod" and "container" and
//
//   all fields of the container         it is so from now on
//   some fields, and "changes": true    these are so from now on
//   "removed": true                     it is gone
//
// and a digest (record_text.h), so that damage is noticed. The list of all containers that version
// 0.1 wrote is read as well.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "pod/container_ref.h"

namespace corehold {

class SimulatedJournal {
 public:
  using Records = std::map<ContainerRef, boost::json::object>;

  // "": nothing is kept.
  explicit SimulatedJournal(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // What was written; a last line that was torn is left out. Fails with kCorrupt. To be called
  // before anything is written.
  Result<Records> load();

  // What fails has not happened.
  Result<void> write(const ContainerRef& container, const boost::json::object& record);
  // The same fields of each, in one write.
  Result<void> change(const std::vector<ContainerRef>& containers,
                      const boost::json::object& fields);
  Result<void> remove(const ContainerRef& container);

 private:
  Result<void> append(const std::vector<ContainerRef>& containers,
                      const boost::json::object& fields);
  Result<void> write_anew();

  std::string path_;
  Records records_{};
  std::size_t lines_ = 0;    // of the file
  bool is_damaged_ = false;  // the last line may be torn: the file has to be written anew
};

}  // namespace corehold
