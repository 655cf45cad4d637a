// SPDX-License-Identifier: Apache-2.0
#include "agent/api/counted_exchange.h"

#include <string>
#include <utility>

#include "agent/api/resource_path.h"
#include "api/serve/list_options.h"

namespace corehold {
namespace {

std::string_view verb_of(const std::string& method, bool is_one, bool is_watch) {
  if (method == "GET" || method == "HEAD") return is_one ? "get" : is_watch ? "watch" : "list";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return is_one ? "delete" : "deletecollection";
  return "other";
}

class CountedExchange final : public HttpExchange {
 public:
  CountedExchange(HttpExchangePtr exchange, const HttpTarget& target, Metrics& metrics)
      : exchange_(std::move(exchange)), metrics_(metrics) {
    const auto path = resource_path(target.path);
    verb_ = verb_of(exchange_->request().method, !path || !path->name.empty(),
                    asks_for_watch(target.query));
    if (!path) return;
    resource_ = info_of(path->resource).name;
    if (!path->subresource.empty()) resource_ += "/" + path->subresource;
  }

  const HttpRequest& request() const override { return exchange_->request(); }
  void answer(HttpResponse response) override {
    metrics_.api_answered(verb_, resource_, response.status);
    exchange_->answer(std::move(response));
  }
  void begin(int status, const std::string& content_type) override {
    metrics_.api_answered(verb_, resource_, status);
    exchange_->begin(status, content_type);
  }
  void write(std::string text) override { exchange_->write(std::move(text)); }
  void end() override { exchange_->end(); }
  void on_sent(std::function<void()> callback) override { exchange_->on_sent(std::move(callback)); }
  void on_gone(std::function<void()> callback) override { exchange_->on_gone(std::move(callback)); }

 private:
  HttpExchangePtr exchange_;
  Metrics& metrics_;
  std::string_view verb_{};
  std::string resource_{};
};

}  // namespace

HttpExchangePtr counted(HttpExchangePtr exchange, const HttpTarget& target, Metrics& metrics) {
  return std::make_shared<CountedExchange>(std::move(exchange), target, metrics);
}

}  // namespace corehold
