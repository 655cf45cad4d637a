// SPDX-License-Identifier: Apache-2.0
//
// Clients of an agent, all at the same time, each by chance: pods that are created, resized and
// deleted, logs, watches, commands (`corehold run`), files of static pods, and the podresources
// API. The agent may go at any time: what gets no answer is counted so.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "counts.h"

namespace corehold::proof {

struct ClientOptions {
  std::string binary{};
  std::string root{};
  std::string static_pods{};  // the folder
  std::string reports{};      // of sanitizers in commands
  unsigned seed = 1;
  int writers = 5;  // clients of the API
};

// Lets clients through, or holds them back and waits until each has finished what it does.
class Gate {
 public:
  // False: it is over.
  bool enter();
  void leave();
  void close();
  void open();
  void end();

 private:
  std::mutex mutex_;  // guards all below: clients are threads
  std::condition_variable changed_;
  int inside_ = 0;
  bool closed_ = false;
  bool ended_ = false;
};

class Clients {
 public:
  Clients(ClientOptions options, Counts& counts) : options_(std::move(options)), counts_(counts) {}

  void start();
  // Between the two nobody asks for anything.
  void pause() { gate_.close(); }
  void resume() { gate_.open(); }
  void stop();

  // Pods whose creation the agent has acknowledged, and whose deletion nobody has asked for.
  std::vector<std::string> acknowledged() const;

 private:
  using Random = std::mt19937;
  struct Writer {
    std::string name{};
    Random random;
    std::vector<std::string> pods{};
    int made = 0;
  };

  void every(unsigned seed, void (Clients::*act)(Random&));
  void write(Writer& writer);
  void create(Writer& writer);
  void remove(Writer& writer);
  void resize(Writer& writer);
  void read_logs(Writer& writer);
  void send_nonsense(Writer& writer);
  void watch(Random& random);
  void read(Random& random);
  void run_command(Random& random);
  void change_static_pods(Random& random);
  void ask_pod_resources(Random& random);

  // The status, 0 for no answer; counted under the name.
  int ask_for(const std::string& name, const std::string& method, const std::string& target,
              const std::string& body = "", const std::string& type = "application/json");
  std::string socket() const { return options_.root + "/run/corehold.sock"; }

  ClientOptions options_;
  Counts& counts_;
  Gate gate_{};
  std::vector<std::thread> threads_{};
  mutable std::mutex mutex_;  // guards acknowledged_: writers are threads
  std::map<std::string, bool> acknowledged_{};
};

}  // namespace corehold::proof
