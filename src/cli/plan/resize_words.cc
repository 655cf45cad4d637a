// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/resize_words.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/output.h"

namespace corehold {
namespace {

constexpr std::size_t kMostNamed = 8;

// Parts of the name, one to three.
struct Word {
  std::vector<std::string> parts{};
  Quantity cpus{};
};

Result<Word> read_word(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = std::string_view(text).substr(0, equals);
  Word word;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    word.parts.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  const bool is_name =
      word.parts.size() <= 3 && std::none_of(word.parts.begin(), word.parts.end(),
                                             [](const std::string& part) { return part.empty(); });
  if (equals == std::string::npos || !is_name) {
    return bad_argument(
        fmt::format("--resize {:?}: must be POD/CONTAINER=N, POD=N where the pod has "
                    "one container, or NAMESPACE/POD/CONTAINER=N",
                    text));
  }
  auto cpus = positive_amount(std::string_view(text).substr(equals + 1));
  if (!cpus) return bad_argument(fmt::format("--resize {:?}: {}", text, cpus.error().message));
  word.cpus = *std::move(cpus);
  return word;
}

// A container of a pod, by the pod's place in the list.
using Target = std::pair<std::size_t, std::string>;

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct Meaning {
  std::set<Target> targets{};
  const Pod* many = nullptr;  // it means a pod, and does not say which of its containers
};

void look_at(const Pod& pod, std::size_t place, const std::vector<std::string>& parts,
             Meaning& meaning) {
  std::vector<std::string> names = resizable_containers(pod);
  for (const Container& container : pod.init_containers) {
    // The planner says that such a resize is impossible.
    if (!has(names, container.name)) names.push_back(container.name);
  }
  const auto is_whole = [&](const std::string& namespace_name, const std::string& name) {
    return pod.name == name &&
           (pod.namespace_name.empty() ? "default" : pod.namespace_name) == namespace_name;
  };
  if (parts.size() == 3) {
    if (is_whole(parts[0], parts[1]) && has(names, parts[2])) {
      meaning.targets.emplace(place, parts[2]);
    }
    return;
  }
  if (parts.size() == 2 && pod.name == parts[0] && has(names, parts[1])) {
    meaning.targets.emplace(place, parts[1]);
  }
  const bool is_named = parts.size() == 1 ? pod.name == parts[0] : is_whole(parts[0], parts[1]);
  if (!is_named) return;
  const std::vector<std::string> resizable = resizable_containers(pod);
  if (resizable.size() == 1) {
    meaning.targets.emplace(place, resizable.front());
  } else {
    meaning.many = &pod;
  }
}

std::string full_name(const std::vector<Pod>& pods, const Target& target) {
  return fmt::format("{}/{}", display_name(pods[target.first]), target.second);
}

Result<Target> find_target(const std::vector<Pod>& pods, const Word& word,
                           const std::string& text) {
  Meaning meaning;
  for (std::size_t i = 0; i < pods.size(); ++i) look_at(pods[i], i, word.parts, meaning);
  if (meaning.targets.size() == 1) return *meaning.targets.begin();
  std::vector<std::string> names;
  if (!meaning.targets.empty()) {
    for (const Target& target : meaning.targets) names.push_back(full_name(pods, target));
    return bad_argument(fmt::format("--resize {}: name one of {}", text, fmt::join(names, ", ")));
  }
  if (meaning.many != nullptr) {
    return bad_argument(fmt::format("--resize {}: pod {} has the containers {}; name one", text,
                                    display_name(*meaning.many),
                                    fmt::join(resizable_containers(*meaning.many), ", ")));
  }
  for (std::size_t i = 0; i < pods.size() && names.size() <= kMostNamed; ++i) {
    for (const std::string& name : resizable_containers(pods[i])) {
      names.push_back(full_name(pods, {i, name}));
    }
  }
  const bool more = names.size() > kMostNamed;
  if (more) names.resize(kMostNamed);
  return bad_argument(fmt::format("--resize {}: no such container in the plan; there are {}{}",
                                  text, fmt::join(names, ", "), more ? ", ..." : ""));
}

Container* find_in(Pod& pod, const std::string& name) {
  for (auto* list : {&pod.init_containers, &pod.containers}) {
    for (Container& container : *list) {
      if (container.name == name) return &container;
    }
  }
  return nullptr;
}

}  // namespace

Result<Quantity> positive_amount(std::string_view text) {
  auto amount = Quantity::parse(text);
  if (!amount) {
    return bad_argument(fmt::format("{:?} is no amount: write one as in 4, 500m or 512Mi", text));
  }
  if (amount->sign() <= 0) return bad_argument(fmt::format("{:?} is not above zero", text));
  return amount;
}

Resources with_amount(Resources now, const std::string& resource, const Quantity& amount) {
  const auto limit = now.limits.find(resource);
  if (limit != now.limits.end()) {
    const auto request = now.requests.find(resource);
    const bool follows = request == now.requests.end() || request->second == limit->second;
    if (follows || limit->second < amount) limit->second = amount;
  }
  now.requests[resource] = amount;
  return now;
}

std::vector<std::string> resizable_containers(const Pod& pod) {
  std::vector<std::string> names;
  for (const Container* container : in_starting_order(pod)) {
    if (container->kind != Container::Kind::kInit) names.push_back(container->name);
  }
  return names;
}

Result<std::vector<Pod>> resized_pods(const std::vector<Pod>& pods,
                                      const std::vector<std::string>& words) {
  std::vector<Pod> resized;
  std::map<std::size_t, std::size_t> places;  // in `resized`, by that in `pods`
  std::set<Target> seen;
  for (const std::string& text : words) {
    const Word word = TRY(read_word(text));
    const Target target = TRY(find_target(pods, word, text));
    if (!seen.insert(target).second) {
      return bad_argument(fmt::format("--resize: {} is given twice", full_name(pods, target)));
    }
    const auto [place, is_new] = places.emplace(target.first, resized.size());
    if (is_new) resized.push_back(pods[target.first]);
    Container* container = find_in(resized[place->second], target.second);
    CHECK(container != nullptr);
    container->resources =
        with_amount(std::move(container->resources), std::string(kCpu), word.cpus);
  }
  for (const Pod& pod : resized) {
    if (const auto valid = validate(pod); !valid) {
      return bad_argument(fmt::format("--resize: {}", valid.error().message));
    }
  }
  return resized;
}

}  // namespace corehold
