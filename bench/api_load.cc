// SPDX-License-Identifier: Apache-2.0
//
// Load for bench/agent_bench: one thread, many connections to the agent's socket.
//
//   api_load SOCKET get TARGET CONNECTIONS SECONDS     ask again and again
//   api_load SOCKET patch TARGET CONNECTIONS SECONDS   change an annotation again and again; a *
//                                                      in TARGET is the number of the connection
//   api_load SOCKET watch TARGET CONNECTIONS CHANGED   all see one change of the pod CHANGED
//   api_load SOCKET tell TARGET ROUNDS FILE            resize a pod, and read what it is told
//
// A watch says "ready" when every connection watches, makes the change when it is sent a line,
// and prints the result when all have seen it. To tell is to shrink the container `main` of the pod
// from two CPUs to one, and takes until a reader that waits for a change of the directory of its
// FILE, assigned.cpuset, has read another list. Results are JSON, times in milliseconds. Written
// on plain sockets: the client must cost less than what it measures.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr int kPatience = 60'000;  // milliseconds without any answer

[[noreturn]] void die(std::string_view what) {
  fmt::print(stderr, "api_load: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

// A shell usually allows 1,024 open files.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int connected(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (fd < 0 || path.size() >= sizeof address.sun_path) die("socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    die("connect " + path);
  }
  return fd;
}

void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) die("send");
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string request(std::string_view method, std::string_view target, std::string_view body = "") {
  if (body.empty()) {
    return fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n", method,
                       target);
  }
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/merge-patch+json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      method, target, body.size(), body);
}

std::string change_request(const std::string& target, const std::string& value) {
  return request("PATCH", target,
                 fmt::format(R"({{"metadata":{{"annotations":{{"bench":"{}"}}}}}})", value));
}

// A * is the number.
std::string numbered(std::string target, std::size_t number) {
  const std::size_t place = target.find('*');
  return place == std::string::npos ? target : target.replace(place, 1, fmt::to_string(number));
}

// One answer after the other, of which only the length is looked at.
class Answers {
 public:
  // True: what was asked is answered whole.
  bool take(std::string_view bytes) {
    seen_ += bytes.size();
    if (left_ == 0 && !has_head_) {
      head_ += bytes;
      const std::size_t end = head_.find(kHeadEnd);
      if (end == std::string::npos) return false;
      read_head(end);
    } else {
      left_ -= std::min(left_, bytes.size());
    }
    if (left_ > 0) return false;
    has_head_ = false;
    head_.clear();
    return true;
  }
  std::size_t seen() const { return seen_; }

 private:
  void read_head(std::size_t end) {
    if (head_.compare(0, 10, "HTTP/1.1 2") != 0) {
      fmt::print(stderr, "api_load: {}\n", head_);
      std::exit(1);
    }
    std::string lower = head_.substr(0, end);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const std::size_t at = lower.find("content-length:");
    if (at == std::string::npos) die("an answer without a length");
    const std::size_t length = std::strtoull(lower.c_str() + at + 15, nullptr, 10);
    left_ = length - std::min(length, head_.size() - end - kHeadEnd.size());
    has_head_ = true;
  }

  std::string head_{};
  bool has_head_ = false;
  std::size_t left_ = 0;
  std::size_t seen_ = 0;
};

class Poll {
 public:
  void add(int fd, std::size_t index) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = index;
    if (::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl");
  }
  // Calls it for each connection that has something to read.
  void wait(const std::function<void(std::size_t)>& ready) const {
    std::array<epoll_event, 256> events{};
    const int count = ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), kPatience);
    if (count <= 0) die("no answer");
    for (int i = 0; i < count; ++i) ready(events[static_cast<std::size_t>(i)].data.u64);
  }

 private:
  int fd_ = ::epoll_create1(EPOLL_CLOEXEC);
};

