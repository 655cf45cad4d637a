// SPDX-License-Identifier: Apache-2.0
#include "kernel/irqbalance.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "isolation/cpu_mask.h"
#include "sys/file/directory.h"

namespace corehold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CpuSet cpus(std::string_view list) { return *CpuSet::parse(list); }

// Answers on a socket as irqbalance 1.9.2 does: one message a connection, only with credentials,
// and a new list counts from the next scan on.
class FakeIrqBalance {
 public:
  explicit FakeIrqBalance(std::string socket) : socket_(std::move(socket)) {
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    CHECK(socket_.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, socket_.data(), socket_.size());
    CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const int on = 1;
    CHECK(::setsockopt(listener_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    CHECK(::listen(listener_.get(), 1) == 0);
  }
  FakeIrqBalance(const FakeIrqBalance&) = delete;
  FakeIrqBalance& operator=(const FakeIrqBalance&) = delete;
  ~FakeIrqBalance() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::unlink(socket_.c_str());
  }

  void serve() {
    thread_ = std::thread([this] {
      while (true) {
        Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection.is_open()) return;
        answer(std::move(connection));
      }
    });
  }

  // With half the answer to the next question it waits until `finish` is called.
  void hesitate() {
    const std::scoped_lock lock(mutex_);
    hesitates_ = true;
  }
  void finish() {
    const std::scoped_lock lock(mutex_);
    hesitates_ = false;
    changed_.notify_all();
  }

  // Waits until so many messages have come and are answered.
  std::vector<std::string> messages(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return messages_.size() >= count; });
    return messages_;
  }
  void scan() {
    const std::scoped_lock lock(mutex_);
    banned_ = asked_;
  }

 private:
  void answer(Descriptor connection) {
    std::array<char, 500> buffer{};
    std::array<char, 256> control{};
    iovec data{.iov_base = buffer.data(), .iov_len = buffer.size()};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(connection.get(), &header, 0);
    const cmsghdr* credentials = CMSG_FIRSTHDR(&header);
    if (got <= 0 || credentials == nullptr || credentials->cmsg_type != SCM_CREDENTIALS) return;
    std::unique_lock lock(mutex_);
    const std::string message(buffer.data(), static_cast<std::size_t>(got));
    constexpr std::string_view kSettings = "settings cpus ";
    if (message == "setup") {
      const std::string text = fmt::format("SLEEP 10 IRQ 9 LOAD 0 DIFF 0 CLASS 0 BANNED {}",
                                           cpu_mask_text(banned_, "ff"));
      const std::size_t half = text.size() / 2;
      CHECK(::send(connection.get(), text.data(), half, MSG_NOSIGNAL) > 0);
      changed_.wait(lock, [this] { return !hesitates_; });
      CHECK(::send(connection.get(), text.data() + half, text.size() - half, MSG_NOSIGNAL) > 0);
    } else if (message.starts_with(kSettings)) {
      const std::string list = message.substr(kSettings.size());
      asked_ = list == "NULL" ? CpuSet{} : cpus(list);
    }
    connection.close();
    messages_.push_back(message);
    changed_.notify_all();
  }

  std::string socket_;
  Descriptor listener_{-1};
  std::thread thread_{};
  std::mutex mutex_{};  // of all below: the test's thread looks and changes
  std::condition_variable changed_{};
  std::vector<std::string> messages_{};
  CpuSet asked_{};
  CpuSet banned_{};
  bool hesitates_ = false;
};

class IrqBalanceClient : public testing::Test {
 protected:
  IrqBalanceClient() {
    std::string pattern = testing::TempDir() + "irqbalance-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
  }
  ~IrqBalanceClient() override { static_cast<void>(remove_tree(directory_)); }

  std::string socket(int pid) const { return fmt::format("{}/irqbalance{}.sock", directory_, pid); }
  IrqBalance client(std::chrono::milliseconds patience = std::chrono::seconds(20)) const {
    return IrqBalance({.directory = directory_, .patience = patience});
  }

  std::string directory_{};
};

TEST_F(IrqBalanceClient, BansCpusAndTakesThatForDoneUntilTheNextScan) {
  FakeIrqBalance irqbalance(socket(1));
  irqbalance.serve();
  IrqBalance one = client();
  EXPECT_THAT(one.look().running, ElementsAre(IrqBalanceView{.socket = socket(1)}));
  ASSERT_TRUE(one.ban(socket(1), cpus("4-5")));
  EXPECT_THAT(irqbalance.messages(2), ElementsAre("setup", "settings cpus 4-5"));
  EXPECT_EQ(one.look().running.at(0).banned, cpus("4-5"));
  EXPECT_EQ(client().look().running.at(0).banned, CpuSet{});
  irqbalance.scan();
  EXPECT_EQ(one.look().running.at(0).banned, cpus("4-5"));
  EXPECT_EQ(client().look().running.at(0).banned, cpus("4-5"));

  ASSERT_TRUE(one.ban(socket(1), {}));
  EXPECT_EQ(irqbalance.messages(7).back(), "settings cpus NULL");
  irqbalance.scan();
  EXPECT_EQ(one.look().running.at(0).banned, CpuSet{});
}

