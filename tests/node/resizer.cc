// SPDX-License-Identifier: Apache-2.0
//
// resizer SOCKET --count N --pod NAME:CONTAINERS:LEAST:MOST:PAUSE_MS...: resizes the containers c0,
// c1, ... of pods again and again, all pods at the same time, those of a pod by one request, to
// sizes by chance; at last each to its least. Pauses between two requests are by chance too, up to
// twice the one given: when that is the delay, about half of the requests come before a delay is
// over. Prints as JSON how many requests the node has taken, and how many containers they resized.
//
// resizer SOCKET --show PREFIX: the agent's metrics whose names begin so, for guests without curl.
#include <err.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sys/http/http_client.h"

namespace corehold::proof {
namespace {

struct Target {
  std::string pod{};
  int containers = 0;
  int least = 0;
  int most = 0;
  int pause_ms = 0;
};

int number_in(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    errx(2, "%s: not a number", text.c_str());
  }
  return number;
}

Target target_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    if (letter == ':') {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  if (words.size() != 5) errx(2, "%s: not NAME:CONTAINERS:LEAST:MOST:PAUSE_MS", text.c_str());
  return {.pod = words[0],
          .containers = number_in(words[1]),
          .least = number_in(words[2]),
          .most = number_in(words[3]),
          .pause_ms = number_in(words[4])};
}

void resize(const std::string& socket, const Target& target, const std::vector<int>& sizes) {
  std::string containers;
  for (std::size_t index = 0; index < sizes.size(); ++index) {
    const std::string amounts = fmt::format(R"({{"cpu":"{}"}})", sizes[index]);
    containers += fmt::format(R"({}{{"name":"c{}","resources":{{"requests":{},"limits":{}}}}})",
                              containers.empty() ? "" : ",", index, amounts, amounts);
  }
  const auto answer =
      ask(socket, {.method = "PATCH",
                   .target = fmt::format("/api/v1/namespaces/default/pods/{}/resize", target.pod),
                   .body = fmt::format(R"({{"spec":{{"containers":[{}]}}}})", containers),
                   .content_type = "application/strategic-merge-patch+json"});
  if (!answer) errx(1, "%s: %s", target.pod.c_str(), answer.error().message.c_str());
  if (answer->status != 200) errx(1, "%s: %s", target.pod.c_str(), answer->body.c_str());
}

// Each size differs from the one before, so that each is a resize.
class Chance {
 public:
  Chance(const Target& target, unsigned seed)
      : target_(target),
        random_(seed),
        sizes_(static_cast<std::size_t>(target.containers), target.least) {}

  const std::vector<int>& sizes() {
    std::uniform_int_distribution<int> others(target_.least, target_.most - 1);
    for (int& size : sizes_) {
      const int next = others(random_);
      size = next >= size ? next + 1 : next;
    }
    return sizes_;
  }
  std::chrono::microseconds pause() {
    return std::chrono::microseconds(
        std::uniform_int_distribution<int>(0, 2000 * target_.pause_ms)(random_));
  }

 private:
  const Target& target_;
  std::mt19937 random_;
  std::vector<int> sizes_;
};

int run(const std::string& socket, const std::vector<Target>& targets, int count, unsigned seed) {
  std::atomic<int> resizes = 0;
  std::atomic<int> requests = 0;
  std::vector<std::thread> threads;
  threads.reserve(targets.size());
  const auto begun = std::chrono::steady_clock::now();
  for (const Target& target : targets) {
    threads.emplace_back([&, own_seed = seed + static_cast<unsigned>(threads.size())] {
      Chance chance(target, own_seed);
      while (resizes.fetch_add(target.containers) < count) {
        resize(socket, target, chance.sizes());
        ++requests;
        std::this_thread::sleep_for(chance.pause());
      }
      resizes.fetch_sub(target.containers);
      resize(socket, target,
             std::vector<int>(static_cast<std::size_t>(target.containers), target.least));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  fmt::print("{{\"requests\":{},\"resizes\":{},\"seconds\":{:.1f}}}\n", requests.load(),
             resizes.load(), took.count());
  return 0;
}

int show(const std::string& socket, const std::string& prefix) {
  const auto answer = ask(socket, {.target = "/metrics"});
  if (!answer) errx(1, "%s", answer.error().message.c_str());
  std::istringstream lines(answer->body);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(prefix)) fmt::print("{}\n", line);
  }
  return 0;
}

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  std::string socket;
  std::vector<std::string> pods;
  int resizes = 1000;
  unsigned seed = 1;
  std::string shown;
  CLI::App app("Resizes containers again and again.");
  app.add_option("socket", socket, "Of the agent")->required();
  app.add_option("--pod", pods, "NAME:CONTAINERS:LEAST:MOST:PAUSE_MS");
  app.add_option("--show", shown, "Metrics that begin so, and nothing else");
  app.add_option("--count", resizes, "How often in all (default: 1000)");
  app.add_option("--seed", seed, "Of chance (default: 1)");
  CLI11_PARSE(app, count, words);
  if (!shown.empty()) return show(socket, shown);
  std::vector<Target> targets;
  targets.reserve(pods.size());
  for (const std::string& pod : pods) targets.push_back(target_of(pod));
  return run(socket, targets, resizes, seed);
}

}  // namespace
}  // namespace corehold::proof

int main(int count, char** words) {
  try {
    return corehold::proof::parse_and_run(count, words);
  } catch (const std::exception& trouble) {
    errx(2, "%s", trouble.what());
  }
}