std::string_view read_some(int fd, std::vector<char>& buffer) {
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got <= 0) die("the agent has closed a connection");
  return {buffer.data(), static_cast<std::size_t>(got)};
}

double quantile(const std::vector<double>& sorted, double which) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(which * static_cast<double>(sorted.size() - 1))];
}

struct Asker {
  int fd = -1;
  Answers answers{};
  Clock::time_point asked{};
};

void load(const std::string& path, std::size_t connections, double seconds,
          const std::function<std::string(std::size_t)>& next) {
  std::vector<Asker> askers(connections);
  const Poll poll;
  const auto begin = Clock::now();
  const auto ask = [&](std::size_t index) {
    askers[index].asked = Clock::now();
    send_all(askers[index].fd, next(index));
  };
  for (std::size_t i = 0; i < connections; ++i) {
    askers[i].fd = connected(path);
    poll.add(askers[i].fd, i);
    ask(i);
  }
  std::vector<char> buffer(std::size_t{1} << 20U);
  std::vector<double> times;
  while (Milliseconds(Clock::now() - begin).count() < seconds * 1000) {
    poll.wait([&](std::size_t index) {
      Asker& asker = askers[index];
      if (!asker.answers.take(read_some(asker.fd, buffer))) return;
      times.push_back(Milliseconds(Clock::now() - asker.asked).count());
      ask(index);
    });
  }
  const double took = Milliseconds(Clock::now() - begin).count();
  std::sort(times.begin(), times.end());
  std::size_t bytes = 0;
  for (const Asker& asker : askers) bytes += asker.answers.seen();
  const double count = static_cast<double>(times.size());
  const double mean = times.empty() ? 0 : std::accumulate(times.begin(), times.end(), 0.0) / count;
  fmt::print(
      R"({{"count": {}, "rate": {:.1f}, "mean": {:.4f}, "p50": {:.4f}, "p99": {:.4f}, "bytes": {}}})"
      "\n",
      times.size(), count * 1000 / took, mean, quantile(times, 0.5), quantile(times, 0.99),
      times.empty() ? 0 : bytes / times.size());
}

struct Watcher {
  int fd = -1;
  std::string tail{};  // of what it has been sent: a mark may come in two pieces
  bool has_head = false;
  bool has_seen = false;
};

void watch(const std::string& path, const std::string& target, std::size_t connections,
           const std::string& changed) {
  std::vector<Watcher> watchers(connections);
  const Poll poll;
  for (std::size_t i = 0; i < connections; ++i) {
    watchers[i].fd = connected(path);
    poll.add(watchers[i].fd, i);
    send_all(watchers[i].fd, request("GET", target));
  }
  std::vector<char> buffer(std::size_t{1} << 20U);
  std::size_t ready = 0;
  while (ready < connections) {
    poll.wait([&](std::size_t index) {
      Watcher& watcher = watchers[index];
      watcher.tail += read_some(watcher.fd, buffer);
      if (watcher.has_head || watcher.tail.find(kHeadEnd) == std::string::npos) return;
      if (watcher.tail.compare(0, 12, "HTTP/1.1 200") != 0) die(watcher.tail);
      watcher.has_head = true;
      ++ready;
    });
  }
  fmt::print("ready\n");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  const std::string mark = fmt::format("mark-{}", ::getpid());
  const int writer = connected(path);
  const auto begin = Clock::now();
  send_all(writer, change_request(changed, mark));
  std::vector<double> times;
  times.reserve(connections);
  while (times.size() < connections) {
    poll.wait([&](std::size_t index) {
      Watcher& watcher = watchers[index];
      watcher.tail += read_some(watcher.fd, buffer);
      if (!watcher.has_seen && watcher.tail.find(mark) != std::string::npos) {
        watcher.has_seen = true;
        times.push_back(Milliseconds(Clock::now() - begin).count());
      }
      if (watcher.tail.size() > mark.size()) {
        watcher.tail.erase(0, watcher.tail.size() - mark.size());
      }
    });
  }
  std::sort(times.begin(), times.end());
  fmt::print(R"({{"count": {}, "p50": {:.3f}, "p99": {:.3f}, "last": {:.3f}}})"
             "\n",
             times.size(), quantile(times, 0.5), quantile(times, 0.99), times.back());
  std::fflush(stdout);
  std::getline(std::cin, line);
}

