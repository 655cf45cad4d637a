// SPDX-License-Identifier: Apache-2.0
#include "clients.h"

#include <podresources.grpc.pb.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <grpcpp/create_channel.h>

#include "program.h"
#include "sys/http/http_client.h"

namespace corehold::proof {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr std::size_t kMostPods = 3;  // of a writer
constexpr int kMostStaticPods = 3;
constexpr milliseconds kAnswerPatience{120'000};  // the machine may be slow, and the sanitizers are
constexpr milliseconds kRunPatience{120'000};
constexpr milliseconds kAgentAway{
    1000};  // it starts for seconds: nobody asks all the time meanwhile

int chance(std::mt19937& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}

void rest(std::mt19937& random, int most_milliseconds) {
  std::this_thread::sleep_for(milliseconds(chance(random, 0, most_milliseconds)));
}

// Commands that stay, that end, that fail, that write much, and that leave children behind.
std::string command_of(std::mt19937& random) {
  switch (chance(random, 0, 5)) {
    case 0:
      return "echo begun; sleep 2";
    case 1:
      return "for i in 1 2 3 4 5 6 7 8 9; do echo line $i of a log; done; sleep 1000";
    case 2:
      return "sleep 0.3; exit 3";
    case 3:
      return "sleep 1000 & sleep 1000";
    case 4:
      return "trap '' TERM; sleep 1000";
    default:
      return "exec sleep 1000";
  }
}

std::string container_text(std::mt19937& random, int number, bool shared) {
  const std::string amounts =
      shared ? "" : fmt::format(R"("cpu":"{}","memory":"64Mi")", chance(random, 1, 3));
  return fmt::format(
      R"({{"name":"c{}","command":["sh","-c","{}"],"resources":{{"limits":{{{}}}}}}})", number,
      command_of(random), amounts);
}

std::string pod_text(std::mt19937& random, const std::string& name) {
  const bool shared = chance(random, 0, 2) == 0;
  const int containers = chance(random, 1, 2);
  std::string list;
  for (int number = 0; number < containers; ++number) {
    list += (number == 0 ? "" : ",") + container_text(random, number, shared);
  }
  constexpr std::array kPolicies = {"Always", "OnFailure", "Never"};
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"restartPolicy":"{}","terminationGracePeriodSeconds":1,"containers":[{}]}}}})",
      name, kPolicies[static_cast<std::size_t>(chance(random, 0, 2))], list);
}

template <typename T>
const T& one_of(std::mt19937& random, const std::vector<T>& list) {
  return list[static_cast<std::size_t>(chance(random, 0, static_cast<int>(list.size()) - 1))];
}

}  // namespace

bool Gate::enter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || !closed_; });
  if (ended_) return false;
  ++inside_;
  return true;
}

void Gate::leave() {
  const std::scoped_lock lock(mutex_);
  --inside_;
  changed_.notify_all();
}

void Gate::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.wait(lock, [&] { return inside_ == 0; });
}

void Gate::open() {
  const std::scoped_lock lock(mutex_);
  closed_ = false;
  changed_.notify_all();
}

void Gate::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Clients::start() {
  unsigned seed = options_.seed;
  for (int number = 0; number < options_.writers; ++number) {
    threads_.emplace_back([this, writer = Writer{.name = fmt::format("w{}", number),
                                                 .random = Random(++seed)}]() mutable {
      while (gate_.enter()) {
        write(writer);
        gate_.leave();
        rest(writer.random, 400);
      }
    });
  }
  for (const auto act :
       {&Clients::watch, &Clients::read, &Clients::run_command, &Clients::run_command,
        &Clients::change_static_pods, &Clients::ask_pod_resources}) {
    threads_.emplace_back(&Clients::every, this, ++seed, act);
  }
}

void Clients::stop() {
  gate_.end();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<std::string> Clients::acknowledged() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, wanted] : acknowledged_) {
    if (wanted) names.push_back(name);
  }
  return names;
}

