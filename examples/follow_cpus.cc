// SPDX-License-Identifier: Apache-2.0
//
// A program that keeps up with its CPUs. It runs one worker on each CPU that the file
// `assigned.cpuset` lists and watches that file: when CPUs leave the list, their workers finish
// what they are at and stop, before the CPUs are taken; when CPUs come, workers are started there.
//
// Copy it and put your own work into Worker::work(). One file, C++17, nothing but Linux.
//
//   follow_cpus [--no-pin] [--busy] [FILE]         FILE: /etc/podinfo/assigned.cpuset
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Cpus = std::set<int>;

constexpr int kAnyCpu = -1;  // the place of the only worker of who has no CPUs of its own

struct Options {
  std::string file = "/etc/podinfo/assigned.cpuset";
  bool pins = true;      // false: the CPUs are somebody else's, only the counting is shown
  bool is_busy = false;  // workers poll instead of resting between two pieces of work
};

const Clock::time_point kStart = Clock::now();

void say(const std::string& text) {
  const std::chrono::duration<double> since = Clock::now() - kStart;
  std::printf("%8.3f  %s\n", since.count(), text.c_str());
  std::fflush(stdout);
}

std::string milliseconds_text(Clock::duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms",
                std::chrono::duration<double, std::milli>(duration).count());
  return text;
}

// --- the list

// "0-3,8"; no value for anything else. "" is the empty set.
std::optional<Cpus> parse_list(const std::string& text) {
  Cpus cpus;
  std::size_t at = 0;
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const std::size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && at - from < 6) {
      value = value * 10 + (text[at++] - '0');
    }
    if (at == from) return std::nullopt;
    return value;
  };
  while (at < text.size()) {
    const auto first = number();
    auto last = first;
    if (first && at < text.size() && text[at] == '-') {
      ++at;
      last = number();
    }
    if (!first || !last || *last < *first) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
    if (at == text.size()) break;
    if (text[at++] != ',' || at == text.size()) return std::nullopt;
  }
  return cpus;
}

std::string list_text(const Cpus& cpus) {
  std::string text;
  for (auto cpu = cpus.begin(); cpu != cpus.end();) {
    const int first = *cpu;
    int last = first;
    while (++cpu != cpus.end() && *cpu == last + 1) last = *cpu;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  }
  return text;
}

Cpus without(const Cpus& cpus, const Cpus& others) {
  Cpus rest;
  for (const int cpu : cpus) {
    if (others.count(cpu) == 0) rest.insert(cpu);
  }
  return rest;
}

// --- where threads run

// A mask of any size: cpu_set_t ends at CPU 1023.
std::vector<unsigned long> mask_of(const Cpus& cpus) {
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask(8192 / kBits);
  for (const int cpu : cpus) {
    const auto bit = static_cast<std::size_t>(cpu);
    if (bit < mask.size() * kBits) mask[bit / kBits] |= 1UL << (bit % kBits);
  }
  return mask;
}

// 0, or the errno: EINVAL when none of the CPUs is in the cpuset of the thread's cgroup.
int pin(pid_t thread, const Cpus& cpus) {
  const std::vector<unsigned long> mask = mask_of(cpus);
  const long done =
      ::syscall(SYS_sched_setaffinity, thread, mask.size() * sizeof mask[0], mask.data());
  return done < 0 ? errno : 0;
}

bool is_pinned(pid_t thread, const Cpus& cpus) {
  std::vector<unsigned long> mask(mask_of({}).size());
  const long bytes =
      ::syscall(SYS_sched_getaffinity, thread, mask.size() * sizeof mask[0], mask.data());
  return bytes > 0 && mask == mask_of(cpus);
}

// --- the work

