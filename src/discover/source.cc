// SPDX-License-Identifier: Apache-2.0
#include "discover/source.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "discover/hwloc_source.h"

namespace corehold {
namespace {

constexpr std::string_view kXmlPrefix = "xml:";
constexpr std::string_view kSyntheticPrefix = "synthetic:";

// The largest machine we accept exports to about 3 MB.
constexpr std::size_t kMaxXmlBytes = 64U << 20U;

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

Result<std::string> read_text(const std::string& path) {
  const auto io_error = [&](int number) {
    return Error{Code::kIo, fmt::format("read {}: {}", path, std::strerror(number))};
  };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return io_error(errno);
  std::string text;
  char chunk[1U << 16U];
  while (true) {
    const std::size_t got = std::fread(chunk, 1, sizeof(chunk), file.get());
    if (got == 0) break;
    text.append(chunk, got);
    if (text.size() > kMaxXmlBytes) {
      return Error{Code::kInvalid,
                   fmt::format("{}: larger than {} MB, which no machine's topology is", path,
                               kMaxXmlBytes >> 20U)};
    }
  }
  if (std::ferror(file.get()) != 0) return io_error(errno);
  return text;
}

Result<Topology> named(std::string_view name, Result<Topology> result) {
  if (!result) return wrap(name, result.error());
  return result;
}

}  // namespace

Result<Source> Source::parse(std::string_view text) {
  if (text == "host") return Source{.kind = Kind::kHost};
  const auto after = [&](std::string_view prefix) {
    return std::string(text.substr(prefix.size()));
  };
  if (text.starts_with(kXmlPrefix) && text.size() > kXmlPrefix.size()) {
    return Source{.kind = Kind::kXml, .detail = after(kXmlPrefix)};
  }
  if (text.starts_with(kSyntheticPrefix) && text.size() > kSyntheticPrefix.size()) {
    return Source{.kind = Kind::kSynthetic, .detail = after(kSyntheticPrefix)};
  }
  return Error{Code::kInvalid, fmt::format("\"{}\" is not a topology source: use host, xml:FILE or "
                                           "synthetic:DESCRIPTION",
                                           text.substr(0, 200))};
}

std::string Source::str() const {
  switch (kind) {
    case Kind::kHost:
      return "host";
    case Kind::kXml:
      return std::string(kXmlPrefix) + detail;
    case Kind::kSynthetic:
      return std::string(kSyntheticPrefix) + detail;
  }
  check_failed("every Kind has a form", __FILE__, __LINE__);
}

Result<Topology> discover(const Source& source) {
  switch (source.kind) {
    case Source::Kind::kHost:
      return named("topology of this host", topology_from_host());
    case Source::Kind::kXml:
      return named(source.detail, topology_from_xml(TRY(read_text(source.detail))));
    case Source::Kind::kSynthetic:
      return named("synthetic description", topology_from_synthetic(source.detail));
  }
  check_failed("every Kind is discovered", __FILE__, __LINE__);
}

}  // namespace corehold
