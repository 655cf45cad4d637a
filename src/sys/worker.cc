// SPDX-License-Identifier: Apache-2.0
#include "sys/worker.h"

#include <exception>
#include <future>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "sys/signals_blocked.h"

namespace corehold {
namespace {

namespace asio = boost::asio;

}  // namespace

WorkerThread::WorkerThread(asio::io_context& loop)
    : loop_(loop), open_(asio::make_work_guard(tasks_)) {}

Result<void> WorkerThread::start() {
  CHECK(!thread_.joinable());
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { tasks_.run(); });
  } catch (const std::exception& failure) {
    return Error{Code::kIo, fmt::format("start a thread: {}", failure.what())};
  }
  return {};
}

WorkerThread::~WorkerThread() {
  open_.reset();
  if (thread_.joinable()) thread_.join();
}

void WorkerThread::run(std::function<void()> work, std::function<void()> done) {
  asio::post(tasks_, [this, work = std::move(work), done = std::move(done),
                      busy = asio::make_work_guard(loop_)]() mutable {
    work();
    asio::post(loop_, std::move(done));
    busy.reset();
  });
}

void WorkerThread::wait() {
  CHECK(thread_.joinable());
  std::promise<void> reached;
  asio::post(tasks_, [&reached] { reached.set_value(); });
  reached.get_future().wait();
}

}  // namespace corehold