void Clients::every(unsigned seed, void (Clients::*act)(Random&)) {
  Random random(seed);
  while (gate_.enter()) {
    (this->*act)(random);
    gate_.leave();
    rest(random, 600);
  }
}

int Clients::ask_for(const std::string& name, const std::string& method, const std::string& target,
                     const std::string& body, const std::string& type) {
  const auto answer = ask(socket(), {.method = method,
                                     .target = target,
                                     .body = body,
                                     .content_type = type,
                                     .patience = kAnswerPatience});
  const int status = answer ? answer->status : 0;
  counts_.add(status == 0 ? name + " unanswered" : fmt::format("{} {}", name, status));
  if (status == 0) std::this_thread::sleep_for(kAgentAway);
  return status;
}

void Clients::write(Writer& writer) {
  if (writer.pods.empty()) return create(writer);
  switch (chance(writer.random, 0, 9)) {
    case 0:
    case 1:
    case 2:
      return writer.pods.size() < kMostPods ? create(writer) : remove(writer);
    case 3:
    case 4:
      return remove(writer);
    case 5:
    case 6:
    case 7:
      return resize(writer);
    case 8:
      return read_logs(writer);
    default:
      return send_nonsense(writer);
  }
}

void Clients::create(Writer& writer) {
  const std::string name = fmt::format("{}-{}", writer.name, ++writer.made);
  const int status = ask_for("create", "POST", kPods, pod_text(writer.random, name));
  // Without an answer it may be there: it is deleted some time.
  if (status == 201 || status == 0) writer.pods.push_back(name);
  if (status != 201) return;
  const std::scoped_lock lock(mutex_);
  acknowledged_[name] = true;
}

void Clients::remove(Writer& writer) {
  const std::string name = one_of(writer.random, writer.pods);
  {
    const std::scoped_lock lock(mutex_);
    acknowledged_[name] = false;
  }
  const int status =
      ask_for("delete", "DELETE",
              fmt::format("{}/{}?gracePeriodSeconds={}", kPods, name, chance(writer.random, 0, 1)));
  if (status == 200 || status == 202 || status == 404) std::erase(writer.pods, name);
}

void Clients::resize(Writer& writer) {
  const std::string amounts =
      fmt::format(R"({{"cpu":"{}","memory":"64Mi"}})", chance(writer.random, 1, 4));
  ask_for("resize", "PATCH", fmt::format("{}/{}/resize", kPods, one_of(writer.random, writer.pods)),
          fmt::format(R"({{"spec":{{"containers":[{{"name":"c0","resources":)"
                      R"({{"requests":{0},"limits":{0}}}}}]}}}})",
                      amounts),
          "application/strategic-merge-patch+json");
}

void Clients::read_logs(Writer& writer) {
  constexpr std::array kOptions = {"", "&tailLines=2", "&limitBytes=7", "&timestamps=true",
                                   "&previous=true"};
  ask_for("logs", "GET",
          fmt::format("{}/{}/log?container=c0{}", kPods, one_of(writer.random, writer.pods),
                      kOptions[static_cast<std::size_t>(chance(writer.random, 0, 4))]));
}

void Clients::send_nonsense(Writer& writer) {
  std::string text = pod_text(writer.random, "nonsense");
  const auto size = static_cast<int>(text.size());
  text.resize(static_cast<std::size_t>(chance(writer.random, 0, size - 1)));
  ask_for("nonsense", "POST", kPods, text);
}

