// SPDX-License-Identifier: Apache-2.0
//
// churner --binary COREHOLD --config FILE --root DIR --static-pods DIR --folder DIR --seconds N
//   --seed N: starts an agent and lets clients of all kinds use it by chance, kills or stops it
//   every now
// and then and starts it again. After each start, while nobody asks for anything, the CPUs that the
// machine's containers have are compared with each other and with what the agent says, and pods
// whose creation was acknowledged must be there. What sanitizers write ends it, as does an agent
// that ends by itself. Prints how often what happened, now and then and at the end, as JSON.
//
// Exit codes: 0 all as it should be; 1 not, and standard output says what; 2 it could not be tried.
#include <err.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "agent_life.h"
#include "clients.h"
#include "held_cpus.h"
#include "sys/http/http_client.h"

namespace corehold::proof {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kCgroups = "/sys/fs/cgroup/corehold";
constexpr seconds kPatience{600};  // far more than anything takes, on a busy machine as well
constexpr seconds kReport{60};

struct Options {
  AgentOptions agent{};
  std::string static_pods{};
  int seconds = 20;
  int longest_life = 20;  // seconds of an agent
  unsigned seed = 1;
};

class Churn {
 public:
  explicit Churn(const Options& options)
      : options_(options),
        agent_(options.agent),
        clients_({.binary = options.agent.binary,
                  .root = options.agent.root,
                  .static_pods = options.static_pods,
                  .reports = agent_.reports_path(),
                  .seed = options.seed},
                 counts_),
        random_(options.seed) {}

  int run() {
    const auto until = steady_clock::now() + seconds(options_.seconds);
    bool well = start();
    clients_.start();
    while (well && steady_clock::now() < until) {
      well = live() && end_and_start_again();
      print_now_and_then();
    }
    clients_.pause();
    well = well && check() && wind_up();
    clients_.stop();
    if (agent_.runs()) agent_.end(SIGKILL);
    fmt::print("{}\n", counts_.text());
    return well ? 0 : 1;
  }

 private:
  bool fail(const std::string& text) {
    fmt::print("FAILED: {}\n--- the agent's log\n{}\n", text, agent_.log_tail());
    for (const std::string& report : agent_.reports()) {
      fmt::print("--- a sanitizer's report\n{}\n", report);
    }
    return false;
  }

  bool start() {
    if (!agent_.start()) return fail("the agent did not start: " + agent_.ending());
    counts_.add("agent starts");
    return true;
  }

  // Until its time has come; it must not end by itself before.
  bool live() {
    const auto until = steady_clock::now() + milliseconds(std::uniform_int_distribution<int>(
                                                 200, 1000 * options_.longest_life)(random_));
    while (steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(100));
      if (!agent_.runs()) return fail("the agent ended by itself: " + agent_.ending());
      if (!is_single()) return false;
    }
    return true;
  }

  // Whatever is going on, no CPU has two holders.
  bool is_single() {
    const auto held = held_in_cgroups(kCgroups);
    if (!held) return held.error().code == Code::kConflict || fail(held.error().message);
    const auto found = doubles(*held);
    counts_.add("looks at the cgroups");
    return found.empty() || fail(fmt::format("a CPU is held twice: {}", fmt::join(found, "; ")));
  }

  bool end_and_start_again() {
    const int signal = std::uniform_int_distribution<int>(0, 3)(random_) == 0 ? SIGTERM : SIGKILL;
    if (agent_.end(signal) != 0) return fail("the agent's end: " + agent_.ending());
    counts_.add(signal == SIGKILL ? "agent kills" : "agent stops");
    if (!is_single() || !start()) return false;
    clients_.pause();
    const bool well = check();
    clients_.resume();
    return well;
  }

  // REQUIRES: nobody asks for anything.
  bool check() {
    std::vector<std::string> found{"nothing was looked at"};
    const auto until = steady_clock::now() + kPatience;
    while (!found.empty()) {
      if (!agent_.runs()) return fail("the agent ended by itself: " + agent_.ending());
      if (steady_clock::now() > until) {
        return fail(fmt::format("machine and agent never agree: {}", fmt::join(found, "; ")));
      }
      if (!is_single()) return false;
      found = what_is_wrong();
      if (!found.empty()) std::this_thread::sleep_for(milliseconds(200));
    }
    if (!agent_.reports().empty()) return fail("a sanitizer has found something");
    counts_.add("checks");
    return true;
  }