TEST_F(IrqBalanceClient, SeesWhatSomebodyElseHasTold) {
  FakeIrqBalance irqbalance(socket(1));
  irqbalance.serve();
  IrqBalance one = client();
  static_cast<void>(one.look());
  ASSERT_TRUE(one.ban(socket(1), cpus("4")));
  ASSERT_TRUE(client().ban(socket(1), cpus("6")));
  EXPECT_EQ(irqbalance.messages(3).size(), 3U);
  irqbalance.scan();
  EXPECT_EQ(one.look().running.at(0).banned, cpus("6"));
}

TEST_F(IrqBalanceClient, FindsNobodyWhereNobodyIs) {
  IrqBalance one = client();
  const auto none = one.look();
  EXPECT_THAT(none.running, IsEmpty());
  EXPECT_THAT(none.silent, IsEmpty());
  // A dead one has left its socket.
  {
    const Descriptor left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket(0x7ffffff0);
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  const auto dead = one.look();
  EXPECT_THAT(dead.running, IsEmpty());
  EXPECT_THAT(dead.silent, IsEmpty());
  const auto told = one.ban(socket(0x7ffffff0), cpus("1"));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kNotFound);
  EXPECT_THAT(told.error().message, HasSubstr("ECONNREFUSED"));
}

TEST_F(IrqBalanceClient, NamesOneThatDoesNotAnswerAndGetsTheAnswerLater) {
  FakeIrqBalance irqbalance(socket(1));
  IrqBalance one = client(std::chrono::milliseconds(1));
  const auto silent = one.look();
  EXPECT_THAT(silent.running, IsEmpty());
  ASSERT_EQ(silent.silent.size(), 1U);
  EXPECT_THAT(silent.silent[0].reason, HasSubstr("ETIMEDOUT"));
  irqbalance.serve();
  EXPECT_THAT(irqbalance.messages(1), ElementsAre("setup"));
  // The question is not asked again: the answer to the first one is there.
  EXPECT_EQ(one.look().running.size(), 1U);
  EXPECT_THAT(irqbalance.messages(1), ElementsAre("setup"));
}

TEST_F(IrqBalanceClient, KeepsTheBeginningOfAnAnswer) {
  FakeIrqBalance irqbalance(socket(1));
  irqbalance.hesitate();
  irqbalance.serve();
  IrqBalance one = client(std::chrono::milliseconds(50));
  EXPECT_EQ(one.look().silent.size(), 1U);
  irqbalance.finish();
  EXPECT_THAT(irqbalance.messages(1), ElementsAre("setup"));
  EXPECT_THAT(one.look().running, ElementsAre(IrqBalanceView{.socket = socket(1)}));
}

TEST_F(IrqBalanceClient, TellsOneThatIsBusy) {
  FakeIrqBalance irqbalance(socket(1));
  IrqBalance one = client(std::chrono::milliseconds(1));
  ASSERT_TRUE(one.ban(socket(1), cpus("3")));
  EXPECT_EQ(one.look().running.at(0).banned, cpus("3"));
  irqbalance.serve();
  EXPECT_THAT(irqbalance.messages(2), ElementsAre("settings cpus 3", "setup"));
}

TEST_F(IrqBalanceClient, RefusesAListThatIrqBalanceWouldCut) {
  FakeIrqBalance irqbalance(socket(1));
  CpuSet many;
  for (int cpu = 0; cpu < 400; cpu += 2) many.insert(CpuId(cpu));
  const auto told = client().ban(socket(1), many);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kInvalid);
}

TEST_F(IrqBalanceClient, SaysWhenOneBeginsAndEnds) {
  boost::asio::io_context loop;
  int changes = 0;
  const auto watch = IrqBalance::watch(loop, directory_ + "/below", [&changes] { ++changes; });
  ASSERT_TRUE(watch);
  const auto wait_for = [&](int count) {
    while (changes < count) loop.run_one();
  };
  ASSERT_TRUE(make_directories(directory_ + "/below", 0755));
  wait_for(1);
  const int before = changes;
  {
    FakeIrqBalance irqbalance(directory_ + "/below/irqbalance7.sock");
    wait_for(before + 1);
  }
  wait_for(before + 2);
}

TEST(IrqBalanceSetup, SaysWhichCpusAreBanned) {
  EXPECT_EQ(*parse_irqbalance_setup("SLEEP 10 BANNED 00000030"), cpus("4-5"));
  EXPECT_EQ(*parse_irqbalance_setup("SLEEP 10 IRQ 4 LOAD 1 DIFF 2 CLASS 0 BANNED 1,00000000"),
            cpus("32"));
  EXPECT_FALSE(parse_irqbalance_setup("SLEEP 10"));
  EXPECT_FALSE(parse_irqbalance_setup("BANNED x"));
}

}  // namespace
}  // namespace corehold