std::string resize_request(const std::string& target, int cpus) {
  const std::string amounts = fmt::format(R"({{"cpu":"{}"}})", cpus);
  const std::string body = fmt::format(
      R"({{"spec":{{"containers":[{{"name":"main","resources":{{"requests":{},"limits":{}}}}}]}}}})",
      amounts, amounts);
  return fmt::format(
      "PATCH {}/resize HTTP/1.1\r\nHost: x\r\n"
      "Content-Type: application/strategic-merge-patch+json\r\nContent-Length: {}\r\n\r\n{}",
      target, body.size(), body);
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A workload that waits for its file to say something else.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)), last_(content(path_)) {
    const std::string directory = path_.substr(0, path_.rfind('/'));
    if (fd_ < 0 || ::inotify_add_watch(fd_, directory.c_str(), IN_MOVED_TO) < 0) die(directory);
  }
  void wait() {
    std::array<char, 4096> events{};
    for (;;) {
      pollfd waits{.fd = fd_, .events = POLLIN, .revents = 0};
      if (::poll(&waits, 1, kPatience) <= 0) die("the file does not change");
      if (::read(fd_, events.data(), events.size()) <= 0) die("inotify");
      std::string now = content(path_);
      if (now == last_) continue;
      last_ = std::move(now);
      return;
    }
  }

 private:
  int fd_ = ::inotify_init1(IN_CLOEXEC);
  std::string path_;
  std::string last_;
};

void tell(const std::string& path, const std::string& target, std::size_t rounds,
          const std::string& file) {
  constexpr std::chrono::milliseconds kRest{20};  // more than the delay, so that resizes are over
  Reader reader(file);
  const int fd = connected(path);
  std::vector<char> buffer(std::size_t{1} << 20U);
  std::vector<double> times;
  for (std::size_t round = 0; round < 2 * rounds; ++round) {
    const bool shrinks = round % 2 == 1;
    Answers answers;
    const auto begin = Clock::now();
    send_all(fd, resize_request(target, shrinks ? 1 : 2));
    reader.wait();
    if (shrinks) times.push_back(Milliseconds(Clock::now() - begin).count());
    while (!answers.take(read_some(fd, buffer))) continue;
    std::this_thread::sleep_for(kRest);
  }
  std::sort(times.begin(), times.end());
  fmt::print(R"({{"count": {}, "p50": {:.3f}, "p99": {:.3f}, "last": {:.3f}}})"
             "\n",
             times.size(), quantile(times, 0.5), quantile(times, 0.99), times.back());
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() != 5) {
    fmt::print(stderr,
               "usage: api_load SOCKET get|patch|watch|tell TARGET NUMBER SECONDS|CHANGED|FILE\n");
    return 2;
  }
  raise_open_files();
  const std::string& target = arguments[2];
  const std::size_t connections = std::strtoull(arguments[3].c_str(), nullptr, 10);
  if (arguments[1] == "watch") {
    watch(arguments[0], target, connections, arguments[4]);
    return 0;
  }
  if (arguments[1] == "tell") {
    tell(arguments[0], target, connections, arguments[4]);
    return 0;
  }
  const double seconds = std::strtod(arguments[4].c_str(), nullptr);
  int serial = 0;
  const std::string get = request("GET", target);
  load(arguments[0], connections, seconds, [&](std::size_t connection) {
    if (arguments[1] == "get") return std::string(get);
    return change_request(numbered(target, connection), fmt::to_string(++serial));
  });
  return 0;
}