// The agent ends each watch soon: while nobody changes anything, no line would come.
void Clients::watch(Random& random) {
  constexpr std::array kTargets = {
      "/api/v1/pods?watch=true&timeoutSeconds=4",
      "/api/v1/pods?watch=true&timeoutSeconds=4&allowWatchBookmarks=true"
      "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
      "/api/v1/events?watch=true&timeoutSeconds=4", "/api/v1/nodes?watch=true&timeoutSeconds=4"};
  auto stream =
      open_stream(socket(), {.target = kTargets[static_cast<std::size_t>(chance(random, 0, 3))],
                             .patience = kAnswerPatience});
  counts_.add(stream ? fmt::format("watch {}", stream->status()) : "watch unanswered");
  if (!stream) return;
  const auto until = steady_clock::now() + milliseconds(chance(random, 0, 4000));
  while (steady_clock::now() < until) {
    pollfd ready = {.fd = stream->descriptor(), .events = POLLIN, .revents = 0};
    if (!stream->has_more() && poll(&ready, 1, 100) <= 0) continue;
    const auto line = stream->next_line();
    if (!line || !*line) return;
    counts_.add("watch events");
  }
}

void Clients::read(Random& random) {
  constexpr std::array kTargets = {"/api/v1/pods",
                                   "/api/v1/events",
                                   "/api/v1/nodes",
                                   "/metrics",
                                   "/apis/corehold.dev/v1alpha1/cpus",
                                   "/readyz",
                                   "/openapi/v3"};
  ask_for("read", "GET", kTargets[static_cast<std::size_t>(chance(random, 0, 6))]);
}

void Clients::run_command(Random& random) {
  std::vector<std::string> words = {options_.binary, "run",
                                    "--root",        options_.root,
                                    "--cpus",        std::to_string(chance(random, 1, 4))};
  if (chance(random, 0, 1) == 1) words.emplace_back("--wait");
  for (const std::string& word : {std::string("--"), std::string("sh"), std::string("-c"),
                                  fmt::format("echo run; sleep 0.{}", chance(random, 0, 9))}) {
    words.push_back(word);
  }
  const pid_t pid = spawn({.words = words, .output = "/dev/null", .reports = options_.reports});
  const bool to_be_killed = chance(random, 0, 3) == 0;
  const auto until =
      steady_clock::now() + (to_be_killed ? milliseconds(chance(random, 0, 3000)) : kRunPatience);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(20));
      continue;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    counts_.add(to_be_killed ? "run killed" : "run overdue");
    return;
  }
  counts_.add(WIFEXITED(status) ? fmt::format("run exit {}", WEXITSTATUS(status))
                                : fmt::format("run signal {}", WTERMSIG(status)));
}

void Clients::change_static_pods(Random& random) {
  namespace fs = std::filesystem;
  const std::string name = fmt::format("static-{}", chance(random, 1, kMostStaticPods));
  const fs::path path = fs::path(options_.static_pods) / (name + ".json");
  std::error_code ignored;
  if (fs::remove(path, ignored)) {
    counts_.add("static pods removed");
    return;
  }
  std::string text = pod_text(random, name);
  if (chance(random, 0, 7) == 0) text.resize(text.size() / 2);
  // Some at once, some by a rename, as editors do.
  const fs::path made = chance(random, 0, 1) == 0 ? path : fs::path(path.string() + ".new");
  std::ofstream(made) << text;
  if (made != path) fs::rename(made, path, ignored);
  counts_.add("static pods written");
}

void Clients::ask_pod_resources(Random& random) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::PodResourcesLister::NewStub(
      grpc::CreateCustomChannel("unix:" + options_.root + "/pod-resources/kubelet.sock",
                                grpc::InsecureChannelCredentials(), arguments));
  for (int calls = chance(random, 1, 4); calls > 0; --calls) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kAnswerPatience);
    grpc::Status status;
    if (chance(random, 0, 1) == 0) {
      v1::ListPodResourcesResponse answer;
      status = stub->List(&context, {}, &answer);
    } else {
      v1::AllocatableResourcesResponse answer;
      status = stub->GetAllocatableResources(&context, {}, &answer);
    }
    counts_.add(status.ok()
                    ? "podresources"
                    : fmt::format("podresources error {}", static_cast<int>(status.error_code())));
  }
}

}  // namespace corehold::proof
