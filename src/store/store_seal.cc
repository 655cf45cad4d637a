// SPDX-License-Identifier: Apache-2.0
#include "store/store_seal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/digest.h"
#include "sys/file/file.h"

namespace corehold {
namespace {

constexpr std::string_view kMark = "corehold-store-seal-1";
constexpr std::size_t kSlotSize = 512;  // of a sector: written whole or not at all
constexpr std::size_t kSlotDistance = 4096;
constexpr std::size_t kFileSize = kSlotDistance + kSlotSize;
constexpr std::size_t kMaxFileSize = std::size_t{16} * kFileSize;

std::string slot_of(const StoreSeal& seal) {
  const std::string content =
      fmt::format("{} {} {} {} {}", kMark, seal.identity, seal.boot, seal.committed, seal.synced);
  std::string text = fmt::format("{} {:016x}\n", content, digest_of({content}));
  text.resize(kSlotSize, '\n');
  return text;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool read_number(std::string_view text, std::uint64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

std::optional<StoreSeal> read_slot(std::string_view slot) {
  const std::size_t end = slot.find('\n');
  const std::size_t last = slot.rfind(' ', end);
  if (end == std::string_view::npos || last == std::string_view::npos || last > end) return {};
  const std::string_view content = slot.substr(0, last);
  if (slot.substr(last + 1, end - last - 1) != fmt::format("{:016x}", digest_of({content}))) {
    return {};
  }
  const auto words = words_of(content);
  if (words.size() != 5 || words[0] != kMark) return {};
  StoreSeal seal{.identity = std::string(words[1]), .boot = std::string(words[2])};
  if (!read_number(words[3], seal.committed) || !read_number(words[4], seal.synced)) return {};
  return seal;
}

}  // namespace

std::uint64_t required_commits(const StoreSeal& seal, const std::string& boot) {
  return seal.boot == boot ? seal.committed : seal.synced;
}

Result<std::optional<StoreSeal>> read_seal(const std::string& path) {
  const auto text = read_file(path, kMaxFileSize);
  if (!text && text.error().code == Code::kNotFound) return std::optional<StoreSeal>();
  if (!text && text.error().code != Code::kInvalid) return text.error();
  std::optional<StoreSeal> newest;
  for (const std::size_t at : {std::size_t{0}, kSlotDistance}) {
    if (!text || at >= text->size()) continue;
    auto seal = read_slot(std::string_view(*text).substr(at, kSlotSize));
    if (seal && (!newest || seal->committed > newest->committed)) newest = std::move(seal);
  }
  if (newest) return newest;
  return Error{Code::kCorrupt,
               fmt::format("{}: it does not say how many changes of the store were saved", path)};
}

SealWriter SealWriter::open(const std::string& path, const StoreSeal& seal) {
  SealWriter writer;
  const auto found = read_seal(path);
  if (!found || !*found) {
    std::string content = slot_of(seal);
    content.resize(kSlotDistance, '\n');
    content += slot_of(seal);
    // Without the file the store is as safe as its database alone; the next start tries again.
    if (!write_file_atomically(path, content)) return writer;
  }
  writer.file_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return writer;
}

void SealWriter::write(const StoreSeal& seal) {
  if (!file_.is_open()) return;
  const std::string slot = slot_of(seal);
  slot_ = 1 - slot_;
  const auto at = static_cast<off_t>(slot_ == 0 ? 0 : kSlotDistance);
  [[maybe_unused]] const ssize_t written = ::pwrite(file_.get(), slot.data(), slot.size(), at);
}

}  // namespace corehold
