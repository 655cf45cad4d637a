// SPDX-License-Identifier: Apache-2.0
#include "agent/static/static_file_reader.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "pod/yaml_document.h"
#include "sys/file/directory.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

namespace fs = std::filesystem;
using Paths = Result<std::set<std::string>>;
using Text = Result<std::optional<std::string>>;

constexpr std::chrono::milliseconds kPatience{1000};

// As by a kubelet, hidden files are ignored: editors and configuration tools use them.
bool is_hidden(const std::string& name) { return !name.empty() && name.front() == '.'; }

Paths list_paths(const std::string& path) {
  std::set<std::string> paths;
  const auto names = entries_of(path);
  if (names) {
    for (const std::string& name : *names) {
      if (!is_hidden(name)) paths.insert(fmt::format("{}/{}", path, name));
    }
  } else if (std::error_code error; fs::is_regular_file(path, error)) {
    paths.insert(path);
  } else if (names.error().code != Code::kNotFound) {
    return names.error();
  }
  return paths;
}

Text read_text(const std::string& path) {
  auto text = read_file(path, kMaxYamlBytes);
  if (text) return std::optional<std::string>(*std::move(text));
  std::error_code ignored;
  if (text.error().code == Code::kNotFound || fs::is_directory(path, ignored)) {
    return std::optional<std::string>();
  }
  return text.error();
}

}  // namespace

StaticFileReader::StaticFileReader(boost::asio::io_context& loop, std::string path,
                                   StaticFileEvents events)
    : path_(std::move(path)), events_(std::move(events)), patience_(loop), lanes_(loop) {}

void StaticFileReader::read_all() {
  start_waiting();
  if (listing_) {
    listing_ = Round::kAgain;
  } else {
    list();
  }
}

void StaticFileReader::read_names(const std::set<std::string>& names) {
  start_waiting();
  for (const std::string& name : names) {
    if (!is_hidden(name)) ask(fmt::format("{}/{}", path_, name));
  }
  if (reading_.empty() && !listing_) end_one();
}

void StaticFileReader::list() {
  listing_ = Round::kOnce;
  // Shared by the work and what follows it.
  auto paths = std::make_shared<std::optional<Paths>>();
  lanes_.run(
      path_, [paths, path = path_] { paths->emplace(list_paths(path)); },
      [this, paths] {
        if (std::exchange(listing_, std::nullopt) == Round::kAgain) return list();
        events_.listed(**paths);
        if (**paths) {
          for (const std::string& path : ***paths) ask(path);
        }
        end_one();
      });
}

void StaticFileReader::ask(const std::string& path) {
  if (const auto found = reading_.find(path); found != reading_.end()) {
    found->second = Round::kAgain;
  } else {
    read(path);
  }
}

void StaticFileReader::read(const std::string& path) {
  reading_[path] = Round::kOnce;
  auto text = std::make_shared<std::optional<Text>>();
  lanes_.run(
      path, [text, path] { text->emplace(read_text(path)); },
      [this, text, path] {
        if (reading_.extract(path).mapped() == Round::kAgain) return read(path);
        events_.read(path, **text);
        end_one();
      });
}

void StaticFileReader::start_waiting() {
  if (listing_ || !reading_.empty()) return;
  is_late_ = false;
  patience_.expires_after(kPatience);
  patience_.async_wait([this](const boost::system::error_code& error) {
    if (error || (!listing_ && reading_.empty())) return;
    is_late_ = true;
    events_.settled();
  });
}

void StaticFileReader::end_one() {
  const bool is_done = !listing_ && reading_.empty();
  if (is_done) patience_.cancel();
  if (is_done || is_late_) events_.settled();
}

}  // namespace corehold
