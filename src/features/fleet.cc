// SPDX-License-Identifier: Apache-2.0
#include "features/fleet.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace corehold {
namespace {

using Words = std::vector<std::uint64_t>;

Error other_registry() {
  return Error{Code::kConflict, "the feature set is of another registry than the fleet"};
}

// Nodes on their way to an answer.
struct Group {
  FeatureSet missing;
  Words nodes;
};

bool is_any(const Words& words) {
  return std::ranges::any_of(words, [](std::uint64_t word) { return word != 0; });
}

// Takes those that lack the feature out of the group; they are the answer.
Words split(Words& group, const Words& column) {
  Words lacking(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    lacking[i] = group[i] & ~column[i];
    group[i] &= column[i];
  }
  return lacking;
}

// So many features split all nodes at once, words at a time. More would make many small
// groups of it, each with a word for every 64 nodes: then the nodes are looked at one by one.
constexpr std::size_t kSplitAtOnce = 6;

// The groups split further by what their nodes lack of these columns; the first of them
// stays the first, and lacks nothing.
std::vector<Group> split_by_node(const std::vector<Group>& groups,
                                 std::span<const std::size_t> indexes,
                                 const std::vector<NodeMask>& columns) {
  std::vector<Group> result;
  for (const Group& group : groups) {
    std::map<std::vector<std::size_t>, NodeMask> parts;
    if (result.empty()) parts[{}].grow(group.nodes.size());
    NodeMask(group.nodes).for_each([&](std::size_t place) {
      std::vector<std::size_t> lacking;
      for (const std::size_t index : indexes) {
        if (!columns[index].contains(place)) lacking.push_back(index);
      }
      NodeMask& part = parts[std::move(lacking)];
      part.grow(group.nodes.size());
      part.insert(place);
    });
    for (const auto& [lacking, part] : parts) {
      FeatureSet missing = group.missing;
      for (const std::size_t index : lacking) missing.insert(FeatureId(static_cast<int>(index)));
      result.push_back({.missing = missing, .nodes = part.words()});
    }
  }
  return result;
}

}  // namespace

Fleet::Fleet(const Registry& registry)
    : none_(registry.none()), columns_(registry.features().size()) {}

std::size_t Fleet::new_place() {
  if (free_.empty()) {
    const std::size_t place = names_.size();
    names_.push_back(nullptr);
    const std::size_t words = place / NodeMask::kWordBits + 1;
    if (words > present_.words().size()) {
      present_.grow(words);
      for (NodeMask& column : columns_) column.grow(words);
    }
    return place;
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  return place;
}

Result<void> Fleet::set(std::string_view node, const FeatureSet& declared) {
  if (!declared.is_of_same_registry(none_)) return other_registry();
  auto found = places_.find(node);
  if (found == places_.end()) {
    const std::size_t place = new_place();
    found = places_.emplace(std::string(node), place).first;
    names_[place] = &found->first;
    present_.insert(place);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (declared.contains(FeatureId(static_cast<int>(i)))) {
      columns_[i].insert(found->second);
    } else {
      columns_[i].erase(found->second);
    }
  }
  return {};
}

void Fleet::remove(std::string_view node) {
  const auto found = places_.find(node);
  if (found == places_.end()) return;
  const std::size_t place = found->second;
  present_.erase(place);
  for (NodeMask& column : columns_) column.erase(place);
  names_[place] = nullptr;
  free_.push_back(place);
  places_.erase(found);
}

std::optional<FeatureSet> Fleet::declared(std::string_view node) const {
  const auto found = places_.find(node);
  if (found == places_.end()) return std::nullopt;
  FeatureSet set = none_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].contains(found->second)) set.insert(FeatureId(static_cast<int>(i)));
  }
  return set;
}

std::vector<std::size_t> Fleet::columns_of(const FeatureSet& set) const {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (set.contains(FeatureId(static_cast<int>(i)))) columns.push_back(i);
  }
  return columns;
}

Result<NodeMask> Fleet::fitting(const FeatureSet& required) const {
  if (!required.is_of_same_registry(none_)) return other_registry();
  Words nodes = present_.words();
  for (const std::size_t index : columns_of(required)) {
    const Words& column = columns_[index].words();
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] &= column[i];
  }
  return NodeMask(std::move(nodes));
}

Result<Fleet::Answer> Fleet::answer(const FeatureSet& required) const {
  if (!required.is_of_same_registry(none_)) return other_registry();
  // The first group lacks nothing; each feature splits every group in two.
  std::vector<Group> groups;
  groups.push_back({.missing = none_, .nodes = present_.words()});
  const std::vector<std::size_t> indexes = columns_of(required);
  const std::size_t at_once = std::min(indexes.size(), kSplitAtOnce);
  for (const std::size_t index : std::span(indexes).first(at_once)) {
    const std::size_t before = groups.size();
    for (std::size_t i = 0; i < before; ++i) {
      Words lacking = split(groups[i].nodes, columns_[index].words());
      if (!is_any(lacking)) continue;
      FeatureSet missing = groups[i].missing;
      missing.insert(FeatureId(static_cast<int>(index)));
      groups.push_back({.missing = missing, .nodes = std::move(lacking)});
    }
    std::erase_if(
        groups, [](const Group& group) { return !group.missing.empty() && !is_any(group.nodes); });
  }
  if (at_once < indexes.size()) {
    groups = split_by_node(groups, std::span(indexes).subspan(at_once), columns_);
  }
  Answer answer;
  answer.fitting = NodeMask(std::move(groups.front().nodes));
  answer.fitting_count = answer.fitting.count();
  for (std::size_t i = 1; i < groups.size(); ++i) {
    Shortage shortage{.missing = groups[i].missing, .nodes = NodeMask(std::move(groups[i].nodes))};
    shortage.count = shortage.nodes.count();
    answer.shortages.push_back(std::move(shortage));
  }
  std::ranges::stable_sort(answer.shortages, std::ranges::greater(), &Shortage::count);
  return answer;
}

std::vector<std::string> Fleet::names(const NodeMask& nodes) const {
  std::vector<std::string> names;
  nodes.for_each([&](std::size_t place) {
    if (place < names_.size() && names_[place] != nullptr) names.push_back(*names_[place]);
  });
  std::ranges::sort(names);
  return names;
}

Fleet::Memory Fleet::memory() const {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  Memory memory;
  memory.columns = present_.words().capacity() * kWord;
  for (const NodeMask& column : columns_) memory.columns += column.words().capacity() * kWord;
  // A node of the map: link, hash, key and place; longer names are on the heap besides.
  constexpr std::size_t kEntry = 2 * sizeof(void*) + sizeof(std::string) + sizeof(std::size_t);
  memory.names = places_.size() * kEntry + places_.bucket_count() * sizeof(void*) +
                 names_.capacity() * sizeof(void*) + free_.capacity() * sizeof(std::size_t);
  for (const std::string* name : names_) {
    if (name != nullptr && name->capacity() >= sizeof(std::string) / 2) {
      memory.names += name->capacity() + 1;
    }
  }
  return memory;
}

}  // namespace corehold
