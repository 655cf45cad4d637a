// SPDX-License-Identifier: Apache-2.0
#include "runtime/live_container.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace corehold {
namespace {

// More would fill the log with numbers.
constexpr std::size_t kMostPids = 16;
constexpr std::size_t kMostContainers = 8;

std::string numbers(const std::vector<pid_t>& pids, std::string_view between) {
  const std::size_t shown = std::min(pids.size(), kMostPids);
  const auto end = pids.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string text = fmt::format("{}", fmt::join(pids.begin(), end, between));
  if (pids.size() > shown) text += fmt::format("{}and {} more", between, pids.size() - shown);
  return text;
}

std::string advice(const std::vector<LiveContainer>& unknown, const std::string& root,
                   Recovery recovery) {
  std::set<std::string> others;
  bool has_lost = false;
  std::vector<pid_t> pids;
  for (const LiveContainer& container : unknown) {
    if (container.root.empty() || container.root == root) {
      has_lost = true;
    } else {
      others.insert(container.root);
    }
    pids.insert(pids.end(), container.pids.begin(), container.pids.end());
  }
  std::vector<std::string> ways;
  if (!others.empty()) {
    ways.push_back(fmt::format("start the agent with --root {}", fmt::join(others, " or ")));
  }
  if (has_lost) ways.push_back(fmt::format("put {}/containers back as it was", root));
  const bool is_supervised = std::any_of(unknown.begin(), unknown.end(), [&](const auto& each) {
    return each.supervisor > 0 && (each.root.empty() || each.root == root);
  });
  if (is_supervised && recovery == Recovery::kNotAsked) {
    ways.emplace_back("start with --recover, which makes the records anew from what runs");
  }
  ways.push_back(pids.empty() ? "end them"
                              : fmt::format("end them: kill -KILL {}", numbers(pids, " ")));
  return fmt::format("{}", fmt::join(ways, ", or "));
}

}  // namespace

std::string root_of(std::string_view directory) {
  constexpr std::string_view kTop = "/containers";
  const std::string_view names = last_two_names(directory);
  if (names.empty() || names.size() >= directory.size()) return "";
  const std::string_view top = directory.substr(0, directory.size() - names.size() - 1);
  if (!top.ends_with(kTop)) return "";
  return std::string(top.substr(0, top.size() - kTop.size()));
}

std::string_view last_two_names(std::string_view path) {
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return "";
  const std::size_t before = path.rfind('/', last - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

std::string describe(const LiveContainer& container, const std::string& root) {
  std::vector<std::string> facts;
  if (container.pids.empty()) {
    facts.emplace_back("processes of another PID namespace");
  } else {
    facts.push_back(fmt::format("{} {}", container.pids.size() == 1 ? "process" : "processes",
                                numbers(container.pids, ", ")));
  }
  if (!container.cpus.empty()) facts.push_back(fmt::format("CPUs {}", container.cpus.str()));
  if (container.supervisor > 0) {
    facts.push_back(fmt::format("looked after by process {}", container.supervisor));
  }
  if (!container.root.empty() && container.root != root) {
    facts.push_back(fmt::format("of the agent with --root {}", container.root));
  } else if (!container.damage.empty()) {
    facts.push_back(fmt::format("its record cannot be used: {}", container.damage));
  } else {
    facts.push_back(fmt::format("without its records in {}/containers", root));
  }
  return fmt::format("{} ({})",
                     container.cgroup.empty() ? "a container without a cgroup"
                                              : fmt::format("cgroup {}", container.cgroup),
                     fmt::join(facts, "; "));
}

Error unknown_containers(const std::vector<LiveContainer>& unknown, const std::string& root,
                         Recovery recovery) {
  std::vector<std::string> shown;
  for (const LiveContainer& container : unknown) {
    if (shown.size() == kMostContainers) {
      shown.push_back(fmt::format("and {} more", unknown.size() - kMostContainers));
      break;
    }
    shown.push_back(describe(container, root));
  }
  return {Code::kConflict,
          fmt::format("{} on this machine that the agent of {} does not know, and whose CPUs "
                      "would be given twice: {}; {}",
                      unknown.size() == 1 ? "a container runs" : "containers run", root,
                      fmt::join(shown, ", "), advice(unknown, root, recovery))};
}

}  // namespace corehold