class Worker {
 public:
  Worker(int cpu, const Options& options)
      : cpu_(cpu), options_(options), thread_([this] { run(); }) {}
  ~Worker() {
    ask_to_stop();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Returns at once: all that leave are asked before the first is waited for.
  void ask_to_stop() { stops_ = true; }

  // A kernel before 6.2 forgets what a thread has asked for when the cpuset of its cgroup
  // changes, so it is looked after. Whether it had to be pinned again.
  bool mend() {
    const pid_t thread = id_;
    if (!options_.pins || cpu_ == kAnyCpu || thread == 0 || is_pinned(thread, {cpu_})) return false;
    return pin(thread, {cpu_}) == 0;
  }

 private:
  void run() {
    const auto id = static_cast<pid_t>(::syscall(SYS_gettid));
    if (options_.pins && cpu_ != kAnyCpu) {
      if (const int error = pin(id, {cpu_}); error != 0) {
        say("CPU " + std::to_string(cpu_) + " cannot be had (" + std::strerror(error) +
            "): its worker runs where it may");
      }
    }
    id_ = id;
    while (!stops_) {
      work();
      if (!options_.is_busy) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // One piece of work, short beside the delay: a worker that is to stop finishes it first.
  void work() {
    for (int i = 0; i < 10'000; ++i) sum_ = sum_ * 6364136223846793005U + 1442695040888963407U;
  }

  const int cpu_;
  const Options& options_;
  volatile std::uint64_t sum_ = 1;
  std::atomic<bool> stops_{false};
  std::atomic<pid_t> id_{0};  // 0: it has not begun
  std::thread thread_;        // last: it uses the others
};

class Workers {
 public:
  explicit Workers(const Options& options) : options_(options) {}

  // One worker for each CPU, and no others. `told` is when the change was noticed.
  void fit(const Cpus& cpus, Clock::time_point told) {
    const Cpus wanted = cpus.empty() ? Cpus{kAnyCpu} : cpus;
    Cpus had;
    for (const auto& [cpu, worker] : workers_) had.insert(cpu);
    const Cpus leaving = without(had, wanted);
    const Cpus coming = without(wanted, had);
    // First off the CPUs that will be taken: the time for that is limited.
    for (const int cpu : leaving) workers_.at(cpu)->ask_to_stop();
    for (const int cpu : leaving) workers_.erase(cpu);
    const Clock::duration took = Clock::now() - told;
    // This thread too. The kernel keeps it off the CPUs that it has not asked for, so it is said
    // again when there are more.
    if (options_.pins && !cpus.empty()) pin(0, cpus);
    for (const int cpu : coming) workers_.emplace(cpu, std::make_unique<Worker>(cpu, options_));
    tell(cpus, without(leaving, {kAnyCpu}), without(coming, {kAnyCpu}), took);
  }

  void mend() {
    for (auto& [cpu, worker] : workers_) {
      if (worker->mend()) say("CPU " + std::to_string(cpu) + ": its worker is pinned again");
    }
  }

 private:
  void tell(const Cpus& cpus, const Cpus& leaving, const Cpus& coming, Clock::duration took) const {
    std::string text = cpus.empty() ? "no CPUs of its own" : "has " + list_text(cpus);
    if (!leaving.empty()) {
      text += "; off " + list_text(leaving) + " in " + milliseconds_text(took);
    }
    if (!coming.empty()) text += "; on " + list_text(coming);
    say(text + "; workers: " + std::to_string(workers_.size()));
  }

  const Options& options_;
  std::map<int, std::unique_ptr<Worker>> workers_{};  // by CPU
};

// --- the file

// What the file says; no value: it is not there. Its directory is replaced under the reader: a
// file that has gone between two steps of the way to it is there again.
std::optional<std::string> read_file(const std::string& path) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) continue;
    if (file < 0) return std::nullopt;
    std::string text;
    char piece[4096];
    ssize_t length = 0;
    while ((length = ::read(file, piece, sizeof piece)) > 0) {
      text.append(piece, static_cast<std::size_t>(length));
    }
    ::close(file);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (length == 0) return text;
  }
  return std::nullopt;
}

// The directory of the file, not the file: that is a link through `..data`, and what changes is
// where `..data` points to.
class Watch {
 public:
  explicit Watch(const std::string& file)
      : directory_(file.find('/') == std::string::npos ? "." : file.substr(0, file.rfind('/') + 1)),
        queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}
  ~Watch() { ::close(queue_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  int descriptor() const { return queue_; }

  // Whether the directory is watched. To be called before the file is read: what changes in
  // between is then read, or told, or both.
  bool begin() {
    if (number_ < 0) {
      number_ = ::inotify_add_watch(
          queue_, directory_.c_str(),
          IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
    }
    return number_ >= 0;
  }

  // Empties the queue. What has happened does not matter, nor does it when the queue was too
  // short for it (IN_Q_OVERFLOW): the file is read again.
  void drain() {
    alignas(inotify_event) char events[16384];
    ssize_t length = 0;
    while ((length = ::read(queue_, events, sizeof events)) > 0) {
      for (ssize_t at = 0; at < length;) {
        inotify_event event{};
        std::memcpy(&event, events + at, sizeof event);
        at += static_cast<ssize_t>(sizeof event + event.len);
        // The directory has gone, and its name may be another's soon.
        if (event.wd != number_) continue;
        if ((event.mask & (IN_IGNORED | IN_MOVE_SELF)) == 0) continue;
        if ((event.mask & IN_MOVE_SELF) != 0) ::inotify_rm_watch(queue_, number_);
        number_ = -1;
      }
    }
  }

 private:
  std::string directory_;
  int queue_;
  int number_ = -1;
};

// --- all together

// Blocked in this thread, and so in all that it starts; they come through a descriptor.
int take_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return ::signalfd(-1, &signals, SFD_CLOEXEC);
}

int follow(const Options& options) {
  constexpr int kLookAfterWorkers = 1000;  // milliseconds
  constexpr int kLookForDirectory = 100;
  const int signals = take_signals();
  Watch watch(options.file);
  if (watch.descriptor() < 0 || signals < 0) {
    std::perror("follow_cpus");
    return 1;
  }
  Workers workers(options);
  std::optional<std::string> last;  // what was acted on, or complained about
  bool waits = false;
  Clock::time_point told = Clock::now();
  for (;;) {
    const bool is_watched = watch.begin();
    const auto text = read_file(options.file);
    if (!text && !last && !waits) {
      say("waits for " + options.file);
      waits = true;
    }
    if (text && text != last) {
      last = text;
      if (const auto cpus = parse_list(*text)) {
        workers.fit(*cpus, told);
      } else {
        say("\"" + *text + "\" is no list of CPUs: nothing changes");
      }
    }
    pollfd sources[] = {{watch.descriptor(), POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(sources, 2, is_watched ? kLookAfterWorkers : kLookForDirectory) < 0) continue;
    told = Clock::now();
    if (sources[1].revents != 0) return 0;
    watch.drain();
    workers.mend();
  }
}

}  // namespace

int main(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--no-pin") {
      options.pins = false;
    } else if (word == "--busy") {
      options.is_busy = true;
    } else if (word.rfind('-', 0) != 0) {
      options.file = word;
    } else {
      std::fprintf(stderr, "usage: follow_cpus [--no-pin] [--busy] [FILE]\n");
      return 2;
    }
  }
  return follow(options);
}