  std::vector<std::string> what_is_wrong() {
    const auto answer = ask(agent_.socket(), {.target = "/apis/corehold.dev/v1alpha1/cpus"});
    if (!answer) return {answer.error().message};
    if (answer->status != 200) return {answer->body};
    const auto said = held_in_map(json::parse(answer->body));
    const auto held = held_in_cgroups(kCgroups);
    if (!said || !held) return {(said ? held.error() : said.error()).message};
    std::vector<std::string> found = doubles(*said);
    for (std::string& text : differences(*held, *said)) found.push_back(std::move(text));
    for (std::string& text : lost_pods()) found.push_back(std::move(text));
    return found;
  }

  std::vector<std::string> lost_pods() {
    const auto answer = ask(agent_.socket(), {.target = "/api/v1/namespaces/default/pods"});
    if (!answer) return {answer.error().message};
    if (answer->status != 200) return {answer->body};
    std::set<std::string> there;
    const json::value list = json::parse(answer->body);
    for (const json::value& pod : list.at("items").as_array()) {
      there.emplace(pod.at("metadata").at("name").as_string());
    }
    std::vector<std::string> found;
    for (const std::string& name : clients_.acknowledged()) {
      if (!there.contains(name)) found.push_back(fmt::format("pod {} is lost", name));
    }
    return found;
  }

  // Nothing is left of anything, and the agent ends well. REQUIRES: nobody asks for anything.
  bool wind_up() {
    for (const auto& entry : std::filesystem::directory_iterator(options_.static_pods)) {
      std::filesystem::remove(entry);
    }
    const auto until = steady_clock::now() + kPatience;
    while (!is_empty()) {
      if (!agent_.runs()) return fail("the agent ended by itself: " + agent_.ending());
      if (steady_clock::now() > until) return fail("pods or containers never go");
      std::this_thread::sleep_for(milliseconds(500));
    }
    if (agent_.end(SIGTERM) != 0) return fail("the agent's end: " + agent_.ending());
    return agent_.reports().empty() || fail("a sanitizer has found something");
  }

  // Asks for the deletion of all pods that there are.
  bool is_empty() {
    const auto answer = ask(agent_.socket(), {.target = "/api/v1/pods"});
    if (!answer || answer->status != 200) return false;
    const json::value list = json::parse(answer->body);
    for (const json::value& pod : list.at("items").as_array()) {
      const json::value& metadata = pod.at("metadata");
      (void)ask(agent_.socket(),
                {.method = "DELETE",
                 .target = fmt::format("/api/v1/namespaces/{}/pods/{}?gracePeriodSeconds=0",
                                       std::string_view(metadata.at("namespace").as_string()),
                                       std::string_view(metadata.at("name").as_string()))});
    }
    const auto held = held_in_cgroups(kCgroups);
    return list.at("items").as_array().empty() && held && *held == HeldCpus{};
  }

  void print_now_and_then() {
    if (steady_clock::now() < next_) return;
    next_ = steady_clock::now() + kReport;
    fmt::print("{}\n", counts_.text());
    std::fflush(stdout);
  }

  Options options_;
  Counts counts_{};
  AgentLife agent_;
  Clients clients_;
  std::mt19937 random_;
  steady_clock::time_point next_ = steady_clock::now() + kReport;
};

// CLI11 throws; main() is where that ends.
int parse_and_run(int count, char** words) {
  Options options;
  CLI::App app("Lets clients use an agent that is killed now and then, and looks after it.");
  app.add_option("--binary", options.agent.binary, "corehold")->required();
  app.add_option("--config", options.agent.config, "Of the agent")->required();
  app.add_option("--root", options.agent.root, "Of the agent")->required();
  app.add_option("--folder", options.agent.folder, "Of logs and reports")->required();
  app.add_option("--static-pods", options.static_pods, "The folder in the config")->required();
  app.add_option("--seconds", options.seconds, "How long (default: 20)");
  app.add_option("--longest-life", options.longest_life, "Of an agent, seconds (default: 20)");
  app.add_option("--seed", options.seed, "Of chance (default: 1)");
  CLI11_PARSE(app, count, words);
  return Churn(options).run();
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
